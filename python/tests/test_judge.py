# SPDX-License-Identifier: Apache-2.0
"""plumbnn.judge, tolerance and assert_close: one operator call, judged."""

import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np
import plumbnn

sys.path.insert(0, str(pathlib.Path(os.environ["PLUMB_ROOT"]) / "test" / "tools" / "judge"))
import problems  # noqa: E402

F32 = np.float32
RNG = np.random.default_rng(3)


def draw(*shape):
    return RNG.standard_normal(shape).astype(F32)


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


class Verdicts(unittest.TestCase):
    def test_a_right_kernel_is_aligned(self):
        x = draw(4, 64)
        judgement = plumbnn.judge("softmax", [x], softmax(x))
        self.assertTrue(judgement.aligned, judgement)
        self.assertEqual(judgement.computed_as, "fp32")
        self.assertLess(judgement.E, 1)
        self.assertEqual(judgement.worst.worst, ())

    def test_a_wrong_one_says_which_element_by_how_much_and_why(self):
        x = draw(8, 8)
        judgement = plumbnn.judge("softmax", [x], softmax(x, 0), {"axis": 1})
        self.assertEqual(judgement.verdict, "wrong")
        self.assertIn("computed along axis 0", judgement.cause)
        worst = judgement.worst
        self.assertAlmostEqual(worst.actual, softmax(x, 0)[worst.worst])
        self.assertAlmostEqual(worst.expected, softmax(x)[worst.worst], places=6)
        self.assertLess(worst.tau, 1e-5)
        self.assertIn(f"worst at [{worst.worst[0]},{worst.worst[1]}]", str(judgement))

    def test_causes_of_known_mistakes(self):
        x, g, b = draw(4, 64), draw(64), draw(64)
        centred = x - x.mean(-1, keepdims=True)
        wrong = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + F32(1e-3)) * g + b
        self.assertIn("epsilon 0.001", plumbnn.judge("layer_norm", [x, g, b], wrong, {"eps": 1e-5}).cause)
        tanh = F32(0.5) * x * (1 + np.tanh(F32(math.sqrt(2 / math.pi)) * (x + F32(0.044715) * x**3)))
        self.assertIn("tanh-GELU", plumbnn.judge("gelu", [x], tanh).cause)
        self.assertTrue(plumbnn.judge("gelu", [x], tanh, {"approximate": "tanh"}).aligned)

    def test_arithmetic_is_the_outputs_or_declared_or_found(self):
        a, b = draw(24, 256), draw(256, 40)
        narrow = (problems.tf32(a) @ problems.tf32(b)).astype(F32)
        self.assertEqual(plumbnn.judge("matmul", [a, b], narrow).verdict, "wrong")
        self.assertTrue(plumbnn.judge("matmul", [a, b], narrow, arithmetic="tf32").aligned)
        found = plumbnn.judge("matmul", [a, b], narrow, arithmetic="found")
        self.assertTrue(found.aligned)
        self.assertEqual(found.computed_as, "tf32")

    def test_sums_of_16_bits_are_another_arithmetic_than_storing_16(self):
        a, b = draw(24, 200).astype(np.float16), draw(200, 40).astype(np.float16)
        stored = (a.astype(F32) @ b.astype(F32)).astype(np.float16)
        self.assertTrue(plumbnn.judge("matmul", [a, b], stored).aligned)
        summed = np.zeros((24, 40), np.float16)
        for k in range(200):
            summed = (summed + a[:, k : k + 1] * b[k]).astype(np.float16)
        judgement = plumbnn.judge("matmul", [a, b], summed)
        self.assertEqual(judgement.verdict, "wrong")
        self.assertEqual(judgement.cause, "explained by fp16+f16-sums")
        self.assertTrue(plumbnn.judge("matmul", [a, b], summed, arithmetic="fp16+f16-sums").aligned)

    def test_storing_to_one_side_is_wrong(self):
        a, b = draw(24, 64).astype(np.float16), draw(64, 40).astype(np.float16)
        exact = a.astype(F32) @ b.astype(F32)
        judgement = plumbnn.judge("matmul", [a, b], problems.truncated(exact, np.float16))
        self.assertEqual(judgement.verdict, "wrong")
        self.assertIn("stored by truncation", judgement.cause)
        self.assertLess(judgement.outputs[0].bias_z, -6)


