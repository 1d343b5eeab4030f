"""The cases of bench/suites/gnn.ts in PyTorch: PyG-style code with dense features and scatter, and code with sparse CSR
products whose transpose is made once. The fastest way counts.
"""
import json
import os

import numpy as np
import torch
import torch.nn.functional as F

from inputs import figures, floats, integers, mix

cases = {}


def case(name):
    def add(function):
        cases[name] = function
        return function

    return add


# --- graphs ------------------------------------------------------------------------------------------------------------
THRESHOLDS = [int(p * 2**32) for p in (0.57, 0.76, 0.95)]


def rmat_edges(nodes, edges, seed):
    bits = int(np.ceil(np.log2(nodes)))
    src = np.zeros(edges, dtype=np.int64)
    dst = np.zeros(edges, dtype=np.int64)
    a, b, c = THRESHOLDS
    for bit in range(bits):
        r = mix(edges, seed * 64 + bit).astype(np.int64)
        src += (r >= b) * (1 << bit)
        dst += (((r >= a) & (r < b)) | (r >= c)) * (1 << bit)
    return torch.from_numpy(src % nodes), torch.from_numpy(dst % nodes)


def csr(rows, columns, values, shape):
    """A CSR matrix from entries in any order. PyTorch needs unique entries, so equal edges are summed."""
    return torch.sparse_coo_tensor(torch.stack([rows, columns]), values, shape).coalesce().to_sparse_csr()


class Aggregate(torch.autograd.Function):
    """A·x with a ready transpose for the gradient."""

    @staticmethod
    def forward(ctx, x, matrix, transposed):
        ctx.transposed = transposed
        return matrix @ x

    @staticmethod
    def backward(ctx, gradient):
        return ctx.transposed @ gradient, None, None


def mean_matrices(src, dst, nodes):
    degree = torch.bincount(dst, minlength=nodes).clamp(min=1).float()
    values = 1 / degree[dst]
    return csr(dst, src, values, (nodes, nodes)), csr(src, dst, values, (nodes, nodes))


# --- Cora --------------------------------------------------------------------------------------------------------------
NODES, PAIRS, WORDS, WORDS_PER_NODE, CLASSES, TRAIN = 2708, 5278, 1433, 18, 7, 140


