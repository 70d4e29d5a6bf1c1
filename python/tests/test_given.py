# SPDX-License-Identifier: Apache-2.0
"""What callers hand in: one array, one device, bytes, a torch module, and what is none of these: each works or is one
sentence of plumbnn.Error. And what notebooks show.

Needs numpy, the package on the path, and $PLUMB_BIN_DIR and $PLUMB_ROOT (ctest sets all of it); torch for its modules,
onnx for what reads models in memory.
"""

import html.parser
import importlib.util
import io
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import numpy as np

import plumbnn

ROOT = pathlib.Path(os.environ["PLUMB_ROOT"])
BIN = pathlib.Path(os.environ["PLUMB_BIN_DIR"])
DIGITS = str(ROOT / "examples/digits/digits.tnnproto")
IMAGE = np.random.default_rng(3).random((1, 1, 8, 8), dtype=np.float32)


def relu_model(dims=(1, 3, 4)):
    import onnx
    from onnx import TensorProto, helper

    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"], "relu")],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, dims)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    return model.SerializeToString()


class GivenTest(unittest.TestCase):
    def test_one_array_is_the_only_inputs(self):
        named = plumbnn.run(DIGITS, {"input": IMAGE}, "NAIVE")["prob"]
        for found in (
            plumbnn.run(DIGITS, IMAGE, "NAIVE")["prob"],
            plumbnn.run(DIGITS, IMAGE, device="naive")["prob"],
            plumbnn.Network(DIGITS, "NAIVE").run(IMAGE)["prob"],
        ):
            np.testing.assert_array_equal(found, named)
        report = plumbnn.check(DIGITS, device="NAIVE", inputs=IMAGE)
        self.assertTrue(report.aligned)
        np.testing.assert_array_equal(report["NAIVE"].outputs["prob"], named)
        self.assertIn("X86, NAIVE", f"X86, {', '.join(plumbnn.check(DIGITS, 'naive').verdicts)}")
        with tempfile.TemporaryDirectory() as folder:
            plumbnn.dump(DIGITS, folder + "/d", IMAGE, "NAIVE")

    def test_a_probe_is_said_and_reproduced(self):
        report = plumbnn.check(DIGITS, device="NAIVE", probe=True)
        self.assertTrue(report.aligned)
        self.assertTrue(report.json["inputs"][1].startswith("probe: "), report.json["inputs"])
        self.assertIn(" --probe", report.json["reproduce"])
        with self.assertRaisesRegex(plumbnn.Error, "^probe draws the network inputs, and they are given"):
            plumbnn.check(DIGITS, device="NAIVE", inputs=IMAGE, probe=True)

    def test_wrong_types_are_one_sentence(self):
        mistakes = [
            (lambda: plumbnn.load(3), "model: expected a path, found int"),
            (lambda: plumbnn.load(None), "model: expected a path, found NoneType"),
            (lambda: plumbnn.check(["a.onnx"]), "model: expected a path, found list"),
            (lambda: plumbnn.load(DIGITS, weights=1), "weights: expected a path, found int"),
            (lambda: plumbnn.load(DIGITS, shapes=[1, 2]), "shapes: expected a dict such as"),
            (lambda: plumbnn.load(DIGITS, shapes={"input": 4}), "shapes of 'input': expected a shape"),
            (lambda: plumbnn.load(DIGITS, shapes={"input": (1, 1.5)}), "expected a whole number, found float"),
            (lambda: plumbnn.load(DIGITS, constants=3), "constants: expected a dict of arrays"),
            (lambda: plumbnn.load(DIGITS, seed="one"), "seed: expected a whole number, found str"),
            (lambda: plumbnn.run(DIGITS, "picture.png", "NAIVE"), "inputs: expected an array, or a dict"),
            (lambda: plumbnn.run(DIGITS, {"input": "x"}, "NAIVE"), "'input': expected an array of numbers"),
            (lambda: plumbnn.run(DIGITS, IMAGE, 86), "device: expected a device such as"),
            (lambda: plumbnn.run(DIGITS, IMAGE, ["NAIVE", "X86"]), "device: one is run on at a time"),
            (lambda: plumbnn.check(DIGITS, devices=[]), "expected a device, found an empty list"),
            (lambda: plumbnn.check(DIGITS, devices=3), "devices: expected a device such as"),
            (lambda: plumbnn.check(DIGITS, "NAIVE", device="NAIVE"), "are one argument; give one"),
            (lambda: plumbnn.check(DIGITS, devcies="NAIVE"), "there is no argument 'devcies'"),
            (lambda: plumbnn.check(DIGITS, thraeds=2), "did you mean 'threads'?"),
            (lambda: plumbnn.Network(DIGITS, thraeds=2), "did you mean 'threads'?"),
            (lambda: plumbnn.run(DIGITS, IMAGE, "NAIVE", precision=1), "precision: expected a word"),
            (lambda: plumbnn.run(DIGITS, IMAGE, "NAIVE", threads=1.5), "threads: expected a whole number"),
            (lambda: plumbnn.check(DIGITS, "NAIVE", subject=3), "subject or golden: expected a path"),
            (lambda: plumbnn.convert(DIGITS, 5), "prefix: expected a path"),
            (lambda: plumbnn.convert(DIGITS, "p", tnnmodel_version=7), "tnnmodel_version: expected 1 or 2"),
            (lambda: plumbnn.diff(1, "b"), "a: expected a path, found int"),
            (lambda: plumbnn.dump(DIGITS, 3), "folder: expected a path, found int"),
            (lambda: plumbnn.load(b"no model at all"), "model.onnx"),
        ]
        for call, said in mistakes:
            with self.assertRaises(plumbnn.Error, msg=said) as caught:
                call()
            self.assertIn(said, str(caught.exception))
            self.assertNotIn("\n", str(caught.exception))

    @unittest.skipUnless(importlib.util.find_spec("onnx"), "there is no onnx")
    def test_an_onnx_in_memory(self):
        x = np.linspace(-1, 1, 12, dtype=np.float32).reshape(1, 3, 4)
        onnx = relu_model()
        np.testing.assert_array_equal(plumbnn.run(onnx, x, "NAIVE")["y"], np.maximum(x, 0))
        model = plumbnn.load(onnx)
        self.assertEqual(repr(model), "<plumbnn model in memory: x [1, 3, 4] -> y>")
        report = plumbnn.check(model, "NAIVE", x)
        self.assertTrue(report.aligned)
        wrong = {"x": x, "y": np.maximum(x, 0) + np.float32(0.5)}
        with self.assertRaises(plumbnn.MisalignedError) as caught:
            plumbnn.assert_aligned(onnx, subject=wrong)
        command = re.search(r"Reproduce: model_check (-m \S+.*)", str(caught.exception)).group(1)
        done = subprocess.run(
            f"{BIN}/model_check {command}", shell=True, capture_output=True, text=True, check=False
        )
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("FAILED: subject wrong at 'relu'", done.stdout)
        for path in caught.exception.report.save_inputs():
            os.unlink(path)

    @unittest.skipUnless(importlib.util.find_spec("onnx"), "there is no onnx")
    def test_open_dims_take_the_sizes_that_the_tools_choose(self):
        onnx = relu_model(["N", 3, "H", "W"])
        done = subprocess.run(
            [f"{BIN}/model_info", "-m", plumbnn.load(onnx).path], capture_output=True, text=True, check=False
        )
        model = plumbnn.load(onnx)
        shape = list(model.inputs["x"].shape)
        with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
            file.write(onnx)
            file.flush()
            done = subprocess.run([f"{BIN}/model_info", "-m", file.name], capture_output=True, text=True, check=False)
        self.assertIn(f"here {str(shape).replace(' ', '')}", done.stdout)
        self.assertTrue(any("chosen by trying" in note for note in model.notes), model.notes)
        with self.assertRaisesRegex(plumbnn.Error, "H"):
            plumbnn.load(onnx, shapes="ask")
        self.assertEqual(plumbnn.run(onnx, np.ones((2, 3, 5, 7), np.float32), "NAIVE")["y"].shape, (2, 3, 5, 7))

    @unittest.skipUnless(importlib.util.find_spec("torch"), "there is no torch")
    def test_a_torch_module_is_exported(self):
        import torch

        torch.manual_seed(1)
        net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU())
        x = torch.rand(1, 3, 8, 8)
        found = plumbnn.run(net, x, "NAIVE")
        expected = net.eval()(x).detach().numpy()
        np.testing.assert_allclose(next(iter(found.values())), expected, atol=1e-5)
        self.assertTrue(plumbnn.check(net, "NAIVE", x).aligned)
        with self.assertRaisesRegex(plumbnn.Error, "a torch module has no shapes of its own"):
            plumbnn.load(net)


