"""Writes test/golden/gnn.json: graph layers that test/golden/conv.json lacks, in plain PyTorch.

The graph, its relations and the layout of a case are those of conv.json (PyTorch Geometric), which this script reads, so
the tests treat both alike. Run: python3 scripts/golden/gnn.py
"""
import json
import math
import pathlib

import torch

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "test" / "golden"
BASE = json.loads((GOLDEN / "conv.json").read_text())
N = BASE["num_nodes"]
SRC, DST = torch.tensor(BASE["src"]), torch.tensor(BASE["dst"])
TYPE = torch.tensor(BASE["edge_type"])
ATTR = torch.tensor(BASE["edge_attr"]["data"], dtype=torch.float64).reshape(BASE["edge_attr"]["shape"])
torch.manual_seed(7)
torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)


def packed(t):
    return {"shape": list(t.shape), "data": [float(f"{v:.15g}") for v in t.detach().reshape(-1).tolist()]}


def draw(*shape):
    # Few digits: the numbers are exact in the file.
    return torch.round(torch.randn(*shape) * 1000) / 1000


def segment_softmax(scores, index, count):
    total = torch.zeros(count, *scores.shape[1:]).index_add(0, index, scores.exp())
    return scores.exp() / total[index]


def norm_adjacency(loops):
    a = torch.zeros(N, N)
    a.index_put_((DST, SRC), torch.ones(len(SRC)), accumulate=True)
    if loops:
        a = a + torch.eye(N)
    d = a.sum(1)
    inv = torch.where(d > 0, d.clamp(min=1e-30) ** -0.5, torch.zeros(N))
    return inv[:, None] * a * inv[None, :]


def case(name, notes, x, params, run):
    x = x.requires_grad_()
    for p in params.values():
        p.requires_grad_()
    out = run(x, **{k.replace(".", "_"): p for k, p in params.items()})
    r = draw(*out.shape)
    (out * r).sum().backward()
    return {
        "name": name,
        "notes": notes,
        "x": packed(x),
        "out": packed(out),
        "r": packed(r),
        "grad_x": packed(x.grad),
        "params": {k: packed(p) for k, p in params.items()},
        "grads": {k: packed(p.grad) for k, p in params.items()},
    }


def sage_gcn(x, lin_l_weight, lin_l_bias):
    total = x.index_add(0, DST, x[SRC])
    count = torch.ones(N).index_add(0, DST, torch.ones(len(DST)))
    return (total / count[:, None]) @ lin_l_weight.T + lin_l_bias


def rgcn_blocks(x, weight, root, bias):
    out = x @ root + bias
    for r in range(4):
        edges = TYPE == r
        full = torch.block_diag(*weight[r])
        count = torch.zeros(N).index_add(0, DST[edges], torch.ones(int(edges.sum()))).clamp(min=1)
        total = torch.zeros(N, x.shape[1]).index_add(0, DST[edges], x[SRC[edges]])
        out = out + (total / count[:, None]) @ full
    return out


def sign(x, lins_0_weight, lins_0_bias, lins_1_weight, lins_1_bias, lins_2_weight, lins_2_bias, out_weight, out_bias):
    a = norm_adjacency(True)
    # The hops are features: no gradient through them.
    rows = [x, (a @ x).detach(), (a @ a @ x).detach()]
    maps = [(lins_0_weight, lins_0_bias), (lins_1_weight, lins_1_bias), (lins_2_weight, lins_2_bias)]
    hidden = torch.cat([h @ w.T + b for h, (w, b) in zip(rows, maps)], 1)
    return torch.relu(hidden) @ out_weight.T + out_bias


def transformer_beta(x, **p):
    heads, size = 2, 2
    q, k, v = ((x @ p[f"lin_{n}_weight"].T + p[f"lin_{n}_bias"]).view(N, heads, size) for n in ("query", "key", "value"))
    e = (ATTR @ p["lin_edge_weight"].T).view(-1, heads, size)
    scores = (q[DST] * (k[SRC] + e)).sum(-1) / math.sqrt(size)
    alpha = segment_softmax(scores, DST, N)
    y = torch.zeros(N, heads, size).index_add(0, DST, alpha[..., None] * (v[SRC] + e)).mean(1)
    skip = x @ p["lin_skip_weight"].T + p["lin_skip_bias"]
    beta = torch.sigmoid(torch.cat([y, skip, y - skip], 1) @ p["lin_beta_weight"].T)
    return beta * skip + (1 - beta) * y


def attentional_pool(x, gate_weight, gate_bias, nn_weight, nn_bias):
    index = torch.tensor([0, 0, 0, 0, 1, 1, 1, 1, 1, 3, 3])
    alpha = segment_softmax(x @ gate_weight.T + gate_bias, index, 4)
    return torch.zeros(4, nn_weight.shape[0]).index_add(0, index, alpha * (x @ nn_weight.T + nn_bias))


