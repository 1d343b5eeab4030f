"""Writes test/golden/nn-*.json: values that PyTorch computes for the modules, losses, optimisers and schedules of skein/nn.

Inputs and parameters follow a formula (`pattern`) that the tests repeat, so the files hold results only: outputs, all
gradients of sum(output * cotangent), parameters along 100 steps, learning rates. Run: python3 scripts/golden/nn.py
"""
import json
import math
import pathlib

import numpy as np
import torch
import torch.nn.functional as F

torch.manual_seed(0)
torch.set_num_threads(1)
DTYPES = {"f64": torch.float64, "f32": torch.float32}
OUT = pathlib.Path(__file__).resolve().parents[2] / "test" / "golden"


def pattern(shape, seed, dtype, scale=1.0):
    """Numbers in (-scale, scale) without zeros or relevant ties; the same in test/nn/golden.ts."""
    n = math.prod(shape)
    values = [((i * 31 + seed * 57 + (i * i % 7) * 13) % 199 - 99.5) / 100 * scale for i in range(n)]
    return torch.tensor(values, dtype=dtype).reshape(shape)


def numbers(t):
    flat = t.detach().reshape(-1)
    if flat.dtype == torch.float32:
        return [float(str(v)) for v in flat.numpy()]
    return [float(v) for v in flat.double().numpy()]


def leaf(shape, seed, dtype, scale=1.0):
    return pattern(shape, seed, dtype, scale).requires_grad_()


def fill(module, names):
    """Parameter k of `names` (torch name -> our name) gets pattern seed 10 + k."""
    own = dict(module.named_parameters())
    assert sorted(own) == sorted(names), (sorted(own), sorted(names))
    with torch.no_grad():
        for k, name in enumerate(names):
            own[name].copy_(pattern(own[name].shape, 10 + k, own[name].dtype))
    return {ours: own[name] for name, ours in names.items()}


def record(output, leaves, **more):
    """Output and gradients of sum(output * pattern(seed 99)) for each named leaf."""
    cotangent = pattern(output.shape, 99, output.dtype)
    (output * cotangent).sum().backward()
    grads = {name: numbers(t.grad) for name, t in leaves.items()}
    return {"output": numbers(output), "grads": grads, **{k: numbers(v) for k, v in more.items()}}


def weights(*names):
    return {n: n for n in names}


CELL = {"weight_ih": "weightIh", "weight_hh": "weightHh", "bias_ih": "biasIh", "bias_hh": "biasHh"}


def linear_cases(dtype):
    x = leaf([5, 4], 1, dtype)
    m = torch.nn.Linear(4, 3, dtype=dtype)
    yield "linear", record_module(m, weights("weight", "bias"), {"x": x})
    x = leaf([2, 3, 4], 1, dtype)
    m = torch.nn.Linear(4, 3, bias=False, dtype=dtype)
    yield "linearNoBias", record_module(m, weights("weight"), {"x": x})
    x = leaf([6, 4], 1, dtype)
    m = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Tanh(), torch.nn.Linear(5, 2)).to(dtype)
    yield "sequential", record_module(m, weights("0.weight", "0.bias", "2.weight", "2.bias"), {"x": x})
    x = leaf([6, 4], 1, dtype)
    m = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.LayerNorm(5), torch.nn.GELU(), torch.nn.Linear(5, 2)).to(dtype)
    names = {"0.weight": "linears.0.weight", "0.bias": "linears.0.bias", "3.weight": "linears.1.weight",
             "3.bias": "linears.1.bias", "1.weight": "norms.0.weight", "1.bias": "norms.0.bias"}
    yield "mlp", record_module(m, names, {"x": x})


def record_module(module, names, inputs, **more):
    params = fill(module, names)
    return record(module(*inputs.values()), {**inputs, **params}, **more)


def embedding_cases(dtype):
    ids = torch.tensor([[0, 5, 2], [2, 2, 1]])
    for name, padding in [("embedding", None), ("embeddingPadding", 2)]:
        m = torch.nn.Embedding(6, 3, padding_idx=padding, dtype=dtype)
        params = fill(m, weights("weight"))
        yield name, record(m(ids), params)


