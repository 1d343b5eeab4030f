"""Writes test/golden/temporal-*.json: values that PyTorch computes for the memory updaters and layers of skein/temporal.

Inputs and parameters follow the formula `pattern` of scripts/golden/nn.py, which the tests repeat; the files hold outputs
and all gradients of sum(output * cotangent). Run: python3 scripts/golden/temporal_updaters.py
"""
import json

import torch
import torch.nn.functional as F

from nn import DTYPES, OUT, numbers, pattern

N, D, E, T, K = 6, 4, 3, 5, 3
BASE = 1.6e9
MEMORY_TIME = [BASE + 0.5 * i for i in range(N)]
MAIL_COUNT = [1, 1, 1, 1, 1, 1]
SLOT_COUNT = [3, 1, 2, 3, 0, 2]


def mail_time(slots):
    return [BASE + 4 + 1.25 * i + 0.75 * k for i in range(N) for k in range(slots)]


def spans(a, b, dtype):
    return torch.tensor([x - y for x, y in zip(a, b)], dtype=torch.float64).to(dtype)


def parameters(shapes, dtype):
    """Parameter k gets pattern seed 10 + k, as `fill` in test/nn/golden.ts."""
    return {name: pattern(shape, 10 + k, dtype).requires_grad_() for k, (name, shape) in enumerate(shapes.items())}


def record(output, leaves):
    (output * pattern(output.shape, 99, output.dtype)).sum().backward()
    return {"output": numbers(output), "grads": {name: numbers(t.grad) for name, t in leaves.items()}}


def time_encode(span, p, name):
    return torch.cos(span[..., None] * p[f"{name}.weight"] + p[f"{name}.bias"])


def mails(slots, dtype):
    mail = pattern([N, slots * 2 * D], 1, dtype).reshape(N * slots, 2 * D)
    return torch.cat([mail, pattern([N * slots, E], 2, dtype)], 1)


def recurrent(gates, dtype):
    p = parameters(
        {
            "timeEncode.weight": [T],
            "timeEncode.bias": [T],
            "input.weightMail": [gates * D, 2 * D + E],
            "input.weightTime": [gates * D, T],
            "input.bias": [gates * D],
            "weightHh": [gates * D, D],
            "biasHh": [gates * D],
        },
        dtype,
    )
    memory = pattern([N, D], 3, dtype)
    x = torch.cat([mails(1, dtype), time_encode(spans(mail_time(1), MEMORY_TIME, dtype), p, "timeEncode")], 1)
    weight = torch.cat([p["input.weightMail"], p["input.weightTime"]], 1)
    cell = torch.gru_cell if gates == 3 else torch.rnn_tanh_cell
    return record(cell(x, memory, weight, p["weightHh"], p["input.bias"], p["biasHh"]), p)


def transformer(masked, dtype):
    heads = 2
    p = parameters(
        {
            "timeEncode.weight": [T],
            "timeEncode.bias": [T],
            "query.weight": [D, D],
            "query.bias": [D],
            "key.weightMail": [D, 2 * D + E],
            "key.weightTime": [D, T],
            "key.bias": [D],
            "value.weightMail": [D, 2 * D + E],
            "value.weightTime": [D, T],
            "value.bias": [D],
            "norm.weight": [D],
            "norm.bias": [D],
            "out.weight": [D, D],
            "out.bias": [D],
        },
        dtype,
    )
    memory = pattern([N, D], 3, dtype)
    times = mail_time(K)
    now = [BASE + 20 + 0.25 * i for i in range(N)]
    if masked:
        now = [max(times[i * K : i * K + c], default=MEMORY_TIME[i]) for i, c in enumerate(SLOT_COUNT)]
    te = time_encode(spans([now[i] for i in range(N) for _ in range(K)], times, dtype), p, "timeEncode")
    x = torch.cat([mails(K, dtype), te], 1)
    product = lambda name: F.linear(
        x, torch.cat([p[f"{name}.weightMail"], p[f"{name}.weightTime"]], 1), p[f"{name}.bias"]
    ).reshape(N, K, heads, D // heads)
    q = F.linear(memory, p["query.weight"], p["query.bias"]).reshape(N, 1, heads, D // heads)
    scores = F.leaky_relu((q * product("key")).sum(3), 0.2)
    if masked:
        closed = torch.tensor([[k >= max(1, c) for k in range(K)] for c in SLOT_COUNT])
        scores = scores.masked_fill(closed[..., None], -float("inf"))
    attention = torch.softmax(scores, 1)
    mixed = (attention[..., None] * product("value")).sum(1).reshape(N, D)
    normed = F.layer_norm(memory + mixed, [D], p["norm.weight"], p["norm.bias"])
    result = torch.relu(F.linear(normed, p["out.weight"], p["out.bias"]))
    if masked:
        empty = torch.tensor([c == 0 for c in SLOT_COUNT])
        result = torch.where(empty[:, None], memory, result)
    return record(result, p)


def jodie(dtype):
    p = parameters({"weight": [D, 1], "bias": [D]}, dtype)
    h = pattern([N, D], 3, dtype).requires_grad_()
    times = [100.0 + 7 * i for i in range(N)]
    before = [90.0 - 3 * i for i in range(N)]
    passed = torch.tensor([(t - b) / (t + 1) for t, b in zip(times, before)], dtype=torch.float64).to(dtype)
    return record(h * (1 + F.linear(passed[:, None], p["weight"], p["bias"])), {**p, "h": h})


def edge_predictor(dtype):
    p = parameters({"src.weight": [D, D], "src.bias": [D], "dst.weight": [D, D], "out.weight": [1, D], "out.bias": [1]}, dtype)
    h = pattern([N, D], 3, dtype).requires_grad_()
    a, b = [0, 1, 2, 0, 1, 1], [3, 4, 5, 5, 1, 2]
    hidden = torch.relu(F.linear(h[a], p["src.weight"], p["src.bias"]) + F.linear(h[b], p["dst.weight"]))
    return record(F.linear(hidden, p["out.weight"], p["out.bias"])[:, 0], {**p, "h": h})


def time(dtype):
    p = parameters({"timeEncode.weight": [T], "timeEncode.bias": [T]}, dtype)
    return record(time_encode(spans(mail_time(1), MEMORY_TIME, dtype), p, "timeEncode"), p)


CASES = {
    "updaters": {
        "gru": lambda d: recurrent(3, d),
        "rnn": lambda d: recurrent(1, d),
        "transformer, empty slots closed": lambda d: transformer(True, d),
        "transformer, empty slots attend": lambda d: transformer(False, d),
        "time encoding": time,
    },
    "layers": {"jodie time": jodie, "edge predictor": edge_predictor},
}


def main():
    for name, cases in CASES.items():
        body = {f"{case} {key}": make(dtype) for case, make in cases.items() for key, dtype in DTYPES.items()}
        head = {"format": "skein-temporal-models-golden", "version": 1, "torch": torch.__version__}
        text = json.dumps({**head, "cases": body}, separators=(",", ":"))
        (OUT / f"temporal-{name}.json").write_text(text.replace('},"', '},\n"') + "\n")


if __name__ == "__main__":
    main()
