"""The cases of bench/suites/predict.ts in PyTorch and NumPy: a product and the largest of its values."""
import numpy as np
import torch

from inputs import figures, floats

NODES, WIDTH, BEST = 1_000_000, 128, 10

cases = {}


def largest(scores):
    """The largest of each row, largest first, by NumPy."""
    part = np.partition(scores, scores.shape[1] - BEST, axis=1)[:, -BEST:]
    return torch.from_numpy(-np.sort(-part, axis=1))


def ways(works):
    def prepared(work):
        state = {}

        def run():
            state["scores"] = work()

        return lambda: (run, lambda: figures("scores", state["scores"].reshape(-1)))

    return {name: prepared(work) for name, work in works.items()}


def rank(queries):
    def make():
        rows, asked = floats(1, [NODES, WIDTH]), floats(2, [queries, WIDTH])
        numpy_rows, numpy_asked = rows.numpy(), asked.numpy()
        return ways(
            {
                "torch rows @ queries": lambda: (rows @ asked.T).topk(BEST, 0).values.T,
                "torch queries @ rows": lambda: (asked @ rows.T).topk(BEST, 1).values,
                "numpy": lambda: largest((numpy_rows @ numpy_asked.T).T),
            }
        )

    return make


for count in (1, 16, 64):
    cases[f"rank_1m_128_x{count}"] = rank(count)


def select():
    scores = floats(3, [NODES, 16])
    return ways(
        {
            "torch": lambda: scores.topk(BEST, 0).values.T,
            "numpy": lambda: largest(scores.numpy().T),
        }
    )


cases["select_1m_x16"] = select