class Balanced(html.parser.HTMLParser):
    """Every tag that opens closes; the text is kept."""

    def __init__(self):
        super().__init__()
        self.open, self.text = [], io.StringIO()

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-1:]}"
        self.open.pop()

    def handle_data(self, data):
        self.text.write(data + " ")


def shown(value):
    """The text that a notebook shows."""
    parser = Balanced()
    parser.feed(value._repr_html_())
    assert not parser.open, parser.open
    return parser.text.getvalue()


class NotebookTest(unittest.TestCase):
    def test_a_report_shows_outputs_worst_five_reason_and_cause(self):
        theirs = plumbnn.run(DIGITS, IMAGE, "NAIVE")
        healthy = shown(plumbnn.check(DIGITS, "NAIVE", IMAGE))
        self.assertIn("ALIGNED: NAIVE aligned", healthy)
        steps, outputs = healthy.split("verdict cause ")[1].split(" output shape values reference ")
        self.assertEqual(len(re.findall(r"\baligned\b", steps)), 5, healthy)
        self.assertIn("prob [1, 10, 1, 1] ", outputs)
        wrong = {"input": IMAGE, "prob": theirs["prob"] * np.float32(1.5)}
        report = plumbnn.check(DIGITS, subject=wrong, min_tested=0)
        text = shown(report)
        self.assertIn("FAILED", text)
        self.assertIn("wrong", text)
        layer = report.first_wrong
        self.assertIn(layer.cause or layer.reason, text)
        self.assertIn("subject", shown(report["subject"]))

    def test_the_others_show_what_they_are(self):
        network = plumbnn.Network(DIGITS)
        self.assertIn(f"{len(network.steps)} steps", repr(network))
        self.assertIn(network.steps[0].kernel, shown(network))
        model = plumbnn.load(DIGITS)
        self.assertRegex(repr(model), r"^<plumbnn model '.*': input \[1, 1, 8, 8\] -> prob>$")
        self.assertRegex(shown(model), r"Convolution +3 ")
        with tempfile.TemporaryDirectory() as folder:
            conversion = plumbnn.convert(model, folder + "/<b>copy")
            self.assertIn("plumbnn conversion", repr(conversion))
            self.assertIn("<b>copy.tnnproto", shown(conversion), "a name is no markup")
            one = plumbnn.dump(model, folder + "/one", IMAGE, "NAIVE")
            other = plumbnn.dump(model, folder + "/other", IMAGE * 2, "NAIVE")
            diff = plumbnn.diff(one, other)
            self.assertIn("wrong", shown(diff))
            self.assertIn("conv1", shown(diff))
            self.assertIn(diff.summary.split(":")[0], repr(diff))


if __name__ == "__main__":
    unittest.main()
