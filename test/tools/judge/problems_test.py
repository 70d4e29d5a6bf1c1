# SPDX-License-Identifier: Apache-2.0
"""plumbnn.judge on problems of kernel benchmarks: right kernels in any order of summation are never rejected, and wrong
ones are.

    PYTHONPATH=build/release/python problems_test.py [--runs N] [--only PART_OF_A_NAME]
"""
import argparse
import collections
import pathlib
import sys
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import plumbnn  # noqa: E402
import problems  # noqa: E402


def call(problem, output, arithmetic, inputs=None):
    return plumbnn.judge(problem.op, inputs or problem.inputs, output, problem.attributes, arithmetic=arithmetic,
                         causes=False)


def right_kernels(problem, runs):
    """(what, inputs, output, arithmetic)"""
    floats = all(value.dtype == np.float32 for value in problem.inputs if value.dtype.kind == "f")
    for run in range(runs):
        sums = problems.Sums(problems.Sums.WAYS[run % 5], seed=run)
        form = ("f32", "f32", "f16", "tf32")[run % 4] if problem.products else ("f32", "f32", "f16")[run % 3]
        if form == "f16" and floats:
            stored = [v.astype(np.float16) if v.dtype == np.float32 else v for v in problem.inputs]
            wide = [v.astype(np.float32) if v.dtype == np.float16 else v for v in stored]
            output = np.asarray(problem.kernel(wide, problem.attributes, sums))
            if output.dtype.kind == "f":
                yield f"f16 {sums.way}", stored, output.astype(np.float32).astype(np.float16), "fp16"
                continue
        if form == "tf32" and problem.op in ("matmul", "einsum"):
            rounded = [problems.tf32(v) for v in problem.inputs]
            output = problem.kernel(rounded, problem.attributes, sums)
            yield f"tf32 {sums.way}", problem.inputs, np.asarray(output, np.float32), "tf32"
            continue
        output = np.asarray(problem.kernel(problem.inputs, problem.attributes, sums))
        if output.dtype == np.float64:
            output = output.astype(np.float32)
        yield f"f32 {sums.way}", problem.inputs, output, None


def other_inputs(problem, rng):
    def other(value):
        return rng.permutation(value.reshape(-1)).reshape(value.shape) if value.dtype.kind == "f" else value
    return [other(value) for value in problem.inputs]


def has_effect(right, output):
    """Not only rounding: a fault that changes nothing is none."""
    a, b = right.astype(np.float64), np.asarray(output).astype(np.float64)
    if output.dtype == np.float16:
        return bool((a.astype(np.float16) != output).mean() > 0.05)
    scale = np.abs(a) + np.abs(a).max() * 1e-3
    return bool((np.abs(a - b) > 2e-4 * scale).any())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=20, help="right kernels per problem")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    rng = np.random.default_rng(5)
    found = [p for p in problems.all_problems() if options.only in p.name]
    rejected, judged, missed = [], 0, []
    kinds = collections.Counter()
    caught = collections.Counter()
    start = time.monotonic()
    for problem in found:
        for what, inputs, output, arithmetic in right_kernels(problem, options.runs):
            judged += 1
            judgement = call(problem, output, arithmetic, inputs)
            if not judgement.aligned:
                rejected.append(f"{problem.name} {what}: {judgement}")
        right = np.asarray(problem.kernel(problem.inputs, problem.attributes, problems.Sums("halves")))
        right = right.astype(np.float32) if right.dtype == np.float64 else right
        other = np.asarray(problem.kernel(other_inputs(problem, rng), problem.attributes, problems.Sums("halves")))
        for kind, output, inputs in problems.faults(problem, right, other.astype(right.dtype), rng):
            if not has_effect(right, output):
                continue
            kinds[kind] += 1
            judgement = call(problem, output, None, inputs)
            if judgement.verdict == "wrong":
                caught[kind] += 1
            else:
                missed.append(f"{problem.name} {kind}: {judgement}")
    for line in rejected + missed:
        print(line)
    total = sum(kinds.values())
    for kind in kinds:
        print(f"{kind}: {caught[kind]} of {kinds[kind]} rejected")
    print(f"{len(found)} problems: {len(rejected)} of {judged} right kernels rejected, "
          f"{sum(caught.values())} of {total} "
          f"wrong ones ({time.monotonic() - start:.0f} s)")
    sys.exit(1 if rejected or sum(caught.values()) < 0.99 * total else 0)


if __name__ == "__main__":
    main()
