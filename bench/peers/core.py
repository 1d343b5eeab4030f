"""Prints which kernels the loaded BLAS uses and how fast a product runs with them: core.py <threads>."""
import ctypes
import json
import sys
import time

import torch


def core_name():
    """OpenBLAS's name of its kernels; None for another BLAS."""
    with open("/proc/self/maps") as maps:
        paths = {line.split()[-1] for line in maps if "libopenblas" in line}
    for path in paths:
        name = ctypes.CDLL(path).openblas_get_corename
        name.restype = ctypes.c_char_p
        return name().decode()
    return None


torch.set_num_threads(int(sys.argv[1]))
a, b = torch.rand(1024, 1024), torch.rand(1024, 1024)
out = torch.empty(1024, 1024)
times = []
for _ in range(12):
    start = time.perf_counter()
    torch.mm(a, b, out=out)
    times.append(time.perf_counter() - start)
print(json.dumps({"core": core_name(), "gflops": 2 * 1024**3 / min(times) / 1e9}))