class Operators(unittest.TestCase):
    def test_a_tnn_type_takes_its_weights_behind_its_inputs(self):
        x, w = draw(6, 20), draw(9, 20)
        attributes = {"num_output": 9, "axis": 1}
        self.assertTrue(plumbnn.judge("InnerProduct", [x, w], x @ w.T, attributes).aligned)
        self.assertEqual(plumbnn.judge("InnerProduct", [x, w], x @ w.T * F32(1.01), attributes).verdict, "wrong")

    def test_an_operator_of_a_domain(self):
        x, skip, g, b = draw(2, 5, 32), draw(2, 5, 32), draw(32), draw(32)
        total = x + skip
        centred = total - total.mean(-1, keepdims=True)
        y = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + F32(1e-5)) * g + b
        op = "com.microsoft.SkipLayerNormalization"
        self.assertTrue(plumbnn.judge(op, [x, skip, g, b], y, {"epsilon": 1e-5}).aligned)

    def test_a_model_file(self):
        model = pathlib.Path(os.environ["PLUMB_ROOT"]) / "examples" / "digits" / "digits.tnnproto"
        loaded = plumbnn.load(model)
        name, info = next(iter(loaded.inputs.items()))
        x = draw(*info.shape)
        y = next(iter(plumbnn.run(model, {name: x}, device="NAIVE").values()))
        self.assertTrue(plumbnn.judge(str(model), [x], y).aligned)
        self.assertEqual(plumbnn.judge(str(model), [x], y * F32(1.1)).verdict, "wrong")

    def test_a_graph_in_memory(self):
        try:
            from onnx import TensorProto, helper
        except ImportError:
            self.skipTest("this Python has no onnx")
        nodes = [helper.make_node("MatMul", ["a", "b"], ["m"]), helper.make_node("Relu", ["m"], ["y"])]
        inputs = [
            helper.make_tensor_value_info("a", TensorProto.FLOAT, ["n", 8]),
            helper.make_tensor_value_info("b", TensorProto.FLOAT, [8, 4]),
        ]
        output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
        graph = helper.make_graph(nodes, "g", inputs, [output])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
        a, b = draw(5, 8), draw(8, 4)
        self.assertTrue(plumbnn.judge(model, [a, b], np.maximum(a @ b, 0)).aligned)
        self.assertTrue(plumbnn.judge(model.SerializeToString(), [a, b], np.maximum(a @ b, 0)).aligned)
        self.assertIn("without 'y' (ReLU)", plumbnn.judge(model, [a, b], a @ b).cause)

    def test_every_name_is_in_the_page(self):
        page = (pathlib.Path(os.environ["PLUMB_ROOT"]) / "doc" / "judge.md").read_text()
        for name in plumbnn._core.call_names():
            self.assertIn(f"`{name}`", page)

    def test_integers_are_exact(self):
        x = RNG.integers(0, 50, (4, 9))
        self.assertTrue(plumbnn.judge("add", [x, x], x + x).aligned)
        self.assertEqual(plumbnn.judge("add", [x, x], x + x + (x == 7)).verdict == "wrong", bool((x == 7).any()))


class Tolerances(unittest.TestCase):
    def test_the_pair_allows_what_tau_allows_and_not_much_more(self):
        x = draw(16, 64)
        allowed = plumbnn.tolerance("softmax", [x])
        np.testing.assert_allclose(softmax(x), allowed.expected, allowed.rtol, allowed.atol)
        edge = allowed.expected + allowed.tau * (1 - 1e-9)
        np.testing.assert_allclose(edge, allowed.expected, allowed.rtol, allowed.atol)
        with self.assertRaises(AssertionError):
            np.testing.assert_allclose(
                allowed.expected + 3 * allowed.tau, allowed.expected, allowed.rtol, allowed.atol
            )

    def test_it_follows_the_arithmetic(self):
        a, b = draw(8, 64), draw(64, 8)
        sizes = [plumbnn.tolerance("matmul", [a, b], arithmetic=name).tau.mean() for name in ("fp32", "fp16", "bf16")]
        self.assertLess(10 * sizes[0], sizes[1])
        self.assertLess(4 * sizes[1], sizes[2])

    def test_a_tolerance_stands_for_the_operator(self):
        x = draw(4, 16)
        allowed = plumbnn.tolerance("softmax", [x])
        self.assertIsNone(plumbnn.assert_close(softmax(x), allowed))
        wrong = softmax(x)
        wrong[2, 3] *= 2
        with self.assertRaisesRegex(plumbnn.MisalignedError, r"1 of 64 elements .* worst at \[2, 3\]"):
            plumbnn.assert_close(wrong, allowed)
        wrong[2, 3] = np.nan
        with self.assertRaises(plumbnn.MisalignedError):
            plumbnn.assert_close(wrong, allowed)
        with self.assertRaisesRegex(plumbnn.MisalignedError, "the shape is"):
            plumbnn.assert_close(wrong[:1], allowed)

    def test_assert_close_names_the_element(self):
        x = draw(4, 16)
        plumbnn.assert_close(softmax(x), "softmax", [x])
        wrong = softmax(x)
        wrong[2, 3] *= 2
        with self.assertRaisesRegex(plumbnn.MisalignedError, r"softmax: wrong: .*worst at \[2,3\]"):
            plumbnn.assert_close(wrong, "softmax", [x])


