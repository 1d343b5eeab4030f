"""The cases of bench/suites/kernels.ts in PyTorch, written as an expert would: results into existing memory where
there is an `out=`, no recorded graph where none is needed, gradients set to None, and where two ways exist, both.
"""
import torch
import torch.nn.functional as F

from inputs import distribution, figures, floats, integers

cases = {}


def case(name):
    def add(function):
        cases[name] = function
        return function

    return add


def unrecorded(function):
    """Returns the function as a run() without autograd."""
    return torch.no_grad()(function)


# --- matrix products ---------------------------------------------------------------------------------------------------
def product(a, b, m, n):
    out = torch.empty(m, n)

    def prepare():
        return unrecorded(lambda: torch.mm(a, b, out=out)), lambda: figures("c", out)

    return {"mm": prepare}


cases["gemm_square_1024"] = lambda: product(floats(1, [1024, 1024]), floats(2, [1024, 1024]), 1024, 1024)
cases["gemm_tall_100000x128x256"] = lambda: product(floats(1, [100000, 128]), floats(2, [128, 256]), 100000, 256)
cases["gemm_tall_100000x128x64"] = lambda: product(floats(1, [100000, 128]), floats(2, [128, 64]), 100000, 64)
cases["gemm_tn_128x100000x256"] = lambda: product(
    floats(1, [100000, 128]).t(), floats(2, [100000, 256]), 128, 256
)


# --- rows by id --------------------------------------------------------------------------------------------------------
@case("gather_rows_1m_128")
def gather_rows():
    table = floats(1, [1_000_000, 128])
    out = torch.empty(1_000_000, 128)

    def way(dtype):
        def prepare():
            ids = integers(2, 1_000_000, 1_000_000, dtype)
            return unrecorded(lambda: torch.index_select(table, 0, ids, out=out)), lambda: figures("y", out)

        return prepare

    return {"index_select i64": way(torch.int64), "index_select i32": way(torch.int32)}


def scatter_add_rows(rows):
    src = floats(1, [1_000_000, 128])

    def way(dtype):
        def prepare():
            ids = integers(2, 1_000_000, rows, dtype)
            dst = torch.zeros(rows, 128)
            return unrecorded(lambda: dst.index_add_(0, ids, src)), lambda: figures("dst", dst)

        return prepare

    return {"index_add_ i64": way(torch.int64), "index_add_ i32": way(torch.int32)}


cases["scatter_add_rows_1m_128"] = lambda: scatter_add_rows(1_000_000)
cases["scatter_add_rows_1m_128_into_100k"] = lambda: scatter_add_rows(100_000)


@case("segment_sum_1m_128")
def segment_sum():
    x = floats(1, [1_000_000, 128])
    owner, _ = integers(2, 1_000_000, 100_000).sort()
    lengths = torch.bincount(owner, minlength=100_000)
    offsets = torch.cat([torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)])
    order = torch.arange(1_000_000)
    kept = {}

    def keep(function):
        def run():
            kept["y"] = function()

        return lambda: (unrecorded(run), lambda: figures("y", kept["y"]))

    return {
        "segment_reduce": keep(lambda: torch.segment_reduce(x, "sum", lengths=lengths, axis=0, unsafe=True)),
        "index_add_": keep(lambda: torch.zeros(100_000, 128).index_add_(0, owner, x)),
        "embedding_bag": keep(lambda: F.embedding_bag(order, x, offsets, mode="sum", include_last_offset=True)),
    }


# --- losses, softmax, dropout ------------------------------------------------------------------------------------------
@case("cross_entropy_100000x47")
def cross_entropy():
    logits = floats(1, [100000, 47], 4).requires_grad_()
    labels = integers(2, 100000, 47)
    kept = {}

    def run():
        logits.grad = None
        loss = F.cross_entropy(logits, labels)
        loss.backward()
        kept["loss"] = loss.detach()

    return {"cross_entropy": lambda: (run, lambda: figures("loss", kept["loss"]) + figures("gradient", logits.grad))}


@case("softmax_100000x47")
def softmax():
    x = floats(1, [100000, 47], 4)
    out = torch.empty(100000, 47)
    return {
        "softmax": lambda: (unrecorded(lambda: torch._softmax(x, 1, False, out=out)), lambda: figures("y", out)),
    }


@case("dropout_100000x128")
def dropout():
    x = floats(1, [100000, 128]) + 2
    kept = {}

    def run():
        kept["y"] = F.dropout(x, 0.5, training=True)

    return {"dropout": lambda: (unrecorded(run), lambda: distribution("y", kept["y"]))}


# --- normalisation and elementwise -------------------------------------------------------------------------------------
def normalisation(function):
    x = floats(1, [100000, 256]).requires_grad_()
    gamma = (floats(2, [256]) + 2).requires_grad_()
    beta = floats(3, [256]).requires_grad_()
    gradient = floats(4, [100000, 256])
    kept = {}

    def run():
        x.grad = gamma.grad = beta.grad = None
        kept["y"] = function(x, gamma, beta)
        kept["y"].backward(gradient)

    def check():
        results = {"y": kept["y"], "gx": x.grad, "ggamma": gamma.grad, "gbeta": beta.grad}
        return [figure for name, values in results.items() for figure in figures(name, values)]

    return {"function": lambda: (run, check)}