def norm_cases(dtype):
    for name, affine in [("layerNorm", True), ("layerNormPlain", False)]:
        m = torch.nn.LayerNorm(5, eps=1e-3, elementwise_affine=affine, dtype=dtype)
        yield name, record_module(m, weights("weight", "bias") if affine else {}, {"x": leaf([4, 5], 1, dtype)})
    for name, options in [("batchNorm", {}), ("batchNormCumulative", {"momentum": None}), ("batchNormPlain", {"affine": False, "track_running_stats": False})]:
        m = torch.nn.BatchNorm1d(3, dtype=dtype, **options)
        params = fill(m, weights("weight", "bias") if m.affine else {})
        m(pattern([7, 3], 5, dtype, 2.0))
        x = leaf([6, 3], 1, dtype)
        result = record(m(x), {"x": x, **params})
        if m.track_running_stats:
            result["runningMean"] = numbers(m.running_mean)
            result["runningVar"] = numbers(m.running_var)
        yield name, result
        for p in params.values():
            p.grad = None
        m.eval()
        x = leaf([2, 3], 2, dtype)
        yield name + "Eval", record(m(x), {"x": x, **params})


def cell_cases(dtype):
    for name, m in [
        ("gruCell", torch.nn.GRUCell(3, 4, dtype=dtype)),
        ("gruCellNoBias", torch.nn.GRUCell(3, 4, bias=False, dtype=dtype)),
        ("rnnCell", torch.nn.RNNCell(3, 4, dtype=dtype)),
        ("rnnCellRelu", torch.nn.RNNCell(3, 4, nonlinearity="relu", dtype=dtype)),
    ]:
        names = {k: v for k, v in CELL.items() if m.bias or "weight" in k}
        yield name, record_module(m, names, {"x": leaf([2, 3], 1, dtype), "h": leaf([2, 4], 2, dtype)})
    t = leaf([2, 3], 1, dtype, 10.0)
    w = torch.tensor(1 / 10 ** np.linspace(0, 9, 4), dtype=dtype).requires_grad_()
    b = leaf([4], 10, dtype)
    yield "timeEncode", record(torch.cos(t.unsqueeze(-1) * w + b), {"span": t, "weight": w, "bias": b})


def activation_cases(dtype):
    for name, m in [
        ("relu", torch.nn.ReLU()), ("leakyRelu", torch.nn.LeakyReLU()), ("elu", torch.nn.ELU()), ("gelu", torch.nn.GELU()),
        ("sigmoid", torch.nn.Sigmoid()), ("tanh", torch.nn.Tanh()), ("softplus", torch.nn.Softplus()),
    ]:
        yield name, record_module(m, {}, {"x": leaf([9], 3, dtype, 4.0)})


JOINT = {"in_proj_weight": "inProjWeight", "in_proj_bias": "inProjBias", "out_proj.weight": "outProj.weight",
         "out_proj.bias": "outProj.bias"}
APART = {"q_proj_weight": "qProjWeight", "k_proj_weight": "kProjWeight", "v_proj_weight": "vProjWeight",
         "in_proj_bias": "inProjBias", "out_proj.weight": "outProj.weight", "out_proj.bias": "outProj.bias"}


def attention_cases(dtype):
    padding = torch.tensor([[0, 0, 1, 0], [1, 0, 0, 1]], dtype=torch.bool)
    causal = torch.tensor([[0, 1, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1]], dtype=torch.bool)
    added = pattern([3, 4], 7, dtype)
    for name, sizes, names, call in [
        ("attention", {}, JOINT, {}),
        ("attentionPadding", {}, JOINT, {"key_padding_mask": padding}),
        ("attentionMask", {}, JOINT, {"attn_mask": causal}),
        ("attentionAdded", {}, JOINT, {"attn_mask": added}),
        ("attentionSizes", {"kdim": 3, "vdim": 2}, APART, {}),
    ]:
        m = torch.nn.MultiheadAttention(4, 2, batch_first=True, dtype=dtype, **sizes)
        params = fill(m, names)
        q = leaf([2, 3, 4], 1, dtype)
        k = leaf([2, 4, sizes.get("kdim", 4)], 2, dtype)
        v = leaf([2, 4, sizes.get("vdim", 4)], 3, dtype)
        output, attention = m(q, k, v, need_weights=True, **call)
        yield name, record(output, {"query": q, "key": k, "value": v, **params}, weights=attention)