def hgt(x, **p):
    """Types a = nodes 0-4 and b = nodes 5-10; edges of the graph whose ends have those types are one edge type each."""
    heads, size, width = 2, 2, 4
    start, end = {"a": 0, "b": 5}, {"a": 5, "b": 11}
    rows = {t: x[start[t]:end[t]] for t in "ab"}
    kqv = {t: (rows[t] @ p[f"kqv_lin_{t}_weight"].T + p[f"kqv_lin_{t}_bias"]).view(-1, 3, heads, size) for t in "ab"}
    results = []
    for to in "ab":
        scores, values, index = [], [], []
        for of in "ab":
            edges = (SRC >= start[of]) & (SRC < end[of]) & (DST >= start[to]) & (DST < end[to])
            s, d = SRC[edges] - start[of], DST[edges] - start[to]
            name = f"{of},to,{to}"
            k = torch.einsum("nhd,hde->nhe", kqv[of][:, 0], p[f"k_rel_{name}"])[s]
            values.append(torch.einsum("nhd,hde->nhe", kqv[of][:, 2], p[f"v_rel_{name}"])[s])
            scores.append((kqv[to][:, 1][d] * k).sum(-1) * p[f"p_rel_{name}"] / math.sqrt(size))
            index.append(d)
        index, count = torch.cat(index), end[to] - start[to]
        alpha = segment_softmax(torch.cat(scores), index, count)
        m = torch.zeros(count, heads, size).index_add(0, index, alpha[..., None] * torch.cat(values)).view(count, width)
        y = torch.nn.functional.gelu(m) @ p[f"out_lin_{to}_weight"].T + p[f"out_lin_{to}_bias"]
        gate = torch.sigmoid(p[f"skip_{to}"])
        results.append(gate * y + (1 - gate) * rows[to])
    return torch.cat(results)


def hgt_parameters():
    p = {}
    for t in "ab":
        p[f"kqv_lin.{t}.weight"], p[f"kqv_lin.{t}.bias"] = draw(12, 4), draw(12)
    for t in "ab":
        p[f"out_lin.{t}.weight"], p[f"out_lin.{t}.bias"] = draw(4, 4), draw(4)
    for kind, shape in (("k_rel", (2, 2, 2)), ("v_rel", (2, 2, 2)), ("p_rel", (2,))):
        for of in "ab":
            for to in "ab":
                p[f"{kind}.{of},to,{to}"] = draw(*shape)
    for t in "ab":
        p[f"skip.{t}"] = draw(1)
    return p


def spread(start, steps, alpha, after):
    a = norm_adjacency(False)
    y = start
    for _ in range(steps):
        y = after(alpha * (a @ y) + (1 - alpha) * start)
    return y


def correct_and_smooth(autoscale):
    soft = torch.softmax(draw(N, 3), 1)
    ids, labels = torch.tensor([1, 4, 6, 9]), torch.tensor([0, 2, 1, 2])
    truth = torch.nn.functional.one_hot(labels, 3).double()
    error = torch.zeros(N, 3)
    error[ids] = truth - soft[ids]
    if autoscale:
        smoothed = spread(error, 5, 0.9, lambda y: y.clamp(-1, 1))
        scale = (error[ids].abs().sum() / len(ids)) / smoothed.abs().sum(1, keepdim=True)
        scale[scale.isinf() | (scale > 1000)] = 1
        better = soft + scale * smoothed
    else:
        better = soft + 0.7 * spread(error, 5, 0.9, lambda y: y.index_copy(0, ids, error[ids]))
    better = better.index_copy(0, ids, truth)
    out = spread(better, 4, 0.8, lambda y: y.clamp(0, 1))
    return {"soft": packed(soft), "ids": ids.tolist(), "labels": labels.tolist(), "out": packed(out)}


def linear(name, out, into, bias=True):
    return {f"{name}.weight": draw(out, into), **({f"{name}.bias": draw(out)} if bias else {})}


def main():
    lins = {k: v for i in range(3) for k, v in linear(f"lins.{i}", 2, 4).items()}
    keys = {k: v for n in ("key", "query", "value") for k, v in linear(f"lin_{n}", 4, 5).items()}
    gated = {**keys, **linear("lin_edge", 4, 2, False), **linear("lin_skip", 2, 5), **linear("lin_beta", 1, 6, False)}
    cases = [
        case("sage_gcn", "mean of the node and its neighbours", draw(N, 5), linear("lin_l", 3, 5), sage_gcn),
        case(
            "rgcn_blocks",
            "block-diagonal, 2 blocks",
            draw(N, 4),
            {"weight": draw(4, 2, 2, 3), "root": draw(4, 6), "bias": draw(6)},
            rgcn_blocks,
        ),
        case("sign", "hops 0 to 2; hops are constants", draw(N, 4), {**lins, **linear("out", 3, 6)}, sign),
        case("transformer_beta", "gate, heads averaged, edge features", draw(N, 5), gated, transformer_beta),
        case(
            "attentional_pool",
            "4 graphs of 4, 5, 0 and 2 nodes",
            draw(N, 4),
            {**linear("gate", 1, 4), **linear("nn", 3, 4)},
            attentional_pool,
        ),
        case("hgt", "nodes 0-4 are a, 5-10 are b; rows of a, then of b", draw(N, 4), hgt_parameters(), hgt),
    ]
    layers = [draw(N, 3) for _ in range(3)]
    jumping = {
        "layers": [packed(t) for t in layers],
        "cat": packed(torch.cat(layers, 1)),
        "max": packed(torch.stack(layers).max(0).values),
    }
    smooth = {"autoscale": correct_and_smooth(True), "fixed": correct_and_smooth(False)}
    shared = {k: BASE[k] for k in ("num_nodes", "src", "dst", "edge_weight", "edge_type", "edge_attr")}
    made_by = f"torch {torch.__version__}, scripts/golden/gnn.py"
    content = {"made_by": made_by, **shared, "cases": cases, "jumping": jumping, "correct_and_smooth": smooth}
    (GOLDEN / "gnn.json").write_text(json.dumps(content, separators=(",", ":")) + "\n")


main()