class Pytest(unittest.TestCase):
    def test_the_fixture_fails_with_the_sentence(self):
        with tempfile.TemporaryDirectory() as folder:
            test = pathlib.Path(folder) / "test_kernel.py"
            test.write_text(
                "import numpy as np\nx = np.array([1, -2, 3], np.float32)\n"
                "def test_right(plumb_close):\n    plumb_close(np.maximum(x, 0), 'relu', [x])\n"
                "def test_wrong(plumb_close):\n    plumb_close(x, 'relu', [x])\n"
            )
            plugin = ["-p", "plumbnn.pytest_plugin", "-p", "no:cacheprovider"]
            done = subprocess.run(
                [sys.executable, "-m", "pytest", "-q", *plugin, str(test)], capture_output=True, text=True
            )
        self.assertIn("1 failed, 1 passed", done.stdout)
        self.assertIn("relu: wrong: ", done.stdout)
        self.assertIn("worst at [1]: -2 for 0", done.stdout)


class Errors(unittest.TestCase):
    def sentence(self, part, *args, **options):
        with self.assertRaises(plumbnn.Error) as raised:
            plumbnn.judge(*args, **options)
        self.assertIn(part, raised.exception.message)
        self.assertNotIn("\n", raised.exception.message)

    def test_each_is_one_sentence(self):
        x = draw(2, 8)
        self.sentence("no operator 'softmaxx' here; did you mean 'softmax'?", "softmaxx", [x], x)
        self.sentence("softmax has no attribute 'axs'", "softmax", [x], x, {"axs": 1})
        self.sentence("inputs are a list of arrays, found a ndarray", "softmax", x, x)
        self.sentence("MatMul", "MatMul", [x], x)
        self.sentence("expected a number, a text or a list", "softmax", [x], x, {"axis": {}})
        self.sentence("no f32 value", "softmax", [x.astype(np.float64) + 1e-9], x)
        self.sentence("fp16+f16-sums", "softmax", [x], x, arithmetic="fp17")
        self.sentence("takes 2 inputs, found 1", "swiglu", [x], x)
        with self.assertRaisesRegex(plumbnn.Error, "a tolerance is of one arithmetic"):
            plumbnn.tolerance("softmax", [x], arithmetic="found")
        self.assertIn("shape", plumbnn.judge("softmax", [x], x[:1]).reason)


class Problems(unittest.TestCase):
    """A part of what problems_test (slow) runs."""

    def test_right_ones_pass_and_wrong_ones_do_not(self):
        rng = np.random.default_rng(1)
        for problem in problems.all_problems()[::6]:
            with self.subTest(problem.name):
                outputs = {
                    way: np.asarray(problem.kernel(problem.inputs, problem.attributes, problems.Sums(way)))
                    for way in ("halves", "split")
                }
                for output in outputs.values():
                    output = output.astype(F32) if output.dtype == np.float64 else output
                    plumbnn.assert_close(output, problem.op, problem.inputs, problem.attributes)
                right = outputs["halves"]
                noise = (rng.standard_normal(right.shape) * (right.std() or 1)).astype(right.dtype)
                for wrong in (np.zeros_like(right), noise + (right.dtype.kind != "f")):
                    wrong = wrong.astype(F32) if wrong.dtype == np.float64 else wrong
                    verdict = plumbnn.judge(
                        problem.op, problem.inputs, wrong, problem.attributes, causes=False
                    ).verdict
                    self.assertEqual(verdict, "wrong")

    def test_a_call_costs_little(self):
        x = draw(2, 8)
        y = np.maximum(x, 0)
        best = math.inf
        for _ in range(20):
            start = time.perf_counter()
            for _ in range(5):
                plumbnn.judge("relu", [x], y)
            best = min(best, (time.perf_counter() - start) / 5)
        self.assertLess(best, 5e-3)  # 0.3 ms measured; other tests run beside this one


if __name__ == "__main__":
    unittest.main()
