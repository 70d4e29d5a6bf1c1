#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""trace_check names what tracing burns in, and is silent about healthy modules; ConvSame computes TensorFlow's rule."""
import importlib.util
import os
import pathlib
import sys
import tempfile
import unittest

if "--work" in sys.argv:  # the slow test, which has a Python with PyTorch
    at = sys.argv.index("--work")
    sys.path.insert(0, str(pathlib.Path(os.environ["PLUMB_ROOT"]) / "test" / "tools" / "golden"))
    import packages
    packages.ensure(pathlib.Path(sys.argv[at + 1]) / "names_venv",  # of names_test, which installs the same
                    ["torch", "onnx", "onnxscript", "onnxruntime", "numpy"], ["torch", "numpy"])
    del sys.argv[at : at + 2]
if importlib.util.find_spec("torch") is None:
    print("skipped: there is no torch (the slow test brings it)")
    sys.exit(77)

import torch
from torch import nn

import numpy as np

import plumbnn
from plumbnn.torch import ConvSame, same_pads


class Branch(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x * 2
        return x.abs() + 1


class Shifted(nn.Module):
    def forward(self, x):
        return x.sub_(0.5).mul_(2)


class Root(nn.Module):
    def forward(self, x):
        if bool((x < 0).any()):
            raise ValueError("negative")
        return x.sqrt()


class Shaped(nn.Module):
    def forward(self, x):
        return x / float(x.shape[-1])


class Flat(nn.Module):
    """A batch that is a number of Python when it is traced."""

    def forward(self, x):
        return x.mean((2, 3)).reshape(int(x.shape[0]), 8)


class Net(nn.Module):
    def __init__(self, middle):
        super().__init__()
        self.conv, self.norm, self.middle = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), middle

    def forward(self, x):
        return torch.relu(self.middle(self.norm(self.conv(x))))


class TraceCheck(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)
        self.x = torch.rand(1, 3, 8, 8)

    def test_healthy(self):
        for middle in (nn.Identity(), nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.Dropout(0.5))):
            report = plumbnn.trace_check(Net(middle).eval(), self.x)
            self.assertTrue(report.ok, str(report))
            self.assertEqual(report.ways, ["traced", "exported", "onnx"], str(report))
            self.assertIn("another size", report.runs)

    def test_forgotten_eval(self):
        report = plumbnn.trace_check(Net(nn.Identity()).train(), self.x, ways=["traced"])
        self.assertEqual(report.findings[0].module, "norm", str(report))
        self.assertIn("forgotten eval()", report.findings[0].cause)

    def test_branch(self):
        net = Net(nn.Sequential(nn.Sigmoid(), nn.Identity(), Branch())).eval()
        with torch.no_grad():
            net.conv.weight.abs_()
            net.middle[0] = nn.Identity()
        report = plumbnn.trace_check(net, self.x, ways=["traced", "onnx"])
        self.assertEqual([finding.module for finding in report.findings], ["middle.2"] * 2, str(report))
        self.assertIn("a branch is burnt in", report.findings[0].cause)
        self.assertEqual(report.findings[0].where, f"test_trace.py:{line_of('if x.sum() > 0')}")
        self.assertIn("DIFFERENT", str(report))

    def test_what_writes_into_its_input(self):
        """Neither a difference, nor the module in front of it the first guilty one; inputs stay what they were."""
        given = self.x.clone()
        report = plumbnn.trace_check(nn.Sequential(Shifted(), nn.Conv2d(3, 4, 3)).eval(), given, ways=["traced"])
        self.assertTrue(report.ok, str(report))
        self.assertTrue(torch.equal(given, self.x))
        net = Net(nn.Sequential(nn.LeakyReLU(0.5, inplace=True), Branch())).eval()
        report = plumbnn.trace_check(net, self.x, ways=["traced"], more=[self.x, -self.x])
        self.assertEqual([finding.module for finding in report.findings], ["middle.1"], str(report))

    def test_values_that_the_module_refuses(self):
        report = plumbnn.trace_check(Root().eval(), self.x, ways=["traced"])
        self.assertTrue(report.ok, str(report))
        self.assertNotIn("another input", report.runs)

    def test_shape(self):
        report = plumbnn.trace_check(Net(nn.Sequential(nn.Identity(), Shaped())).eval(), self.x, ways=["traced"])
        self.assertEqual(report.findings[0].module, "middle.1", str(report))
        self.assertIn("a shape is burnt in", report.findings[0].cause)
        self.assertEqual(report.findings[0].run, "another size")
        self.assertIn(f"test_trace.py:{line_of('float(x.shape')}", report.findings[0].where)
        report = plumbnn.trace_check(Net(Flat()).eval(), self.x, ways=["traced"])
        self.assertEqual((report.findings[0].run, report.findings[0].module), ("another batch", "middle"), str(report))

    def test_script_file(self):
        net = Net(nn.Identity()).eval()
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "net.pt"
            torch.jit.trace(net, self.x).save(str(path))
            self.assertTrue(plumbnn.trace_check(net, self.x, ways=[], script=path).ok)
            with torch.no_grad():
                net.conv.bias.add_(0.5)
            report = plumbnn.trace_check(net, self.x, ways=[], script=path)
        self.assertEqual(report.findings[0].way, "file")

    def test_bad_input(self):
        with self.assertRaisesRegex(plumbnn.Error, "cannot run on the inputs"):
            plumbnn.trace_check(Net(nn.Identity()), torch.rand(1, 4, 8, 8))
        with self.assertRaisesRegex(plumbnn.Error, "ways are traced"):
            plumbnn.trace_check(Net(nn.Identity()), self.x, ways=["jit"])
        with self.assertRaisesRegex(plumbnn.Error, r"cannot run on the inputs \(more\[0\]\)"):
            plumbnn.trace_check(Net(nn.Identity()), self.x, ways=[], more=[torch.rand(1, 4, 8, 8)])
        with self.assertRaisesRegex(plumbnn.Error, "inputs: expected tensors"):
            plumbnn.trace_check(Net(nn.Identity()), [1, 2])
        with self.assertRaisesRegex(plumbnn.Error, "'none.pt' is no TorchScript file"):
            plumbnn.trace_check(Net(nn.Identity()), self.x, ways=[], script="none.pt")