cases["layer_norm_100000x256"] = lambda: normalisation(lambda x, g, b: F.layer_norm(x, [256], g, b))
cases["batch_norm_100000x256"] = lambda: normalisation(lambda x, g, b: F.batch_norm(x, None, None, g, b, True))


@case("add_bias_relu_100000x256")
def add_bias_relu():
    x = floats(1, [100000, 256])
    bias = floats(2, [256])
    out = torch.empty(100000, 256)
    return {
        "add, relu_": lambda: (
            unrecorded(lambda: torch.add(x, bias, out=out).relu_()),
            lambda: figures("y", out),
        ),
    }


@case("column_sum_100000x256")
def column_sum():
    x = floats(1, [100000, 256])
    out = torch.empty(256)
    ones = torch.ones(100000)
    return {
        "sum": lambda: (unrecorded(lambda: torch.sum(x, 0, out=out)), lambda: figures("y", out)),
        "mv": lambda: (unrecorded(lambda: torch.mv(x.t(), ones, out=out)), lambda: figures("y", out)),
    }


@case("transpose_4096")
def transpose():
    x = floats(1, [4096, 4096])
    out = torch.empty(4096, 4096)
    return {"copy_": lambda: (unrecorded(lambda: out.copy_(x.t())), lambda: figures("y", out))}


# --- random numbers ----------------------------------------------------------------------------------------------------
@case("normal_10m")
def normal():
    out = torch.empty(10_000_000)
    return {"normal_": lambda: (unrecorded(lambda: out.normal_()), lambda: distribution("y", out))}


@case("permutation_1m")
def permutation():
    def way(dtype):
        out = torch.empty(1_000_000, dtype=dtype)
        return lambda: (lambda: torch.randperm(1_000_000, out=out), lambda: distribution("y", out))

    return {"randperm i64": way(torch.int64), "randperm i32": way(torch.int32)}


# --- steps of training -------------------------------------------------------------------------------------------------
@case("adam_10m")
def adam():
    def way(foreach):
        def prepare():
            p = floats(1, [10_000_000]).requires_grad_()
            p.grad = floats(2, [10_000_000])
            optimizer = torch.optim.Adam([p], lr=1e-3, foreach=foreach)
            return optimizer.step, lambda: figures("p", p)

        return prepare

    return {"one by one": way(False), "foreach": way(True)}


@case("mlp_step_1024x256")
def mlp_step():
    x = floats(1, [1024, 256])
    labels = integers(2, 1024, 256)

    def way(foreach):
        def prepare():
            layers = [torch.nn.Linear(256, 256) for _ in range(3)]
            with torch.no_grad():
                for i, layer in enumerate(layers):
                    layer.weight.copy_(floats(10 + i, [256, 256], 1 / 16))
                    layer.bias.copy_(floats(20 + i, [256], 1 / 16))
            model = torch.nn.Sequential(layers[0], torch.nn.ReLU(), layers[1], torch.nn.ReLU(), layers[2])
            optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, foreach=foreach)
            kept = {}

            def run():
                optimizer.zero_grad(set_to_none=True)
                loss = F.cross_entropy(model(x), labels)
                loss.backward()
                optimizer.step()
                kept["loss"] = loss.detach()

            return run, lambda: figures("loss", kept["loss"]) + figures("bias", layers[2].bias)

        return prepare

    return {"one by one": way(False), "foreach": way(True)}


@case("gru_cell_1000x100")
def gru_cell():
    cell = torch.nn.GRUCell(100, 100)
    with torch.no_grad():
        for i, p in enumerate(cell.parameters()):
            p.copy_(floats(10 + i, p.shape, 0.1))
    x = floats(1, [1000, 100]).requires_grad_()
    h = floats(2, [1000, 100]).requires_grad_()
    gradient = floats(3, [1000, 100])
    kept = {}

    def run():
        cell.zero_grad(set_to_none=True)
        x.grad = h.grad = None
        kept["y"] = cell(x, h)
        kept["y"].backward(gradient)

    def check():
        results = {"y": kept["y"], "gx": x.grad, "gh": h.grad, "gw": cell.weight_ih.grad, "gb": cell.bias_hh.grad}
        return [figure for name, values in results.items() for figure in figures(name, values)]

    return {"GRUCell": lambda: (run, check)}


@case("embedding_sparse_adagrad")
def embedding_sparse_adagrad():
    ids = integers(2, 50_000, 1_000_000)
    gradient = floats(3, [50_000, 100])

    def prepare():
        table = floats(1, [1_000_000, 100]).requires_grad_()
        optimizer = torch.optim.Adagrad([table], lr=0.1, eps=1e-10)

        def run():
            optimizer.zero_grad(set_to_none=True)
            F.embedding(ids, table, sparse=True).backward(gradient)
            optimizer.step()

        return run, lambda: figures("table", table)

    return {"sparse": prepare}
