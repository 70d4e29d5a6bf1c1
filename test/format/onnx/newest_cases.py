"""The node cases that the newest onnx of PyPI generates, written as libonnx-testdata's are, and run by onnx_backend_test.

    newest_cases.py --test build/release/bin/onnx_backend_test --work build/release/onnx_newest --list FILE [--write-list]
"""
import argparse
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools" / "golden"))
import packages  # noqa: E402

ONNX = "onnx==1.23.2"


def to_proto(value):
    import numpy as np
    import onnx
    from onnx import numpy_helper
    if isinstance(value, onnx.TensorProto):
        return value
    if isinstance(value, list):
        return numpy_helper.from_list(value)
    if value is None:
        return numpy_helper.from_optional(value)
    return numpy_helper.from_array(np.asarray(value))


def write(folder):
    """Writes every case; returns how many."""
    from onnx.backend.test.case.node import collect_testcases
    cases = collect_testcases(None)
    for case in cases:
        data = folder / "node" / case.name / "test_data_set_0"
        data.mkdir(parents=True, exist_ok=True)
        (data.parent / "model.onnx").write_bytes(case.model.SerializeToString())
        for kind, values in zip(("input", "output"), case.data_sets[0]):
            for number, value in enumerate(values):
                (data / f"{kind}_{number}.pb").write_bytes(to_proto(value).SerializeToString())
    return len(cases)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--test", required=True)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--list", required=True)
    parser.add_argument("--write-list", action="store_true")
    options = parser.parse_args()
    packages.ensure(options.work / "venv", [ONNX, "numpy"], ["onnx.backend.test.case.node"])
    print(f"{write(options.work / 'data')} cases of {ONNX}")
    environment = {**os.environ, "PLUMB_ONNX_DATA": str(options.work / "data"), "PLUMB_ONNX_UNSUPPORTED": options.list}
    if options.write_list:
        environment["PLUMB_ONNX_LIST"] = options.list
    sys.exit(subprocess.run([options.test, "--gtest_filter=*Naive"] if options.write_list else [options.test], env=environment).returncode)


if __name__ == "__main__":
    main()
