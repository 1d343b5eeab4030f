"""Measures one case of a suite in PyTorch: runner.py <suite> <case> <threads> <checked runs>.

A suite is a module next to this file whose `cases` maps a name to a function that creates the data and returns the ways to
do the work, as {way: prepare}; `prepare()` gives (run, check) from fresh state. Every way is measured, and the fastest
counts. Prints one line of JSON.
"""
import importlib
import json
import os
import resource
import sys
import time

import torch

WARM_UP_SECONDS = 0.2
MEASURED_SECONDS = 0.3
LEAST_REPEATS = int(os.environ.get("SKEIN_BENCH_REPEATS", 5))


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def measure(run):
    start = time.perf_counter()
    while time.perf_counter() - start < WARM_UP_SECONDS:
        run()
    times = []
    start = time.perf_counter()
    while len(times) < LEAST_REPEATS or time.perf_counter() - start < MEASURED_SECONDS:
        before = time.perf_counter()
        run()
        times.append((time.perf_counter() - before) * 1e3)
    return {"ms": median(times), "best": min(times)}


def main():
    suite, case, threads, checked_runs = sys.argv[1:5]
    torch.set_num_threads(int(threads))
    torch.manual_seed(1)
    ways = importlib.import_module(suite).cases[case]()
    results = []
    for way, prepare in ways.items():
        run, check = prepare()
        for _ in range(int(checked_runs)):
            run()
        checks = check()
        results.append({**measure(run), "way": way, "checks": checks})
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    best = min(results, key=lambda result: result["ms"])
    print(json.dumps({**best, "peak": peak}))


main()
