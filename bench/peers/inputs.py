"""Seeded inputs with the same bits as bench/inputs.ts, and the same figures of results."""
import numpy as np
import torch

BLOCK_LENGTH = 1_000_003


def mix(n, seed):
    h = np.arange(n, dtype=np.uint32) + np.uint32(seed * 0x9E3779B9 & 0xFFFFFFFF)
    h = (h ^ (h >> np.uint32(16))) * np.uint32(0x7FEB352D)
    h = (h ^ (h >> np.uint32(15))) * np.uint32(0x846CA68B)
    return h ^ (h >> np.uint32(16))


def floats(seed, shape, scale=1):
    """f32 values in [-scale, scale)."""
    out = torch.empty(*shape)
    flat = out.view(-1)
    n = flat.numel()
    bits = mix(min(BLOCK_LENGTH, n), seed) >> np.uint32(8)
    block = torch.from_numpy(((bits / 2.0**23 - 1) * scale).astype(np.float32))
    for at in range(0, n, len(block)):
        flat[at : at + len(block)] = block[: n - at]
    return out


def integers(seed, n, below, dtype=torch.int64):
    """Integers in [0, below)."""
    values = (mix(n, seed).astype(np.uint64) * np.uint64(below)) >> np.uint64(32)
    return torch.from_numpy(values.astype(np.int64)).to(dtype)


def figures(name, values):
    """Sum and a few elements of a result."""
    flat = values.detach().reshape(-1)
    n = flat.numel()
    size = flat.abs().sum(dtype=torch.float64).item()
    checks = [{"name": f"sum of {name}", "value": flat.sum(dtype=torch.float64).item(), "scale": size}]
    for part in range(8):
        i = n * (2 * part + 1) // 16
        value = flat[i].item()
        checks.append({"name": f"{name}[{i}]", "value": value, "scale": abs(value) + size / n})
    return checks


def distribution(name, values):
    """Figures of random results, which agree in distribution only."""
    flat = values.detach().reshape(-1).to(torch.float64)
    deviation = flat.square().mean().sqrt().item()
    return [
        {"name": f"mean of {name}", "value": flat.mean().item(), "scale": deviation},
        {"name": f"root mean square of {name}", "value": deviation, "scale": deviation},
        {"name": f"share of zeros of {name}", "value": (flat == 0).double().mean().item(), "scale": 1},
    ]
