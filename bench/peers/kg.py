"""The cases of bench/suites/kg.ts in PyTorch: in idiomatic form, with autograd, and in separate cases with all gradients
written by hand so that scores are stored once.
"""
import numpy as np
import torch
import torch.nn.functional as F

from inputs import figures, floats, integers

NODES, RELATIONS, WIDTH = 14_541, 237, 100
BATCH, CHUNKS, NEGATIVES, BATCHES = 1000, 10, 500, 4
RATE, EPS, FIRST_SUM = 0.1, 1e-10, 0.1
QUERIES, FILTERS = 2000, 40

cases = {}


def case(name):
    def add(function):
        cases[name] = function
        return function

    return add


def make_batch(index):
    sizes = [BATCH, BATCH, CHUNKS * NEGATIVES, CHUNKS * NEGATIVES]
    lists = [integers(10 * index + i + 1, n, NODES) for i, n in enumerate(sizes)]
    unique, local = np.unique(torch.cat(lists).numpy(), return_inverse=True)
    parts = torch.from_numpy(local).split(sizes)
    return torch.from_numpy(unique), parts, integers(10 * index + 5, BATCH, RELATIONS)


# --- relation operators: the query, and the gradients of its two factors -----------------------------------------------
def hadamard(e, r):
    return e * r


def hadamard_backward(g, e, r):
    return g * r, g * e


def complex_product(e, r):
    e_re, e_im = e.chunk(2, 1)
    r_re, r_im = r.chunk(2, 1)
    return torch.cat([e_re * r_re - e_im * r_im, e_re * r_im + e_im * r_re], 1)


def complex_backward(g, e, r):
    def conjugated(x, y):
        x_re, x_im = x.chunk(2, 1)
        y_re, y_im = y.chunk(2, 1)
        return torch.cat([x_re * y_re + x_im * y_im, x_im * y_re - x_re * y_im], 1)

    return conjugated(g, r), conjugated(g, e)


# --- one direction -----------------------------------------------------------------------------------------------------
def loss_autograd(query, target, rows, negatives):
    q = query.view(CHUNKS, -1, WIDTH)
    scores = torch.bmm(q, rows[negatives].view(CHUNKS, NEGATIVES, WIDTH).transpose(1, 2)).view(BATCH, NEGATIVES)
    both = torch.cat([(query * target).sum(1, keepdim=True), scores], 1)
    return F.cross_entropy(both, torch.zeros(BATCH, dtype=torch.long), reduction="sum")


def loss_by_hand(query, target, rows, negatives, g_rows):
    """The loss and the gradients of query and target; that of the negatives is added to g_rows."""
    n = rows.index_select(0, negatives).view(CHUNKS, NEGATIVES, WIDTH)
    q = query.view(CHUNKS, -1, WIDTH)
    scores = torch.bmm(q, n.transpose(1, 2))
    positive = (query * target).sum(1)
    flat = scores.view(BATCH, NEGATIVES)
    lse = torch.logaddexp(torch.logsumexp(flat, 1), positive)
    loss = (lse - positive).sum()
    p = flat.sub_(lse[:, None]).exp_().view(CHUNKS, -1, NEGATIVES)
    g = ((positive - lse).exp() - 1)[:, None]
    g_query = torch.bmm(p, n).view(BATCH, WIDTH) + g * target
    g_rows.index_add_(0, negatives, torch.bmm(p.transpose(1, 2), q).view(-1, WIDTH))
    return loss, g_query, g * query


def adagrad_rows(table, sums, ids, g):
    total = sums.index_select(0, ids).addcmul_(g, g)
    sums.index_copy_(0, ids, total)
    table.index_add_(0, ids, g / total.sqrt_().add_(EPS), alpha=-RATE)


def adagrad(p, sums, g):
    sums.addcmul_(g, g)
    p.addcdiv_(g, sums.sqrt().add_(EPS), value=-RATE)


