"""Writes test/golden/philox.json: random numbers that every engine must reproduce bit for bit.

A third implementation, in plain Python, independent of the C++ and TypeScript ones. Python's floats are IEEE 754
doubles without contraction, so the normals are exact as well. Run: python3 scripts/golden/philox.py
"""
import json
import math
import pathlib
import struct

MASK = 0xFFFFFFFF

# Published with Random123 (kat_vectors): counter, key, result.
KNOWN = [
    ([0, 0, 0, 0], [0, 0], "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ([MASK] * 4, [MASK] * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ([0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344], [0xA4093822, 0x299F31D0],
     "d16cfe09 94fdcceb 5001e420 24126ea1"),
]


def philox(counter, key):
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (p1 >> 32) ^ c1 ^ k0, p1 & MASK, (p0 >> 32) ^ c3 ^ k1, p0 & MASK
        k0, k1 = (k0 + 0x9E3779B9) & MASK, (k1 + 0xBB67AE85) & MASK
    return [c0, c1, c2, c3]


def word(key, w):
    block = w >> 2
    return philox([block & MASK, block >> 32, key[2], key[3]], key[:2])[w & 3]


def f32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def uniform32(key, w, lo, hi):
    return f32(f32(lo) + f32(f32(hi - lo) * ((word(key, w) >> 8) / 2**24)))


def unit(high, low):
    return (high * 2**21 + (low >> 11)) / 2**53


def log_unit(u):
    m, e = math.frexp(u)
    m, e = m * 2, e - 1
    if m > 1.4142135623730951:
        m, e = m / 2, e + 1
    s = (m - 1) / (m + 1)
    z = s * s
    p = 1 / 21
    for k in range(19, 1, -2):
        p = p * z + 1 / k
    return e * 0.6931471803691238 + (2 * s + (2 * s * (z * p) + e * 1.9082149292705877e-10))


def cos_turn(u):
    t = 4 * u
    q = round(t)  # to even, as the addition of 1.5 * 2^52 rounds
    x = (t - q) * 1.5707963267948966
    z = x * x
    s = -1 / math.factorial(15)
    for k in range(13, 2, -2):
        s = s * z + (-1 if k % 4 == 3 else 1) / math.factorial(k)
    s = x + x * (z * s)
    c = 1 / math.factorial(16)
    for k in range(14, 3, -2):
        c = c * z + (-1 if k % 4 == 2 else 1) / math.factorial(k)
    c = 1 - z * 0.5 + z * z * c
    value = s if q in (1, 3) else c
    return -value if q in (1, 2) else value


def normal(key, w, mean, std):
    a, b, c, d = (word(key, w + i) for i in range(4))
    return mean + std * (math.sqrt(-2 * log_unit(unit(a, b) + 2.0**-53)) * cos_turn(unit(c, d)))


def permutation(key, n):
    out = list(range(n))
    for i in range(n - 1, 0, -1):
        j = word(key, n - 1 - i) * (i + 1) >> 32
        out[i], out[j] = out[j], out[i]
    return out


def case(seed, stream, start):
    key = [seed & MASK, seed >> 32, stream & MASK, stream >> 32]
    n = 13
    label = seed % 1000
    return {
        "seed": seed, "stream": stream, "key": key, "start": start,
        "bits": [word(key, start + i) for i in range(n)],
        "uniformF32": {"lo": -1.5, "hi": 2.25, "values": [uniform32(key, start + i, -1.5, 2.25) for i in range(n)]},
        "uniformF64": {"lo": -1.5, "hi": 2.25, "values": [
            -1.5 + 3.75 * unit(word(key, start + 2 * i), word(key, start + 2 * i + 1)) for i in range(n)]},
        "normalF64": {"mean": 0.5, "std": 2, "values": [normal(key, start + 4 * i, 0.5, 2) for i in range(n)]},
        "bernoulli": {"p": 0.3, "values": [int(word(key, start + i) < 0.3 * 2**32) for i in range(n)]},
        "integers": {"lo": -5, "hi": 1000, "values": [-5 + (word(key, start + i) * 1005 >> 32) for i in range(n)]},
        "permutation": permutation(key, n),
        "split": {"label": label, "key": philox([label, 0x80000000, key[2], key[3]], key[:2])},
    }


def main():
    known = []
    for counter, key, words in KNOWN:
        result = [int(text, 16) for text in words.split()]
        assert philox(counter, key) == result
        known.append({"counter": counter, "key": key, "result": result})
    cases = [case(0, 0, 0), case(42, 0, 3), case(123456789, 7, 2**34 - 5), case(2**53 - 1, 2**40 + 1, 2**52 + 2)]
    target = pathlib.Path(__file__).resolve().parents[2] / "test" / "golden" / "philox.json"
    document = {"format": "skein-golden-philox", "version": 1, "writtenBy": "scripts/golden/philox.py",
                "known": known, "cases": cases}
    target.write_text(json.dumps(document, indent=1) + "\n")


main()