def cora_like():
    a = integers(1, PAIRS, NODES)
    b = integers(2, PAIRS, NODES)
    b = torch.where(a == b, (b + 1) % NODES, b)
    stride = WORDS // WORDS_PER_NODE
    count = NODES * WORDS_PER_NODE
    words = integers(3, count, stride) + torch.arange(count) % WORDS_PER_NODE * stride
    x = torch.zeros(NODES, WORDS)
    x[torch.arange(count) // WORDS_PER_NODE, words] = 1 / WORDS_PER_NODE
    return torch.cat([a, b]), torch.cat([b, a]), x, integers(4, NODES, CLASSES)


@case("cora_gcn_epoch")
def cora_gcn_epoch():
    src, dst, x, labels = cora_like()
    loops = torch.arange(NODES)
    src, dst = torch.cat([src, loops]), torch.cat([dst, loops])
    root = torch.bincount(dst, minlength=NODES).float().rsqrt()
    weight = root[src] * root[dst]

    def scatter(h):
        return torch.zeros(NODES, h.shape[1]).index_add_(0, dst, h[src] * weight[:, None])

    def sparse():
        matrix = csr(dst, src, weight, (NODES, NODES))
        transposed = csr(src, dst, weight, (NODES, NODES))
        return lambda h: Aggregate.apply(h, matrix, transposed)

    def way(propagate):
        def prepare():
            w1 = floats(10, [16, WORDS], 0.06).requires_grad_()
            w2 = floats(11, [CLASSES, 16], 0.5).requires_grad_()
            b1, b2 = torch.zeros(16, requires_grad=True), torch.zeros(CLASSES, requires_grad=True)
            optimizer = torch.optim.Adam(
                [{"params": [w1, b1], "weight_decay": 5e-4}, {"params": [w2, b2]}], lr=0.01
            )
            state = {}

            def run():
                optimizer.zero_grad(set_to_none=True)
                h = F.dropout(x, 0.5)
                h = (propagate(h @ w1.t()) + b1).relu()
                h = F.dropout(h, 0.5)
                logits = propagate(h @ w2.t()) + b2
                loss = F.cross_entropy(logits[:TRAIN], labels[:TRAIN])
                loss.backward()
                optimizer.step()
                state["loss"] = loss.detach()

            return run, lambda: figures("loss", state["loss"])

        return prepare

    return {"dense features, scatter": way(scatter), "dense features, CSR": way(sparse())}


# --- R-MAT -------------------------------------------------------------------------------------------------------------
GRAPH_NODES, GRAPH_EDGES = 200_000, 4_000_000


@case("spmm_128_200k_4m")
def spmm():
    src, dst = rmat_edges(GRAPH_NODES, GRAPH_EDGES, 1)
    matrix = csr(dst, src, torch.ones(GRAPH_EDGES), (GRAPH_NODES, GRAPH_NODES))
    x = floats(1, [GRAPH_NODES, 128])
    state = {}

    @torch.no_grad()
    def run():
        state["y"] = matrix @ x

    return {"CSR": lambda: (run, lambda: figures("y", state["y"]))}


SAGE_SIZES = [100, 256, 256, 47]


def sage_parameters():
    pairs = list(zip(SAGE_SIZES, SAGE_SIZES[1:]))
    return [
        (
            floats(10 + i, [out, width], 1 / 16).requires_grad_(),
            floats(20 + i, [out], 1 / 16).requires_grad_(),
            floats(30 + i, [out, width], 1 / 16).requires_grad_(),
        )
        for i, (width, out) in enumerate(pairs)
    ]


@case("sage_full_200k_4m")
def sage_full():
    src, dst = rmat_edges(GRAPH_NODES, GRAPH_EDGES, 1)
    matrix, transposed = mean_matrices(src, dst, GRAPH_NODES)
    x = floats(1, [GRAPH_NODES, SAGE_SIZES[0]])
    labels = integers(2, GRAPH_NODES, SAGE_SIZES[3])

    def way(narrow):
        def prepare():
            layers = sage_parameters()
            optimizer = torch.optim.Adam([p for layer in layers for p in layer], lr=1e-3)
            state = {}

            def aggregate(h):
                if h.requires_grad:
                    return Aggregate.apply(h, matrix, transposed)
                with torch.no_grad():
                    return matrix @ h

            def run():
                optimizer.zero_grad(set_to_none=True)
                h = x
                for i, (left, bias, right) in enumerate(layers):
                    if narrow and left.shape[0] < left.shape[1]:
                        y = aggregate(h @ left.t()) + bias
                    else:
                        y = torch.addmm(bias, aggregate(h), left.t())
                    h = y + h @ right.t()
                    if i < 2:
                        h = h.relu()
                loss = F.cross_entropy(h, labels)
                loss.backward()
                optimizer.step()
                state["loss"] = loss.detach()

            return run, lambda: figures("loss", state["loss"])

        return prepare

    # Measuring both ways would double the memory, so the faster one was chosen: products first where they narrow.
    return {"CSR, narrow side": way(True)}


# --- sampled blocks ----------------------------------------------------------------------------------------------------
def read_ids(name):
    path = os.path.join(os.environ["SKEIN_BENCH_SHARED"], name)
    return torch.from_numpy(np.fromfile(path, dtype=np.int32).astype(np.int64))


def read_blocks():
    """For each batch: node ids, and for each layer (sources, destinations, source rows, destination rows, offsets)."""
    with open(os.path.join(os.environ["SKEIN_BENCH_SHARED"], "sizes.json")) as file:
        sizes = json.load(file)
    batches = []
    for step, layers in enumerate(sizes):
        offsets, indices = read_ids(f"offsets{step}"), read_ids(f"indices{step}")
        targets = torch.repeat_interleave(torch.arange(len(offsets) - 1), offsets.diff())
        blocks = [
            (n_src, n_dst, indices[:edges], targets[:edges], offsets[: n_dst + 1]) for n_src, n_dst, edges in layers
        ]
        batches.append((read_ids(f"nodes{step}"), blocks))
    return batches


@case("sage_sampled_epoch")
def sage_sampled():
    batches = read_blocks()
    features = floats(1, [1_000_000, SAGE_SIZES[0]])
    all_labels = integers(2, 1_000_000, SAGE_SIZES[3])

    def scatter(block):
        n_src, n_dst, src, dst, offsets = block
        degree = offsets.diff().clamp(min=1).float()[:, None]
        return lambda h: torch.zeros(n_dst, h.shape[1]).index_add_(0, dst, h[src]) / degree

    def sparse(block):
        n_src, n_dst, src, dst, offsets = block
        values = (1 / offsets.diff().clamp(min=1).float())[dst]
        matrix = torch._sparse_csr_tensor_unsafe(offsets, src, values, (n_dst, n_src))

        def aggregate(h):
            if not h.requires_grad:
                with torch.no_grad():
                    return matrix @ h
            order = torch.argsort(src)
            back = torch.zeros(n_src + 1, dtype=torch.int64)
            back[1:] = torch.bincount(src, minlength=n_src).cumsum(0)
            transposed = torch._sparse_csr_tensor_unsafe(back, dst[order], values[order], (n_src, n_dst))
            return Aggregate.apply(h, matrix, transposed)

        return aggregate

    def way(make):
        def prepare():
            layers = sage_parameters()
            optimizer = torch.optim.Adam([p for layer in layers for p in layer], lr=1e-3)
            state = {}

            def run():
                for nodes, blocks in batches:
                    optimizer.zero_grad(set_to_none=True)
                    h = features[nodes]
                    for i, ((left, bias, right), block) in enumerate(zip(layers, blocks)):
                        # As PyG does: a block has fewer destinations than sources, so the product comes last.
                        y = torch.addmm(bias, make(block)(h), left.t())
                        h = y + h[: block[1]] @ right.t()
                        if i < 2:
                            h = h.relu()
                    loss = F.cross_entropy(h, all_labels[nodes[: len(h)]])
                    loss.backward()
                    optimizer.step()
                    state["loss"] = loss.detach()

            return run, lambda: figures("loss", state["loss"])

        return prepare

    return {"scatter": way(scatter), "CSR": way(sparse)}
