"""Writes test/golden/temporal-snapshots.json: values that PyTorch computes for the models in discrete time, with dense adjacency.

Three snapshots of six nodes; inputs and parameters follow `pattern` of scripts/golden/nn.py. The output is all snapshots'
embeddings, one below the other. Run: python3 scripts/golden/temporal_snapshots.py
"""
import json

import torch
import torch.nn.functional as F

from nn import DTYPES, OUT, pattern
from temporal_updaters import parameters, record

N, IN, H = 6, 3, 4
EDGES = [
    [(0, 1), (1, 2), (2, 3), (0, 1)],
    [(3, 4), (4, 5), (5, 0), (1, 4)],
    [(0, 2), (2, 4), (2, 4), (1, 3)],
]


def adjacency(step, loops, dtype):
    a = torch.zeros(N, N, dtype=torch.float64)
    for u, v in EDGES[step]:
        a[u, v] += 1
        a[v, u] += 1
    if loops:
        a += torch.eye(N, dtype=torch.float64)
    d = a.sum(1)
    root = torch.where(d > 0, d.rsqrt(), torch.zeros_like(d))
    return (root[:, None] * a * root[None, :]).to(dtype)


def features(step, dtype):
    return pattern([N, IN], 20 + step, dtype)


def tgcn(dtype):
    p = parameters(
        {
            "conv.lin.weight": [3 * H, IN],
            "conv.bias": [3 * H],
            **{f"{g}.{k}": s for g in ("update", "reset", "candidate") for k, s in (("weight", [H, 2 * H]), ("bias", [H]))},
        },
        dtype,
    )
    h, out = torch.zeros(N, H, dtype=dtype), []
    gate = lambda name, g, s: F.linear(torch.cat([g, s], 1), p[f"{name}.weight"], p[f"{name}.bias"])
    for t in range(3):
        g = adjacency(t, True, dtype) @ features(t, dtype) @ p["conv.lin.weight"].T + p["conv.bias"]
        z = torch.sigmoid(gate("update", g[:, :H], h))
        r = torch.sigmoid(gate("reset", g[:, H : 2 * H], h))
        c = torch.tanh(gate("candidate", g[:, 2 * H :], r * h))
        h = z * h + (1 - z) * c
        out.append(h)
    return record(torch.cat(out), p)


def cheb(t, x, weight, bias=None):
    """Three terms of the scaled Laplacian -A_hat."""
    lap = -adjacency(t, False, x.dtype)
    t1 = lap @ x
    return F.linear(torch.cat([x, t1, 2 * lap @ t1 - x], 1), weight, bias)


def gconv_gru(dtype):
    p = parameters(
        {"input.weight": [3 * H, 3 * IN], "input.bias": [3 * H], "gates.weight": [2 * H, 3 * H], "candidate.weight": [H, 3 * H]},
        dtype,
    )
    h, out = torch.zeros(N, H, dtype=dtype), []
    for t in range(3):
        gi = cheb(t, features(t, dtype), p["input.weight"], p["input.bias"])
        zr = torch.sigmoid(gi[:, : 2 * H] + cheb(t, h, p["gates.weight"]))
        z, r = zr[:, :H], zr[:, H:]
        c = torch.tanh(gi[:, 2 * H :] + cheb(t, r * h, p["candidate.weight"]))
        h = z * h + (1 - z) * c
        out.append(h)
    return record(torch.cat(out), p)


def gconv_lstm(dtype):
    p = parameters(
        {
            "input.weight": [4 * H, 3 * IN],
            "input.bias": [4 * H],
            "gates.weight": [4 * H, 3 * H],
            "peepI": [H],
            "peepF": [H],
            "peepO": [H],
        },
        dtype,
    )
    h, c, out = torch.zeros(N, H, dtype=dtype), torch.zeros(N, H, dtype=dtype), []
    for t in range(3):
        s = cheb(t, features(t, dtype), p["input.weight"], p["input.bias"]) + cheb(t, h, p["gates.weight"])
        i = torch.sigmoid(s[:, :H] + p["peepI"] * c)
        f = torch.sigmoid(s[:, H : 2 * H] + p["peepF"] * c)
        c = f * c + i * torch.tanh(s[:, 2 * H : 3 * H])
        o = torch.sigmoid(s[:, 3 * H :] + p["peepO"] * c)
        h = o * torch.tanh(c)
        out.append(h)
    return record(torch.cat(out), p)


def evolve(variant, dtype):
    sizes = [IN, H, 2]
    shapes = {}
    for i, (a, b) in enumerate(zip(sizes, sizes[1:])):
        shapes[f"layers.{i}.weight"] = [b, a]
        shapes.update({f"layers.{i}.cell.{k}": s for k, s in
                       (("weightIh", [3 * a, a]), ("weightHh", [3 * a, a]), ("biasIh", [3 * a]), ("biasHh", [3 * a]))})
        if variant == "H":
            shapes[f"layers.{i}.choice"] = [a]
    p = parameters(shapes, dtype)
    weights = [p["layers.0.weight"], p["layers.1.weight"]]
    out = []
    for t in range(3):
        x = features(t, dtype)
        for i in range(2):
            own = lambda name: p[f"layers.{i}.{name}"]
            source = weights[i]
            if variant == "H":
                y = x @ own("choice") / own("choice").norm()
                best = torch.argsort(y, descending=True)[: weights[i].shape[0]]
                source = x[best] * torch.tanh(y[best])[:, None]
            weights[i] = torch.gru_cell(source, weights[i], *(own(f"cell.{k}") for k in ("weightIh", "weightHh", "biasIh", "biasHh")))
            x = adjacency(t, True, dtype) @ x @ weights[i].T
            if i == 0:
                x = torch.relu(x)
        out.append(x)
    return record(torch.cat(out), p)


CASES = {
    "TGCN": tgcn,
    "GConvGRU": gconv_gru,
    "GConvLSTM": gconv_lstm,
    "EvolveGCN O": lambda d: evolve("O", d),
    "EvolveGCN H": lambda d: evolve("H", d),
}

if __name__ == "__main__":
    body = {f"{case} {key}": make(dtype) for case, make in CASES.items() for key, dtype in DTYPES.items()}
    head = {"format": "skein-temporal-models-golden", "version": 1, "torch": torch.__version__}
    # 13 decimals are beyond the tolerance of the tests and keep the file small.
    rounded = json.loads(json.dumps(body), parse_float=lambda v: round(float(v), 13))
    text = json.dumps({**head, "cases": rounded}, separators=(",", ":"))
    (OUT / "temporal-snapshots.json").write_text(text.replace('},"', '},\n"') + "\n")
