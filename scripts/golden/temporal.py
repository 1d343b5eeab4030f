"""Writes test/golden/temporal-attention.json: values that PyTorch computes for the two forms of temporal attention.

Keys and values are formed edge by edge here, as the papers' code does; the 'tgn' form goes through PyTorch's own
multi-head attention with padding masks. Inputs follow the formula of nn.py. Run: python3 scripts/golden/temporal.py
"""
import json
import math
import pathlib

import torch
import torch.nn.functional as F

torch.set_num_threads(1)
OUT = pathlib.Path(__file__).resolve().parents[2] / "test" / "golden" / "temporal-attention.json"
DTYPE = torch.float64
D, E, T, HEADS, DIM_OUT = 6, 5, 4, 2, 8
INDPTR = [0, 3, 3, 4, 8, 10]
NEIGHBORS = [0, 2, 2, 6, 5, 1, 0, 4, 6, 3]
EVENTS = [3, 1, 0, 7, 2, 2, 5, 6, 4, 8]
SPANS = [0.5, 2.0, 1.25, 1.0, 3.5, 3.0, 0.25, 2.5, 0.75, 1.5]
DST = [6, 0, 3, 1, 5]
ROWS, EVENT_ROWS = 7, 9


def pattern(shape, seed, scale=1.0):
    n = math.prod(shape)
    values = [((i * 31 + seed * 57 + (i * i % 7) * 13) % 199 - 99.5) / 100 * scale for i in range(n)]
    return torch.tensor(values, dtype=DTYPE).reshape(shape)


def leaves_of(shapes):
    """Parameter k gets pattern seed 10 + k, scaled by 0.4."""
    return {name: pattern(shape, 10 + k, 0.4).requires_grad_() for k, (name, shape) in enumerate(shapes.items())}


def common_shapes(attended):
    size, into = attended // HEADS, D + E + T
    return {
        "time.weight": [T], "time.bias": [T],
        "queryNode": [attended, D], "queryTime": [attended, T], "queryBias": [attended],
        "key": [HEADS, size, into + 1], "value": [HEADS, size, into + 1],
    }


def encode(p, spans):
    return torch.cos(spans[:, None] * p["time.weight"] + p["time.bias"])


def inputs(p):
    h, features = p["h"], pattern([EVENT_ROWS, E], 2).float().to(DTYPE)
    x = torch.cat([h[NEIGHBORS], features[EVENTS], encode(p, torch.tensor(SPANS, dtype=DTYPE))], 1)
    now = encode(p, torch.zeros(len(DST), dtype=DTYPE))
    return x, torch.cat([h[DST], now], 1), h[DST]


def flat(weight):
    """[heads, size, in + 1] as the weight and the bias of one linear map."""
    rows = weight.reshape(-1, weight.shape[2])
    return rows[:, :-1], rows[:, -1]


def tgl():
    p = {"h": pattern([ROWS, D], 1).requires_grad_()}
    p.update(leaves_of({**common_shapes(DIM_OUT), "output.attended": [DIM_OUT, DIM_OUT], "output.own": [DIM_OUT, D],
                        "output.bias": [DIM_OUT], "output.norm.weight": [DIM_OUT], "output.norm.bias": [DIM_OUT]}))
    x, q_in, own = inputs(p)
    q = F.linear(q_in, torch.cat([p["queryNode"], p["queryTime"]], 1), p["queryBias"]).reshape(-1, HEADS, DIM_OUT // HEADS)
    k = F.linear(x, *flat(p["key"])).reshape(-1, HEADS, DIM_OUT // HEADS)
    v = F.linear(x, *flat(p["value"])).reshape(-1, HEADS, DIM_OUT // HEADS)
    rows = []
    for i in range(len(DST)):
        span = slice(INDPTR[i], INDPTR[i + 1])
        score = F.leaky_relu((q[i] * k[span]).sum(2), 0.2)
        rows.append((torch.softmax(score, 0)[:, :, None] * v[span]).sum(0).reshape(-1))
    weight = torch.cat([p["output.attended"], p["output.own"]], 1)
    y = torch.relu(F.linear(torch.cat([torch.stack(rows), own], 1), weight, p["output.bias"]))
    return F.layer_norm(y, [DIM_OUT], p["output.norm.weight"], p["output.norm.bias"], 1e-5), p


def tgn():
    A = D + T
    p = {"h": pattern([ROWS, D], 1).requires_grad_()}
    p.update(leaves_of({**common_shapes(A), "output.attended": [D, A], "output.own": [D, D], "output.bias": [D],
                        "output.project.weight": [A, A], "output.project.bias": [A],
                        "output.last.weight": [DIM_OUT, D], "output.last.bias": [DIM_OUT]}))
    x, q_in, own = inputs(p)
    longest = max(b - a for a, b in zip(INDPTR, INDPTR[1:]))
    padded, mask = torch.zeros(longest, len(DST), D + E + T, dtype=DTYPE), torch.ones(len(DST), longest, dtype=torch.bool)
    for i in range(len(DST)):
        n = INDPTR[i + 1] - INDPTR[i]
        padded[:n, i] = x[INDPTR[i]:INDPTR[i + 1]]
        mask[i, :n] = False
    empty = mask.all(1)
    mask[empty, 0] = False
    wk, bk = flat(p["key"])
    wv, bv = flat(p["value"])
    attended, _ = F.multi_head_attention_forward(
        q_in[None], padded, padded, A, HEADS, None, torch.cat([p["queryBias"], bk, bv]), None, None, False, 0.0,
        p["output.project.weight"], p["output.project.bias"], training=False, key_padding_mask=mask, need_weights=False,
        use_separate_proj_weight=True, q_proj_weight=torch.cat([p["queryNode"], p["queryTime"]], 1), k_proj_weight=wk,
        v_proj_weight=wv)
    attended = attended[0].masked_fill(empty[:, None], 0.0)
    hidden = torch.relu(F.linear(torch.cat([attended, own], 1), torch.cat([p["output.attended"], p["output.own"]], 1),
                                 p["output.bias"]))
    return F.linear(hidden, p["output.last.weight"], p["output.last.bias"]), p


def record(output, leaves):
    (output * pattern(output.shape, 99)).sum().backward()
    numbers = lambda t: [float(v) for v in t.detach().reshape(-1)]
    return {"parameters": [n for n in leaves if n != "h"], "output": numbers(output),
            "grads": {name: numbers(t.grad) for name, t in leaves.items()}}


hop = {"dimNode": D, "dimEdge": E, "dimTime": T, "heads": HEADS, "dimOut": DIM_OUT, "indptr": INDPTR,
       "neighbors": NEIGHBORS, "eventRows": EVENTS, "spans": SPANS, "dstRows": DST, "rows": ROWS, "numEvents": EVENT_ROWS}
cases = {"tgl": record(*tgl()), "tgn": record(*tgn())}
OUT.write_text(json.dumps({"format": "skein-temporal-golden", "version": 1, "hop": hop, "cases": cases}) + "\n")