def training(operator, operator_backward):
    def autograd(state, batch):
        table, sums, tables, table_sums = state
        unique, (src, dst, src_negatives, dst_negatives), relations = batch
        rows = table.index_select(0, unique).requires_grad_()
        factors = [t.index_select(0, relations).requires_grad_() for t in tables]
        s, d = rows.index_select(0, src), rows.index_select(0, dst)
        loss = loss_autograd(operator(s, factors[0]), d, rows, dst_negatives)
        loss = loss + loss_autograd(operator(d, factors[1]), s, rows, src_negatives)
        loss.backward()
        with torch.no_grad():
            adagrad_rows(table, sums, unique, rows.grad)
            for t, total, f in zip(tables, table_sums, factors):
                adagrad(t, total, torch.zeros_like(t).index_add_(0, relations, f.grad))
        return loss.detach()

    @torch.no_grad()
    def by_hand(state, batch):
        table, sums, tables, table_sums = state
        unique, (src, dst, src_negatives, dst_negatives), relations = batch
        rows = table.index_select(0, unique)
        g_rows = torch.zeros_like(rows)
        factors = [t.index_select(0, relations) for t in tables]
        s, d = rows.index_select(0, src), rows.index_select(0, dst)
        rhs, gq, gd = loss_by_hand(operator(s, factors[0]), d, rows, dst_negatives, g_rows)
        gs, gr = operator_backward(gq, s, factors[0])
        lhs, gq, gs2 = loss_by_hand(operator(d, factors[1]), s, rows, src_negatives, g_rows)
        gd2, gr2 = operator_backward(gq, d, factors[1])
        g_rows.index_add_(0, src, gs + gs2)
        g_rows.index_add_(0, dst, gd + gd2)
        adagrad_rows(table, sums, unique, g_rows)
        for t, total, g in zip(tables, table_sums, (gr, gr2)):
            adagrad(t, total, torch.zeros_like(t).index_add_(0, relations, g))
        return rhs + lhs

    batches = [make_batch(i + 1) for i in range(BATCHES)]

    def prepare(step):
        table = floats(1, [NODES, WIDTH], 0.5)
        tables = [floats(2 + i, [RELATIONS, WIDTH]) for i in range(2)]
        state = table, torch.full_like(table, FIRST_SUM), tables, [torch.full_like(t, FIRST_SUM) for t in tables]
        seen = {"turn": 0, "loss": None}

        def run():
            seen["loss"] = step(state, batches[seen["turn"] % BATCHES])
            seen["turn"] += 1

        def check():
            return figures("loss", seen["loss"].view(1)) + figures("table", table) + figures("relations", tables[0])

        return run, check

    return {"autograd": lambda: prepare(autograd), "by hand": lambda: prepare(by_hand)}


def only(way, ways):
    return {way: ways[way]}


@case("distmult_step")
def distmult_step():
    return only("autograd", training(hadamard, hadamard_backward))


@case("complex_step")
def complex_step():
    return only("autograd", training(complex_product, complex_backward))


@case("distmult_step_by_hand")
def distmult_step_by_hand():
    return only("by hand", training(hadamard, hadamard_backward))


@case("complex_step_by_hand")
def complex_step_by_hand():
    return only("by hand", training(complex_product, complex_backward))


def one_against_all(dim):
    batches = [integers(3 + i, BATCH, NODES) for i in range(BATCHES)]

    def prepare(ready_made):
        table = floats(1, [NODES, dim], 0.5).requires_grad_()
        query = floats(2, [BATCH, dim], 0.5).requires_grad_()
        sums = torch.full_like(table, FIRST_SUM)
        optimizer = torch.optim.Adagrad([table], lr=RATE, eps=EPS, initial_accumulator_value=FIRST_SUM)
        seen = {"turn": 0, "loss": None}

        def run():
            table.grad = query.grad = None
            loss = F.cross_entropy(query @ table.t(), batches[seen["turn"] % BATCHES])
            loss.backward()
            if ready_made:
                optimizer.step()
            else:
                with torch.no_grad():
                    adagrad(table, sums, table.grad)
            seen["loss"] = loss.detach()
            seen["turn"] += 1

        def check():
            return (figures("loss", seen["loss"].view(1)) + figures("queries", query.grad)
                    + figures("table", table.detach()))

        return run, check

    return {"torch.optim": lambda: prepare(True), "two operations": lambda: prepare(False)}


for _dim in (128, 256, 512):
    cases[f"one_vs_all_step_{_dim}"] = lambda dim=_dim: one_against_all(dim)


def ranking(ways):
    table = floats(1, [NODES, WIDTH])
    sides = []
    for side in range(2):
        target = integers(30 + side, QUERIES, NODES)
        ids = integers(40 + side, QUERIES * FILTERS, NODES).view(QUERIES, FILTERS)
        sides.append((floats(20 + side, [QUERIES, WIDTH]), target, torch.cat([ids, target[:, None]], 1)))

    def prepare(block, count):
        results = []

        @torch.no_grad()
        def run():
            results.clear()
            for query, target, listed in sides:
                ranks = []
                for at in range(0, QUERIES, block):
                    scores = query[at : at + block] @ table.t()
                    positive = scores.gather(1, target[at : at + block, None])
                    scores.scatter_(1, listed[at : at + block], -float("inf"))
                    ranks.append(count(scores, positive))
                results.append(torch.cat(ranks))

        def check():
            return sum((figures(f"ranks {side}", r) for side, r in enumerate(results)), [])

        return run, check

    def by_sums(scores, positive):
        return 1 + ((scores > positive).sum(1) + (scores >= positive).sum(1)).double() / 2

    def by_counts(scores, positive):
        return 1 + (torch.count_nonzero(scores > positive, 1) + torch.count_nonzero(scores >= positive, 1)).double() / 2

    def by_signs(scores, positive):
        return 1 + (scores.sub_(positive).sign_().sum(1).double() + NODES) / 2

    counts = {"sums": by_sums, "counts": by_counts, "signs": by_signs}
    return {name: lambda count=counts[name]: prepare(500, count) for name in ways}


@case("filtered_ranks")
def filtered_ranks():
    return ranking(["sums", "counts"])


@case("filtered_ranks_by_signs")
def filtered_ranks_by_signs():
    return ranking(["signs"])
