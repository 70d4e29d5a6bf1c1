# SPDX-License-Identifier: Apache-2.0
"""model_convert -align of .tflite networks of integers: the files are proved equal step by step, and files with other
weights are not.

    proof_test.py --bin build/release/bin --work build/release/golden_test
"""
import argparse
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = HERE.parents[2] / "tools" / "python"
sys.path[:0] = [str(HERE), str(HERE.parent / "golden"), str(PYTHON)]
import packages  # noqa: E402

FAILED = []


def convert(options, model, *more):
    """(exit code, the output)."""
    command = [f"{options.bin}/model_convert", str(model), "-o", str(options.work / "proved"), "-align", "-q", *more]
    done = subprocess.run(command, capture_output=True, text=True,
                          env=dict(os.environ, PLUMB_PYTHON=sys.executable, PYTHONPATH=str(PYTHON)))
    return done.returncode, done.stdout + done.stderr


def expect(condition, what, output):
    print(f"{'ok  ' if condition else 'FAIL'} {what}: {output.strip().splitlines()[-1][:200]}")
    if not condition:
        FAILED.append(what)
        print(output)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    options = parser.parse_args()
    packages.ensure(options.work / "litert", ["ai-edge-litert==2.3.0", "numpy"], ["ai_edge_litert", "numpy"])
    import integer_networks
    options.work = options.work / "tflite_proof"
    options.work.mkdir(parents=True, exist_ok=True)
    for name, build in integer_networks.NETWORKS.items():
        for dtype in ("int8", "uint8", "int16"):
            plan = build(dtype, False)
            if plan is None:
                continue
            path = options.work / f"{name}.{dtype}.tflite"
            path.write_bytes(plan.build()[0])
            code, output = convert(options, path, "-d", "X86")
            # Steps of 16 bits are below the tolerance of floats.
            steps = dtype == "int16" or "step by step: LiteRT's tensors" in output
            expect(code == 0 and "proved equal" in output and steps, f"{path.name} is proved equal", output)
            code, output = convert(options, path, "--random-weights")
            named = "the first step that is wrong: layer" in output
            expect(name == "filters" or (code == 1 and "NOT equal" in output and named),
                   f"{path.name} with other weights is not", output)
    print("failed: " + ", ".join(FAILED) if FAILED else "right files are proved equal, others are not")
    sys.exit(bool(FAILED))


main()