def loss_cases(dtype):
    labels = torch.tensor([2, 0, 1, 1, 3])
    holes = torch.tensor([2, -100, 1, -100, 3])
    classes = torch.tensor([0.5, 1.0, 2.0, 0.25], dtype=dtype)
    ones = torch.tensor([1.0, -1.0, 1.0, 1.0, -1.0], dtype=dtype)
    flags = torch.tensor([1.0, 0.0, 1.0, 0.0, 1.0], dtype=dtype)
    for reduction in ["mean", "sum", "none"]:
        def case(name, compute, **leaves):
            return f"{name}:{reduction}", record(compute(*leaves.values()), leaves)

        r = {"reduction": reduction}
        logits = lambda: leaf([5, 4], 1, dtype, 3.0)
        a, b = (lambda: leaf([5], 1, dtype, 2.0)), (lambda: leaf([5], 2, dtype, 2.0))
        yield case("crossEntropy", lambda x: F.cross_entropy(x, labels, **r), x=logits())
        yield case("crossEntropyWeight", lambda x: F.cross_entropy(x, labels, weight=classes, **r), x=logits())
        yield case("crossEntropyIgnore", lambda x: F.cross_entropy(x, holes, weight=classes, ignore_index=-100, **r), x=logits())
        rank = lambda p, n: F.cross_entropy(torch.cat([p[:, None], n], 1), torch.zeros(5, dtype=torch.long), **r)
        yield case("softmaxNegatives", rank, x=a(), y=leaf([5, 3], 2, dtype, 2.0))
        yield case("bce", lambda x: F.binary_cross_entropy(x, flags, **r), x=prob(dtype))
        yield case("bceWithLogits", lambda x: F.binary_cross_entropy_with_logits(x, flags, **r), x=a())
        yield case("mse", lambda x, y: F.mse_loss(x, y, **r), x=a(), y=b())
        yield case("l1", lambda x, y: F.l1_loss(x, y, **r), x=a(), y=b())
        yield case("margin", lambda x, y: F.margin_ranking_loss(x, y, ones, margin=0.3, **r), x=a(), y=b())
        yield case("softplus", lambda x: F.soft_margin_loss(x, 2 * flags - 1, **r), x=a())


def prob(dtype):
    return torch.tensor([0.1, 0.9, 0.5, 0.0, 1.0], dtype=dtype).requires_grad_()


STEPS = [1, 2, 3, 5, 10, 20, 50, 100]


def optimizer_cases(dtype):
    O = torch.optim
    for name, make in [
        ("sgd", lambda p: O.SGD(p, lr=0.05)),
        ("sgdMomentum", lambda p: O.SGD(p, lr=0.02, momentum=0.9, dampening=0.1, weight_decay=0.01)),
        ("sgdNesterov", lambda p: O.SGD(p, lr=0.02, momentum=0.9, nesterov=True)),
        ("adagrad", lambda p: O.Adagrad(p, lr=0.1)),
        ("adagradOptions", lambda p: O.Adagrad(p, lr=0.1, lr_decay=0.01, weight_decay=0.02, initial_accumulator_value=0.1, eps=1e-6)),
        ("adam", lambda p: O.Adam(p, lr=0.02)),
        ("adamOptions", lambda p: O.Adam(p, lr=0.02, betas=(0.8, 0.95), eps=1e-4, weight_decay=0.03)),
        ("adamW", lambda p: O.AdamW(p, lr=0.02)),
        ("adamWOptions", lambda p: O.AdamW(p, lr=0.02, betas=(0.8, 0.95), eps=1e-4, weight_decay=0.1)),
    ]:
        p = leaf([6], 1, dtype)
        yield name, trajectory(make([p]), p, lambda t: (pattern([6], 2, dtype).abs() * (p - pattern([6], 3 + t, dtype)) ** 2).sum())
    for name, make in [
        ("rowsSgd", lambda p: O.SGD(p, lr=0.05)),
        ("rowsAdagrad", lambda p: O.Adagrad(p, lr=0.1, lr_decay=0.01, initial_accumulator_value=0.1)),
        # PyTorch adds eps before the bias correction of the second moment; one this small makes no difference.
        ("rowsAdam", lambda p: O.SparseAdam(p, lr=0.02, eps=1e-14)),
    ]:
        m = torch.nn.Embedding(5, 2, sparse=True, dtype=dtype)
        p = fill(m, weights("weight"))["weight"]
        loss = lambda t: ((m(torch.tensor([(3 * t) % 5, (7 * t + 1) % 5, t % 2])) - pattern([3, 2], 3 + t, dtype)) ** 2).sum()
        yield name, trajectory(make([p]), p, loss)


