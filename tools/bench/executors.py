#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times many samples of one network, shared out: in a loop, in processes, on a Ray of this machine (where it is
installed). Seconds of all, milliseconds a sample, the least of some rounds; the results must be the same bytes. It
prints the table of doc/many_samples.md.

    PYTHONPATH=build/release/python tools/bench/executors.py [--model M --shape NAME=1,3,227,227] [--samples 400]
"""
import argparse
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]


def once(options, samples, results, executor, workers):
    """Seconds of one call of model_check."""
    results.unlink(missing_ok=True)
    command = [options.bin / "model_check", "-m", options.model, "-d", options.device, "--shape", options.shape,
               "--inputs", samples, "--samples-only", "-q", "--results", results, "--executor", executor,
               "--workers", workers]
    begin = time.monotonic()
    done = subprocess.run([str(w) for w in command], capture_output=True, text=True,
                          env={**os.environ, "PLUMB_PYTHON": sys.executable})
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} exited with {done.returncode}: {done.stdout}{done.stderr}")
    return time.monotonic() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=ROOT / "build/release/bin", type=pathlib.Path, help="folder of model_check")
    parser.add_argument("--model", default=ROOT / "examples/squeezenet/squeezenet.tnnproto", help="with one input")
    parser.add_argument("--shape", default="input=1,3,227,227", help="of its input")
    parser.add_argument("--device", default="X86")
    parser.add_argument("--samples", default=400, type=int)
    parser.add_argument("--rounds", default=2, type=int)
    parser.add_argument("--workers", default="1,2,4")
    options = parser.parse_args()
    name, _, dims = options.shape.partition("=")
    shape = [int(d) for d in dims.split(",")]
    rows = [("loop", 1)] + [("processes", int(w)) for w in options.workers.split(",")]
    if importlib.util.find_spec("ray"):
        rows += [("ray", int(w)) for w in options.workers.split(",")]
    least = {}
    with tempfile.TemporaryDirectory() as folder:
        samples, results = pathlib.Path(folder) / "samples.npz", pathlib.Path(folder) / "results.jsonl"
        values = np.random.default_rng(1).uniform(-1, 1, [options.samples * shape[0], *shape[1:]])
        np.savez(samples, **{name: values.astype(np.float32)})
        expected = None
        for _ in range(options.rounds):
            for row in rows:
                seconds = once(options, samples, results, *row)
                least[row] = min(least.get(row, 1e9), seconds)
                found = results.read_bytes()
                expected = expected or found
                if found != expected:
                    sys.exit(f"{row}: other results than {rows[0]}")
    print(f"{options.samples} samples, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.0f}; the same bytes from all\n")
    print("| executor | workers | seconds | ms a sample | of the loop |\n|---|---|---|---|---|")
    for (executor, workers), seconds in least.items():
        print(f"| {executor} | {workers} | {seconds:.1f} | {1e3 * seconds / options.samples:.0f} "
              f"| {seconds / least[rows[0]]:.2f} |")


if __name__ == "__main__":
    main()
