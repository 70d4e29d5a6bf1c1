# SPDX-License-Identifier: Apache-2.0
"""plumb-golden --graph: what pnnx and MNN write, as an .onnx. Needs numpy and onnx, and no framework."""
import io
import pathlib
import struct
import sys
import tempfile
import unittest
import zipfile

import numpy_python  # noqa: F401  (a Python that has numpy)
import numpy as np

try:
    import onnx.helper
    import onnx.numpy_helper  # a folder of that name is a package, too, but has no modules
except Exception:  # not there, or of another protobuf
    onnx = None

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from plumb_golden import mnn_graph, pnnx_graph  # noqa: E402
from plumb_golden.cli import main  # noqa: E402
from plumb_golden.own_graph import STEP, OwnGraph  # noqa: E402

PARAM = """7767517
6 5
pnnx.Input in0 0 1 0 #0=(1,2,4,4)f32
nn.Conv2d conv 1 1 0 1 bias=True dilation=(1,1) groups=1 kernel_size=(1,1) padding=(0,0) padding_mode=zeros \
stride=(1,1) @bias=(3)f32 @weight=(3,2,1,1)f32 $input=0 #0=(1,2,4,4)f32 #1=(1,3,4,4)f32
F.silu act 1 1 1 2 $input=1 #1=(1,3,4,4)f32 #2=(1,3,4,4)f32
pnnx.Expression expr 2 1 1 2 3 expr=add(mul(@0,2.5),@1) #1=(1,3,4,4)f32 #2=(1,3,4,4)f32 #3=(1,3,4,4)f32
Tensor.slice cut 1 1 3 4 dim=1 end=2147483647 start=-2 step=1 $input=3 #3=(1,3,4,4)f32 #4=(1,2,4,4)f32
pnnx.Output out0 1 0 4 #4=(1,2,4,4)f32
"""
MNN_GRAPH = {
    "tensorName": ["x", "size", "flat", "product", "same", "shape"], "outputName": ["same"],
    "oplists": [
        {"type": "Input", "outputIndexes": [0]},
        {"type": "Const", "outputIndexes": [1]},
        {"type": "Shape", "inputIndexes": [0], "outputIndexes": [5]},
        {"type": "Reshape", "inputIndexes": [0, 1], "outputIndexes": [2]},
        {"type": "Convolution", "inputIndexes": [2], "outputIndexes": [3], "main": {
            "common": {"padX": 0, "padY": 0, "kernelX": 1, "kernelY": 1, "strideX": 1, "strideY": 1, "dilateX": 1,
                       "dilateY": 1, "padMode": "CAFFE", "group": 1, "outputCount": 3, "inputCount": 4, "relu": True,
                       "relu6": False}, "external": [4, 48, 12]}},
        {"type": "ConvertTensor", "inputIndexes": [3], "outputIndexes": [4]},
    ]}
VALUES = {"x": np.zeros((2, 4), np.float32), "flat": np.zeros((2, 4, 1, 1), np.float32),
          "product": np.zeros((2, 3, 1, 1), np.float32), "same": np.zeros((2, 3, 1, 1), np.float32),
          "shape": np.array([2, 4], np.int32)}


def kinds(graph):
    return [node.op_type for node in graph.nodes]


@unittest.skipUnless(onnx, "onnx is not installed")
class OwnGraphTest(unittest.TestCase):
    def archive(self, **arrays):
        data = io.BytesIO()
        with zipfile.ZipFile(data, "w") as file:
            for name, array in arrays.items():
                file.writestr(f"conv.{name}", array.astype(np.float32).tobytes())
        return zipfile.ZipFile(data)

    def pnnx(self, param):
        with self.archive(weight=np.arange(6), bias=np.ones(3)) as archive:
            return pnnx_graph.Translation(onnx, param, archive)

    def test_pnnx(self):
        graph = self.pnnx(PARAM).graph
        self.assertEqual(kinds(graph), ["Conv", "Sigmoid", "Mul", "Mul", "Add", "Slice"])
        self.assertEqual([node.output[0] for node in graph.nodes if not node.output[0].startswith(STEP)],
                         ["1", "2", "3", "4"])
        weights = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.constants}
        self.assertEqual(weights[graph.nodes[0].input[1]].tolist(), np.arange(6).reshape(3, 2, 1, 1).tolist())
        self.assertIn(2.5, [float(value) for value in weights.values() if value.ndim == 0])

    def test_unknown_operators_are_named(self):
        for line in ("nn.LSTM lstm 1 1 0 1 #0=(1,2)f32", "torch.cat cat 1 1 0 1 #0=(1,2)f32"):  # the second lacks dim
            self.assertEqual(self.pnnx(f"7767517\n1 1\n{line}\n").unknown, {line.split()[0]})

    def test_mnn(self):
        weights = b"\0" * 4 + np.arange(15, dtype=np.float32).tobytes()
        done = mnn_graph.Translation(onnx, MNN_GRAPH, None, weights, {"size": np.array([2, 4, 1, 1], np.int32)},
                                     VALUES.__getitem__)
        self.assertEqual(done.unknown, set())
        self.assertEqual(kinds(done.graph), ["Reshape", "Conv", "Relu", "Identity"])
        self.assertEqual([node.output[0] for node in done.graph.nodes[2:]], ["product", "same"])
        arrays = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in done.graph.constants}
        self.assertEqual(arrays[done.graph.nodes[1].input[1]].shape, (3, 4, 1, 1))
        self.assertEqual(arrays[done.graph.nodes[1].input[2]].tolist(), [12, 13, 14])
        self.assertEqual(arrays["shape"].tolist(), [2, 4])  # follows from shapes: a constant

    def test_a_file_holds_no_steps_as_names(self):
        with tempfile.TemporaryDirectory() as work:
            path = pathlib.Path(work) / "own.onnx"
            self.assertEqual(self.pnnx(PARAM).graph.save(path), {"1", "2", "3", "4"})
            onnx.checker.check_model(str(path))

    def test_a_file_that_is_there_stays(self):
        with tempfile.TemporaryDirectory() as work:
            model, there = pathlib.Path(work) / "net.onnx", pathlib.Path(work) / "own.onnx"
            for path in (model, there):
                path.write_bytes(b"x")
            for command in ("mnn", "ncnn"):
                self.assertEqual(main([command, str(model), "--graph", str(there)]), 2)
                self.assertEqual(main([command, str(model), "--graph", f"{there}2", "--threads", "2"]), 2)
            self.assertEqual(there.read_bytes(), b"x")

    def test_numbers_of_an_operator(self):
        """A .mnn by hand: a net with a list of one operator, whose particular table has one number."""
        net, tables = [16, 12, 8, 0, 0, 0, 4, 12, 4], [1, 16, 10, 8, 0, 0, 4, 12, 12, 6, 8, 4, 8]
        operators = mnn_graph.Operators(struct.pack("<I6HiIII5H2xiI3H2xif", *net, *tables, 1e-10))
        self.assertAlmostEqual(operators.number(0, 0, 6.0), 1e-10, places=16)
        self.assertEqual(operators.number(0, 1, 6.0), 6.0)  # not there: its default


if __name__ == "__main__":
    unittest.main()