def trajectory(optimizer, p, loss):
    kept = {}
    for t in range(1, 101):
        optimizer.zero_grad()
        loss(t).backward()
        optimizer.step()
        if t in STEPS:
            kept[str(t)] = numbers(p)
    return kept


def schedules():
    S = torch.optim.lr_scheduler
    metric = [5, 4, 4, 4, 4, 3.9999, 3.5, 3.5, 3.5, 3.5, 3.5, 3, 3.2, 3.1, 3.3, 3.4, 3.6, 3, 3, 3, 2, 2, 2, 2, 2]
    plateau = {"factor": 0.5, "patience": 1, "cooldown": 2, "threshold": 1e-3, "min_lr": 0.01}
    for name, make in [
        ("stepLR", lambda o: S.StepLR(o, 4, gamma=0.5)),
        ("multiStepLR", lambda o: S.MultiStepLR(o, [3, 7, 7, 20], gamma=0.3)),
        ("exponentialLR", lambda o: S.ExponentialLR(o, 0.9)),
        ("cosineAnnealingLR", lambda o: S.CosineAnnealingLR(o, 8, eta_min=0.01)),
        ("linearWarmup", lambda o: S.LinearLR(o, start_factor=0.1, total_iters=6)),
        ("lambdaLR", lambda o: S.LambdaLR(o, lambda t: 1 / (1 + t))),
        ("plateau", lambda o: S.ReduceLROnPlateau(o, **plateau)),
        ("plateauMax", lambda o: S.ReduceLROnPlateau(o, mode="max", threshold_mode="abs", **plateau)),
    ]:
        p, q = torch.zeros(1, requires_grad=True), torch.zeros(1, requires_grad=True)
        optimizer = torch.optim.SGD([{"params": [p]}, {"params": [q], "lr": 0.02}], lr=0.2)
        schedule = make(optimizer)
        rates = [[g["lr"] for g in optimizer.param_groups]]
        for value in metric:
            optimizer.step()
            schedule.step(value) if name.startswith("plateau") else schedule.step()
            rates.append([g["lr"] for g in optimizer.param_groups])
        yield name, rates
    yield "metric", metric


def write(name, cases):
    head = {"format": "skein-nn-golden", "version": 1, "command": "python3 scripts/golden/nn.py",
            "torch": torch.__version__, "numpy": np.__version__}
    text = json.dumps({**head, "cases": cases}, separators=(",", ":")).replace('},"', '},\n"') + "\n"
    assert len(text) < 50_000, (name, len(text))
    (OUT / f"nn-{name}.json").write_text(text)
    print(f"nn-{name}.json: {len(text)} bytes, {len(cases)} cases")


def both(*families):
    cases = {}
    for family in families:
        for key, dtype in DTYPES.items():
            for name, result in family(dtype):
                cases.setdefault(name, {})[key] = result
    return cases


if __name__ == "__main__":
    write("modules", both(linear_cases, embedding_cases, norm_cases, cell_cases, activation_cases))
    write("attention", both(attention_cases))
    write("losses", both(loss_cases))
    write("optim", both(optimizer_cases))
    write("schedules", dict(schedules()))
