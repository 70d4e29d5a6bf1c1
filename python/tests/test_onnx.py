# SPDX-License-Identifier: Apache-2.0
"""An .onnx beside ONNX Runtime, which runs in a child process: golden="onnxruntime", and `align`."""

import os
import pathlib
import sys
import tempfile
import unittest

try:
    import numpy as np
    import onnx
    import onnxruntime  # noqa: F401
    from onnx import TensorProto, helper, numpy_helper
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

import plumbnn


def network(path, scale=1.0):
    """Conv, Relu, GlobalAveragePool, Flatten; the second filter times `scale`."""
    weights = np.random.default_rng(7).standard_normal((4, 2, 3, 3)).astype(np.float32)
    weights[1] *= scale
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], "conv", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"], "relu"),
        helper.make_node("GlobalAveragePool", ["r"], ["p"], "pool"),
        helper.make_node("Flatten", ["p"], ["y"], "flatten"),
    ]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4])],
        [numpy_helper.from_array(weights, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, path)
    return str(path)


class OnnxTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.model = network(self.folder / "net.onnx")

    def test_the_golden_is_made_on_the_inputs_of_the_check(self):
        x = np.random.default_rng(3).standard_normal((1, 2, 8, 8)).astype(np.float32)
        report = plumbnn.check(self.model, ["NAIVE"], {"x": x}, golden="onnxruntime")
        self.assertEqual(report.verdicts, {"golden": "aligned", "NAIVE": "aligned"})
        golden = report["golden"].outputs["y"]
        np.testing.assert_allclose(golden, plumbnn.run(self.model, {"x": x}, "NAIVE")["y"], 1e-5)

    def test_a_python_without_onnx_runtime_is_said(self):
        os.environ["PLUMB_PYTHON"] = "/bin/false"
        self.addCleanup(os.environ.pop, "PLUMB_PYTHON")
        with self.assertRaises(plumbnn.Error) as raised:
            plumbnn.check(self.model, ["NAIVE"], golden="onnxruntime")
        self.assertEqual(raised.exception.code, "InvalidArgument")
        self.assertIn("golden='onnxruntime'", str(raised.exception))
        self.assertNotIn("SessionOptions", str(raised.exception))

    def test_align_proves_a_conversion(self):
        converted = plumbnn.convert(self.model, self.folder / "net")
        found = plumbnn.align(self.model, converted.proto, every_layer=True)
        self.assertTrue(found.equal)
        self.assertIn("onnxruntime", found.original.lower().replace(" ", ""))
        (naive,) = found.devices
        self.assertEqual((naive.device, naive.first_different), ("NAIVE", None))
        self.assertGreater(len(naive.layers), 1)

    def test_align_names_the_first_operator_that_differs(self):
        other = network(self.folder / "other.onnx", scale=1.01)
        found = plumbnn.align(self.model, other)
        self.assertFalse(found.equal)
        (naive,) = found.devices
        self.assertEqual(naive.first_different["nodes"][0], "conv")
        self.assertGreater(naive.first_different["max_abs"], 0)


if __name__ == "__main__":
    unittest.main()
