# SPDX-License-Identifier: Apache-2.0
"""The cases of the newest onnx of PyPI, run by onnx_backend_test: the node cases that it generates, written as
libonnx-testdata's are; the models that it ships (simple, pytorch-converted, pytorch-operator); and its nine light
networks, whose weights are constants.

    newest_cases.py --test build/release/test-bin/onnx_backend_test --work build/release/onnx_newest --list FILE
    [--write-list]
"""
import argparse
import os
import pathlib
import shutil
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


def copy_models(folder):
    """The cases that lie in the wheel; returns how many."""
    import onnx.backend.test
    data = pathlib.Path(onnx.backend.test.__file__).parent / "data"
    for group in ("simple", "pytorch-converted", "pytorch-operator"):
        shutil.copytree(data / group, folder / group, dirs_exist_ok=True)
    for model in (data / "light").glob("*.onnx"):
        write_light(model, folder / "light" / model.stem / "test_data_set_0")
    return sum(1 for _ in folder.glob("*/*/model.onnx"))


def write_light(model, data):
    """A light network with the input that the suite gives it: 0, 1/n, 2/n ..."""
    import numpy as np
    import onnx
    from onnx import numpy_helper
    data.mkdir(parents=True, exist_ok=True)
    shutil.copy(model, data.parent / "model.onnx")
    shutil.copy(model.with_name(model.stem + "_output_0.pb"), data / "output_0.pb")
    loaded = onnx.load(str(model))
    weights = {constant.name for constant in loaded.graph.initializer}
    given = next(i for i in loaded.graph.input if i.name not in weights)
    shape = [d.dim_value for d in given.type.tensor_type.shape.dim]
    count = int(np.prod(shape))
    values = (np.arange(count).reshape(shape) / count).astype(np.float32)
    (data / "input_0.pb").write_bytes(numpy_helper.from_array(values).SerializeToString())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--test", required=True)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--list", required=True)
    parser.add_argument("--write-list", action="store_true")
    options = parser.parse_args()
    packages.ensure(options.work / "venv", [ONNX, "numpy"], ["onnx.backend.test.case.node"])
    generated = write(options.work / "data")
    print(f"{generated} generated cases of {ONNX}, {copy_models(options.work / 'data')} cases altogether")
    environment = {**os.environ, "PLUMB_ONNX_DATA": str(options.work / "data"), "PLUMB_ONNX_UNSUPPORTED": options.list}
    if options.write_list:
        environment["PLUMB_ONNX_LIST"] = options.list
    sys.exit(subprocess.run([options.test, "--gtest_filter=*Naive"] if options.write_list else [options.test],
                            env=environment).returncode)


if __name__ == "__main__":
    main()
