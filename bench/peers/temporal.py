"""The cases of bench/suites/temporal.ts in PyTorch: idiomatic TGN, with autograd and padded neighbourhoods.

The peer's neighbours, distinct nodes and last events of batches are found before its clock runs (ours finds them inside).
`tgn_train` updates memory for every row of the batch, as the published code does; `tgn_train_distinct` once for every
node and copies the result to the rows.
"""
import os

import numpy as np
import torch
import torch.nn.functional as F

from inputs import figures, floats

NODES, EVENTS, FEATURES = 10_000, 150_000, 172
D = T = OUT = 100
HEADS, FANOUT, BATCH, FIRST, BATCHES = 2, 10, 200, 50_000, 10
RATE = 1e-5
FOLDER = os.environ.get("SKEIN_BENCH_SHARED", "")

cases = {}


def case(name):
    def add(function):
        cases[name] = function
        return function

    return add


def read(name, dtype):
    return np.fromfile(os.path.join(FOLDER, f"{name}.bin"), dtype)


class Stream:
    def __init__(self):
        self.src, self.dst = read("src", np.int32).astype(np.int64), read("dst", np.int32).astype(np.int64)
        self.time, self.negatives = read("time", np.float64), read("negatives", np.int32).astype(np.int64)
        # Both ends get the entry; entries of a node are contiguous in the order of events.
        ends = np.concatenate([self.src, self.dst])
        others = np.concatenate([self.dst, self.src])
        rows = np.concatenate([np.arange(EVENTS)] * 2)
        keys = ends * EVENTS + rows
        order = np.argsort(keys)
        self.keys, self.others, self.rows = keys[order], others[order], rows[order]

    def recent(self, nodes, times):
        """The last FANOUT neighbours strictly before each time: ids, events, and which positions are filled."""
        cutoff = np.searchsorted(self.time, times, "left")
        end = np.searchsorted(self.keys, nodes * EVENTS + cutoff)
        start = np.searchsorted(self.keys, nodes * EVENTS)
        place = end[:, None] - FANOUT + np.arange(FANOUT)
        filled = place >= start[:, None]
        place = np.where(filled, place, 0)
        return np.where(filled, self.others[place], 0), np.where(filled, self.rows[place], 0), filled

    def batch(self, at):
        rows = np.arange(at, at + BATCH)
        src, dst, times = self.src[rows], self.dst[rows], self.time[rows]
        roots = np.concatenate([src, dst, self.negatives[rows]])
        root_times = np.concatenate([times] * 3)
        neighbors, events, filled = self.recent(roots, root_times)
        spans = np.where(filled, root_times[:, None] - self.time[events], 0)
        nodes = np.concatenate([roots, neighbors.reshape(-1)])
        unique, inverse = np.unique(nodes, return_inverse=True)
        # Ends in the order of events, reversed, so that the first one found is the last.
        ends = np.stack([src, dst], 1).reshape(-1)[::-1]
        last, first = np.unique(ends, return_index=True)
        end = 2 * BATCH - 1 - first
        own = end // 2 + (end % 2) * BATCH
        other = end // 2 + (1 - end % 2) * BATCH
        tensors = dict(nodes=nodes, unique=unique, inverse=inverse, events=events.reshape(-1), filled=filled,
                       spans=spans.reshape(-1).astype(np.float32), last=last, own=own, other=other,
                       last_event=rows[end // 2], last_time=times[end // 2])
        return {name: torch.from_numpy(np.ascontiguousarray(t)) for name, t in tensors.items()}


class Tgn:
    def __init__(self):
        size, into = OUT // HEADS, D + FEATURES + T
        made = lambda seed, *shape: floats(seed, shape, 0.1)
        frequencies = torch.from_numpy((1 / 10 ** np.linspace(0, 9, T)).astype(np.float32))
        key, value = (made(seed, HEADS, size, into + 1).view(OUT, into + 1) for seed in (9, 10))
        self.p = {
            "w_ih": torch.cat([made(1, 3 * D, 2 * D + FEATURES), made(2, 3 * D, T)], 1), "b_ih": made(3, 3 * D),
            "w_hh": made(4, 3 * D, D), "b_hh": made(5, 3 * D), "time_w": frequencies.clone(), "time_b": torch.zeros(T),
            "att_w": frequencies.clone(), "att_b": torch.zeros(T),
            "query": torch.cat([made(6, OUT, D), made(7, OUT, T)], 1), "query_b": made(8, OUT),
            "kv": torch.cat([key[:, :-1], value[:, :-1]]), "kv_b": torch.cat([key[:, -1], value[:, -1]]),
            "out": torch.cat([made(11, OUT, OUT), made(12, OUT, D)], 1), "out_b": made(13, OUT),
            "norm": torch.ones(OUT), "norm_b": torch.zeros(OUT),
            "src": made(14, OUT, OUT), "src_b": made(15, OUT), "dst": made(16, OUT, OUT),
            "score": made(17, 1, OUT), "score_b": made(18, 1),
        }
        for t in self.p.values():
            t.requires_grad_()
        self.memory, self.memory_time = torch.zeros(NODES, D), torch.zeros(NODES, dtype=torch.float64)
        self.mail, self.mail_time = torch.zeros(NODES, 2 * D + FEATURES), torch.zeros(NODES, dtype=torch.float64)
        self.has_mail = torch.zeros(NODES, dtype=torch.bool)

    def update(self, nodes):
        p = self.p
        memory, has = self.memory[nodes], self.has_mail[nodes]
        span = (self.mail_time[nodes] - self.memory_time[nodes]).float()
        x = torch.cat([self.mail[nodes], torch.cos(span[:, None] * p["time_w"] + p["time_b"])], 1)
        new = torch.gru_cell(x, memory, p["w_ih"], p["w_hh"], p["b_ih"], p["b_hh"])
        return torch.where(has[:, None], new, memory)

    def attend(self, h, batch, features):
        p, n = self.p, 3 * BATCH
        own, size = h[:n], OUT // HEADS
        waves = torch.cos(batch["spans"][:, None] * p["att_w"] + p["att_b"])
        x = torch.cat([h[n:], features[batch["events"]], waves], 1)
        k, v = F.linear(x, p["kv"], p["kv_b"]).view(n, FANOUT, 2, HEADS, size).unbind(2)
        now = torch.cos(p["att_b"]).expand(n, T)
        q = F.linear(torch.cat([own, now], 1), p["query"], p["query_b"]).view(n, 1, HEADS, size)
        filled = batch["filled"][:, :, None]
        score = F.leaky_relu((q * k).sum(3), 0.2).masked_fill(~filled, -1e10)
        share = torch.softmax(score, 1) * filled
        attended = (share[..., None] * v).sum(1).view(n, OUT)
        y = torch.relu(F.linear(torch.cat([attended, own], 1), p["out"], p["out_b"]))
        return F.layer_norm(y, [OUT], p["norm"], p["norm_b"])

    def loss(self, z):
        p = self.p
        src, dst, negative = z.split(BATCH)
        s, ends = F.linear(src, p["src"], p["src_b"]), F.linear(torch.cat([dst, negative]), p["dst"])
        scores = F.linear(torch.relu(torch.cat([s, s]) + ends), p["score"], p["score_b"]).view(2, BATCH)
        ones = torch.ones(BATCH)
        return (F.binary_cross_entropy_with_logits(scores[0], ones)
                + F.binary_cross_entropy_with_logits(scores[1], 1 - ones))

    @torch.no_grad()
    def commit(self, ends, batch, features):
        """ends: updated memory of the sources, then of the destinations."""
        last = batch["last"]
        has = self.has_mail[last]
        self.memory_time[last] = torch.where(has, self.mail_time[last], self.memory_time[last])
        self.memory[last] = ends[batch["own"]]
        self.mail[last] = torch.cat([ends[batch["own"]], ends[batch["other"]], features[batch["last_event"]]], 1)
        self.mail_time[last] = batch["last_time"]
        self.has_mail[last] = True

    @torch.no_grad()
    def observe(self, batch, features):
        self.commit(self.update(batch["nodes"][: 2 * BATCH]), batch, features)


def training(distinct):
    def prepare():
        stream, model = Stream(), Tgn()
        features = floats(50, [EVENTS, FEATURES])
        for at in range(0, FIRST, BATCH):
            model.observe(stream.batch(at), features)
        optimizer = torch.optim.Adam(model.p.values(), lr=RATE, foreach=True)
        batches = [stream.batch(at) for at in range(FIRST, EVENTS - BATCH + 1, BATCH)]
        seen = {"turn": 0, "loss": None}

        def step(batch):
            if distinct:
                updated = model.update(batch["unique"])
                h = updated[batch["inverse"]]
            else:
                h = model.update(batch["nodes"])
            loss = model.loss(model.attend(h, batch, features))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            model.commit(h[: 2 * BATCH].detach(), batch, features)
            seen["loss"] = loss.detach()

        def run():
            for i in range(BATCHES):
                step(batches[seen["turn"] * BATCHES + i])
            seen["turn"] += 1

        def check():
            return figures("loss", seen["loss"].view(1)) + figures("memory", model.memory)

        return run, check

    return prepare


@case("tgn_train")
def tgn_train():
    return {"every row": training(False)}


@case("tgn_train_distinct")
def tgn_train_distinct():
    return {"distinct nodes": training(True)}


@case("recent_neighbors")
def recent_neighbors():
    stream = Stream()
    batches = [(np.concatenate([stream.src[a : a + BATCH], stream.dst[a : a + BATCH], stream.negatives[a : a + BATCH]]),
                np.concatenate([stream.time[a : a + BATCH]] * 3)) for a in range(FIRST, FIRST + 20 * BATCH, BATCH)]

    def prepare():
        found = []

        def run():
            found[:] = [stream.recent(*batch) for batch in batches]

        def check():
            filled = np.concatenate([f[2].reshape(-1) for f in found])
            events = np.concatenate([f[1].reshape(-1) for f in found])
            return figures("events", torch.from_numpy(events[filled].astype(np.float64)))

        return run, check

    return {"numpy": prepare}