class Same(unittest.TestCase):
    def test_pads(self):
        self.assertEqual(same_pads(7, 3, 2, 1), (1, 1))
        self.assertEqual(same_pads(8, 3, 2, 1), (0, 1))
        self.assertEqual(same_pads(8, 2, 1, 1), (0, 1))
        self.assertEqual(same_pads(8, 1, 3, 1), (0, 0))
        self.assertEqual(same_pads(5, 3, 1, 4), (4, 4))

    def test_by_plain_loops(self):
        conv = ConvSame(1, 1, (2, 3), stride=(2, 1), dilation=(1, 2), bias=False).double()
        x = torch.rand(1, 1, 5, 6, dtype=torch.float64)
        found = conv(x).detach().numpy()[0, 0]
        (top, _), (left, _) = same_pads(5, 2, 2, 1), same_pads(6, 3, 1, 2)
        wanted = np.zeros((3, 6))
        for i, j in np.ndindex(3, 6):
            for k, m in np.ndindex(2, 3):
                row, column = i * 2 - top + k, j - left + 2 * m
                if 0 <= row < 5 and 0 <= column < 6:
                    wanted[i, j] += float(x[0, 0, row, column] * conv.weight[0, 0, k, m])
        np.testing.assert_allclose(found, wanted, rtol=1e-12)

    def test_valid_and_what_is_refused(self):
        conv = ConvSame(2, 4, 3, padding="valid", groups=2)
        self.assertEqual(conv(torch.rand(1, 2, 5, 5)).shape, (1, 4, 3, 3))
        conv.load_state_dict(nn.Conv2d(2, 4, 3, groups=2).state_dict())
        self.assertEqual(ConvSame(2, 3, (5,), stride=2)(torch.rand(1, 2, 9)).shape, (1, 3, 5))
        with self.assertRaisesRegex(ValueError, "SAME or VALID"):
            ConvSame(1, 1, 3, padding="FULL")


def line_of(text):
    lines = pathlib.Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(i for i, line in enumerate(lines, 1) if text in line)


if __name__ == "__main__":
    unittest.main()
