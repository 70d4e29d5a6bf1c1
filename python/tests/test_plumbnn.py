# SPDX-License-Identifier: Apache-2.0
"""plumbnn as a user calls it: networks, checks, reports, errors, threads, Ctrl-C.

Needs numpy, the package on the path, and $PLUMB_BIN_DIR and $PLUMB_ROOT (ctest sets all of it).
"""

import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

import numpy as np

import plumbnn

ROOT = pathlib.Path(os.environ["PLUMB_ROOT"])
BIN = pathlib.Path(os.environ["PLUMB_BIN_DIR"])
DIGITS = str(ROOT / "examples/digits/digits.tnnproto")
SQUEEZENET = str(ROOT / "examples/squeezenet/squeezenet.tnnproto")

CPU = plumbnn.Network(DIGITS).device  # the default


def image(seed=3):
    return np.random.default_rng(seed).random((1, 1, 8, 8), dtype=np.float32)


def tool(name, *words):
    """As if it were on PATH: reports name it as it was called."""
    return subprocess.run(
        [name, *words], executable=BIN / name, capture_output=True, text=True, check=False
    )


def without_times(text):
    return re.sub(r'"seconds": [-0-9.e]+', '"seconds": 0', text)


class Blobs(plumbnn.Observer):
    """Keeps what every step computes."""

    def __init__(self):
        self.values = {}

    def after(self, event):
        for i, port in enumerate(event.step.outputs):
            self.values[port.blob] = event.output(i)


def naive_blobs(x):
    network = plumbnn.Network(DIGITS, "NAIVE", unfuse=True)
    blobs = Blobs()
    network.watch(blobs)
    network.run({"input": x})
    return {"input": x, **blobs.values}


class NetworkTest(unittest.TestCase):
    def test_outputs_are_those_of_model_run(self):
        with tempfile.TemporaryDirectory() as folder:
            x = image()
            np.save(f"{folder}/x.npy", x)
            ran = tool(
                "model_run", DIGITS, "-d", CPU, "-i", f"{folder}/x.npy", "-o", f"{folder}/y.npz"
            )
            self.assertEqual(ran.returncode, 0, ran.stderr)
            expected = np.load(f"{folder}/y.npz")["prob"]
        self.assertTrue(np.array_equal(plumbnn.run(DIGITS, {"input": x})["prob"], expected))

    def test_arrays_of_every_layout_mean_their_values(self):
        x = image()
        network = plumbnn.Network(DIGITS)
        expected = network.run({"input": x})["prob"]
        readonly = x.copy()
        readonly.flags.writeable = False
        wide = np.zeros((1, 1, 8, 16), np.float32)
        wide[..., ::2] = x
        same = {
            "fortran": np.asfortranarray(x),
            "strided": wide[..., ::2],
            "f64": x.astype(np.float64),
            "big endian": x.astype(">f4"),
            "read only": readonly,
            "list": x.tolist(),
            "dlpack": DLPack(x),
            "__array__": Array(x),
        }
        for name, value in same.items():
            with self.subTest(name):
                self.assertTrue(np.array_equal(network.run({"input": value})["prob"], expected))

    def test_torch_and_ml_dtypes(self):
        network = plumbnn.Network(DIGITS)
        x = image()
        rounded = (x.view(np.uint32) & 0xFFFF0000).view(np.float32)  # what bfloat16 can hold
        expected = network.run({"input": rounded})["prob"]
        found = []
        try:
            import ml_dtypes

            found.append(rounded.astype(ml_dtypes.bfloat16))
        except ImportError:
            pass
        try:
            import torch

            found.append(torch.from_numpy(rounded.copy()).requires_grad_())
            found.append(torch.from_numpy(rounded.copy()).to(torch.bfloat16))
        except ImportError:
            pass
        if not found:
            self.skipTest("neither ml_dtypes nor torch is here")
        for value in found:
            with self.subTest(str(type(value)) + str(value.dtype)):
                self.assertTrue(np.array_equal(network.run({"input": value})["prob"], expected))

    def test_outputs_outlive_the_network(self):
        outputs = [plumbnn.Network(DIGITS).run({"input": image(i)})["prob"] for i in range(20)]
        again = [plumbnn.run(DIGITS, {"input": image(i)})["prob"] for i in range(20)]
        self.assertTrue(all(np.array_equal(a, b) for a, b in zip(outputs, again)))
        outputs[0][:] = 0  # the caller's own

    def test_what_a_model_says_of_itself(self):
        model = plumbnn.load(DIGITS)
        self.assertEqual(model.inputs["input"], plumbnn.TensorInfo("f32", (1, 1, 8, 8)))
        self.assertEqual(model.outputs, ["prob"])
        first = model.layers[0]
        self.assertEqual((first.type, first.parameters["kernel_h"]), ("Convolution", "3"))
        self.assertEqual(first.weights["weight"].shape, (16, 1, 3, 3))
        network = plumbnn.Network(model, CPU.lower())
        self.assertEqual(network.device, CPU)
        self.assertEqual(
            [member[2] for member in network.steps[0].members], ["Convolution", "ReLU"]
        )

    def test_errors_are_sentences_with_a_code(self):
        network = plumbnn.Network(DIGITS)
        wrong = [
            ("NotFound", "nowhere.onnx", lambda: plumbnn.load("nowhere.onnx")),
            ("InvalidArgument", "did you mean 'input'", lambda: network.run({"inputs": image()})),
            ("InvalidArgument", "[1,1,8,8]", lambda: network.run({"input": image()[0, 0]})),
            ("InvalidArgument", "input", lambda: network.run({})),
            ("InvalidArgument", "dtype object", lambda: network.run({"input": object()})),
            (
                "InvalidArgument",
                "complex64",
                lambda: network.run({"input": image().astype(np.complex64)}),
            ),
            ("InvalidArgument", "CUDA", lambda: plumbnn.Network(DIGITS, "CUDA")),
            ("NotFound", "ARM", lambda: plumbnn.Network(DIGITS, "ARM")),
            ("InvalidArgument", "MIDDLE", lambda: plumbnn.Network(DIGITS, precision="middle")),
        ]
        for code, part, call in wrong:
            with self.subTest(part), self.assertRaises(plumbnn.Error) as raised:
                call()
            self.assertIn(part, str(raised.exception))
            self.assertNotIn("::", str(raised.exception))
            self.assertEqual(raised.exception.code, code, raised.exception)

    def test_names_with_control_characters_and_no_utf8(self):
        text = pathlib.Path(DIGITS).read_bytes()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(os.fsencode(folder), b"net\xff.tnnproto")
            for name, shown in ((b"po\xffol", "po\\xFFol"), (b"po\x1b[2Jol", "po\\x1B[2Jol")):
                with open(path, "wb") as file:
                    file.write(text.replace(b"pool2", name))
                model = plumbnn.load(os.fsdecode(path))
                names = [layer.name for layer in model.layers]
                self.assertIn(os.fsdecode(name), names)
                network = plumbnn.Network(model, "NAIVE", unfuse=True)
                blobs = Blobs()
                network.watch(blobs)
                network.run({"input": image()})
                values = {"input": image(), **blobs.values}
                values[os.fsdecode(name)] = values[os.fsdecode(name)] * np.float32(1.01)
                report = plumbnn.check(model, subject=values)
                self.assertEqual(report.verdict, "wrong")
                texts = [str(report), repr(report), report.text(), report.summary, repr(model)]
                texts += [report._repr_html_(), repr(report.first_wrong), repr(report.runs)]
                for part in texts:
                    self.assertNotIn("\x1b", part)
                with self.assertRaises(plumbnn.Error) as raised:
                    network.run({os.fsdecode(name): image()})
                self.assertIn(shown, str(raised.exception))

    def test_a_call_costs_less_than_a_millisecond(self):
        network = plumbnn.Network(DIGITS, threads=1)  # whose Forward takes 0.02 ms
        x = image()

        def seconds():
            started = time.perf_counter()
            network.run({"input": x})
            return time.perf_counter() - started

        self.assertLess(min(seconds() for _ in range(300)), 1e-3)

    def test_a_forked_child_computes(self):
        expected = plumbnn.run(DIGITS, {"input": image()})["prob"]
        child = os.fork()
        if child == 0:
            same = np.array_equal(plumbnn.run(DIGITS, {"input": image()})["prob"], expected)
            os._exit(0 if same else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)


class DLPack:
    """An array library that knows nothing but DLPack."""

    def __init__(self, array):
        self._array = array
        self.shape, self.dtype = array.shape, array.dtype

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


class Array:
    def __init__(self, array):
        self._array = array

    def __array__(self, dtype=None, copy=None):
        return self._array


class ObserverTest(unittest.TestCase):
    def test_watching_changes_no_bit_and_sees_every_step(self):
        network = plumbnn.Network(DIGITS)
        expected = network.run({"input": image()})["prob"]
        blobs = Blobs()
        network.watch(blobs)
        self.assertTrue(np.array_equal(network.run({"input": image()})["prob"], expected))
        self.assertEqual(list(blobs.values), [step.outputs[0].blob for step in network.steps])
        self.assertTrue(np.array_equal(blobs.values["prob"], expected))
        network.unwatch(blobs)
        blobs.values.clear()
        network.run({"input": image()})
        self.assertEqual(blobs.values, {})

    def test_an_exception_ends_the_run_and_comes_out(self):
        class Fails(plumbnn.Observer):
            seen = 0

            def before(self, event):
                Fails.seen += 1
                Fails.event = event
                raise LookupError("on purpose")

        network = plumbnn.Network(DIGITS)
        fails = Fails()
        network.watch(fails)
        with self.assertRaisesRegex(LookupError, "on purpose"):
            network.run({"input": image()})
        self.assertEqual(Fails.seen, 1)
        with self.assertRaisesRegex(plumbnn.Error, "is over"):
            Fails.event.input(0)
        network.unwatch(fails)
        network.run({"input": image()})

    def test_a_network_is_not_used_by_its_own_observer(self):
        class Again(plumbnn.Observer):
            def after(self, event):
                network.run({"input": image()})

        network = plumbnn.Network(DIGITS)
        network.watch(Again())
        with self.assertRaisesRegex(plumbnn.Error, "own observer"):
            network.run({"input": image()})


class CheckTest(unittest.TestCase):
    def test_the_json_is_that_of_model_check(self):
        with tempfile.TemporaryDirectory() as folder:
            golden = plumbnn.dump(
                DIGITS, f"{folder}/golden", {"input": image()}, "NAIVE", unfuse=True
            )
            photo = str(ROOT / "examples/digits/images/digit_3.png")
            cases = [
                ({"devices": ["NAIVE", CPU]}, ["-d", f"NAIVE,{CPU}"]),
                ({"devices": CPU, "inputs": photo}, ["-d", CPU, "-i", photo]),
                ({"devices": CPU, "golden": golden}, ["-d", CPU, "--golden", golden]),
                ({"subject": golden}, ["--subject", golden]),
                (
                    {"devices": CPU, "seed": 4, "layers": ["pool2"]},
                    ["-d", CPU, "--seed", "4", "--layers", "pool2"],
                ),
                (
                    {"devices": CPU, "shapes": {"input": (2, 1, 8, 8)}},
                    ["-d", CPU, "--shape", "input=2,1,8,8"],
                ),
            ]
            for options, words in cases:
                with self.subTest(options):
                    ran = tool(
                        "model_check", "-m", DIGITS, *words, "--json", f"{folder}/report.json"
                    )
                    self.assertIn(ran.returncode, (0, 1), ran.stderr)
                    expected = pathlib.Path(f"{folder}/report.json").read_text()
                    report = plumbnn.check(DIGITS, **options)
                    self.maxDiff = None
                    self.assertEqual(without_times(report.to_json()), without_times(expected))

    def test_a_signature_is_that_of_load(self):
        path = ROOT / "test/fuzz/corpus/tflite/two_signatures.tflite"
        try:
            model = plumbnn.load(path, signature="it's; negative")
        except plumbnn.Error as error:
            self.assertEqual(error.code, "NotSupported")
            self.skipTest(str(error))
        report = plumbnn.check(model, "NAIVE")
        self.assertEqual([layer.type for layer in report.layers], ["Neg"])
        command = json.loads(report.to_json())["reproduce"]
        ran = tool("model_check", *shlex.split(command)[1:], "-d", "NAIVE")
        self.assertIn("Neg", ran.stdout)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        with self.assertRaisesRegex(plumbnn.Error, "no signature 'none'; its signatures are"):
            plumbnn.load(path, signature="none")

    def test_tensors_and_signatures_are_those_of_the_file(self):
        folder = ROOT / "test/fuzz/corpus/tflite"
        try:
            model = plumbnn.load(folder / "two_signatures.tflite")
        except plumbnn.Error as error:
            self.assertEqual(error.code, "NotSupported")
            self.skipTest(str(error))
        self.assertEqual([(t.graph, t.index, t.name) for t in model.file_tensors],
                         [(0, 0, "x0"), (0, 1, "y0"), (1, 0, "x1"), (1, 1, "y1")])
        self.assertEqual([(s.name, s.graph, s.inputs, s.outputs) for s in model.signatures],
                         [("positive", 0, {"given": "x0"}, {"made": "y0"}),
                          ("it's; negative", 1, {"given": "x1"}, {"made": "y1"})])
        integers = plumbnn.load(folder / "dense_int8.tflite").file_tensors[0]
        self.assertEqual((integers.type, len(integers.scale), len(integers.zero_point)), ("INT8", 1, 1))
        with self.assertRaises(plumbnn.Error) as refused:
            plumbnn.load(DIGITS).file_tensors
        self.assertEqual(refused.exception.code, "NotSupported")

    def test_a_page_holds_what_was_drawn(self):
        def drawn(report):
            page = report.to_html()
            text = page.split('<script type="application/json" id="drawn">')[1].split("</script>")[0]
            return [picture for step in json.loads(text)["runs"][0] for picture in step["pictures"]]

        self.assertEqual(set(drawn(plumbnn.check(DIGITS, [CPU], {"input": image()}))), {None})
        pictures = drawn(plumbnn.check(DIGITS, [CPU], {"input": image()}, pictures=True))
        self.assertEqual(pictures[0]["values"] + pictures[0]["exact"], 16 * 8 * 8)
        self.assertEqual(len(pictures[0]["histogram"]), 32)

    def test_a_report_says_what_is_right(self):
        report = plumbnn.check(DIGITS, [CPU], {"input": image()})
        self.assertEqual((report.verdict, report.exit_code, report.aligned), ("aligned", 0, True))
        self.assertEqual(report.verdicts, {CPU: "aligned"})
        self.assertIsNone(report.first_wrong)
        self.assertTrue(report[CPU].rests_on[0].startswith("compared: 6 of 6 steps"), report[CPU].rests_on)
        self.assertIn("not tested: nothing", report[CPU].rests_on)
        self.assertEqual([layer.verdict for layer in report.layers], ["aligned"] * 6)
        self.assertGreater(report[CPU].layers[0].E, 0)
        prob = report.outputs[CPU]["prob"]
        self.assertTrue(np.array_equal(prob, plumbnn.run(DIGITS, {"input": image()})["prob"]))
        np.testing.assert_allclose(report[CPU].reference["prob"], prob, rtol=1e-4)
        self.assertIn("all aligned", str(report))
        self.assertIn("relu2", report.text(all=True))
        self.assertEqual(json.loads(report.to_json()), report.json)
        self.assertEqual(len(report.to_csv().splitlines()), 7)
        self.assertEqual(json.loads(report.to_sarif())["runs"][0]["results"], [])
        with self.assertRaises(KeyError):
            report["OPENCL"]

    def test_subjects_from_memory_name_the_guilty_layer(self):
        blobs = naive_blobs(image())
        self.assertTrue(plumbnn.check(DIGITS, subject=blobs).aligned)
        blobs["pool2"] = blobs["pool2"] * np.float32(1.01)
        for subject in (blobs, blobs.get):
            report = plumbnn.check(DIGITS, subject=subject)
            self.assertEqual((report.verdict, report.first_wrong.name), ("wrong", "pool2"))
            self.assertGreater(report.first_wrong.E, 4)
            self.assertIn("pool2", report._repr_html_())

    def test_a_misaligned_error_has_a_command_that_shows_it_again(self):
        blobs = naive_blobs(image())
        blobs["pool2"] = blobs["pool2"] * np.float32(1.01)
        with self.assertRaises(plumbnn.MisalignedError) as raised:
            plumbnn.assert_aligned(DIGITS, subject=blobs)
        text = str(raised.exception)
        self.assertIn("'pool2'", text)
        command = shlex.split(re.search(r"model_check -m .*?\.npz", text).group())
        again = tool(command[0], *command[1:])
        self.assertEqual(again.returncode, 1, again.stderr)
        self.assertIn("pool2", again.stdout)
        for path in raised.exception.report.save_inputs():
            os.remove(path)

    def test_saved_inputs_do_not_follow_a_planted_link(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch("tempfile.tempdir", folder):
            victim = pathlib.Path(folder) / "victim"
            victim.write_text("mine")
            report = plumbnn.check(DIGITS, "NAIVE", {"input": image()})
            (path,) = report.save_inputs()
            os.remove(path)
            os.symlink(victim, path)
            self.assertEqual(report.save_inputs(), [path])
            self.assertEqual(victim.read_text(), "mine")
            self.assertTrue(np.array_equal(np.load(path)["input"], image()))
            self.assertEqual(sorted(os.listdir(folder)), sorted(["victim", os.path.basename(path)]))
            os.remove(path)
            os.mkdir(path)
            with self.assertRaisesRegex(plumbnn.Error, "cannot write"):
                report.save_inputs()

    def test_what_cannot_run_raises_and_keeps_what_ran(self):
        with self.assertRaises(plumbnn.Error) as raised:
            plumbnn.check(DIGITS, [CPU, "X86" if CPU == "ARM" else "ARM"])
        self.assertEqual(raised.exception.code, "NotFound")
        self.assertEqual(raised.exception.report.verdicts, {CPU: "aligned"})
        for options in (
            {"devices": []},
            {"devices": "CUDA"},
            {"subject": {}},
            {"layout": "NHCW", "subject": {"input": image()}},
        ):
            with self.subTest(options), self.assertRaises(plumbnn.Error) as raised:
                plumbnn.check(DIGITS, **options)
            self.assertEqual(raised.exception.code, "InvalidArgument")

    def test_pandas(self):
        try:
            import pandas  # noqa: F401
        except ImportError:
            self.skipTest("pandas is not here")
        frame = plumbnn.check(DIGITS, CPU).to_pandas()
        self.assertEqual(list(frame["name"]), ["relu1", "relu2", "pool2", "relu3", "fc4", "prob"])

    def test_dumps_are_compared(self):
        with tempfile.TemporaryDirectory() as folder:
            one = plumbnn.dump(DIGITS, f"{folder}/one", {"input": image()}, CPU)
            two = plumbnn.dump(DIGITS, f"{folder}/two", {"input": image(4)}, CPU)
            same = plumbnn.dump(DIGITS, f"{folder}/one", {"input": image()}, "NAIVE")
            self.assertTrue(same.startswith(f"{folder}/one"))
            self.assertNotEqual(same, one)
            self.assertEqual(plumbnn.diff(one, same).verdict, "aligned")
            report = plumbnn.diff(one, two)
            self.assertEqual((report.verdict, report.first_wrong["layer"]), ("wrong", "relu1"))
            self.assertEqual(plumbnn.diff(one, two, atol=1e9).verdict, "aligned")
            with self.assertRaisesRegex(plumbnn.Error, "defualt"):
                plumbnn.diff(one, two, rule="defualt")

    def test_quantised_layers_are_written_as_tnn_has_them(self):
        with tempfile.TemporaryDirectory() as folder:
            given = ROOT / "test/data/networks/quant_mobilenet_v1.tnnproto"
            plumbnn.convert(given, f"{folder}/copy")
            written = pathlib.Path(f"{folder}/copy.tnnproto").read_text()
            self.assertEqual(written.count('"QuantizedConvolution '), 28)
            self.assertNotIn("QuantizeLinear", written)

    def test_converted_models_compute_the_same(self):
        with tempfile.TemporaryDirectory() as folder:
            written = plumbnn.convert(DIGITS, f"{folder}/net")
            a = plumbnn.run(written.proto, {"input": image()})["prob"]
            b = plumbnn.run(DIGITS, {"input": image()})["prob"]
            self.assertTrue(np.array_equal(a, b))
            self.assertTrue(os.path.exists(written.weights))


class ThreadTest(unittest.TestCase):
    def test_threads_share_a_network_and_have_their_own(self):
        images = [image(i) for i in range(8)]
        expected = [plumbnn.run(DIGITS, {"input": x})["prob"] for x in images]
        shared, wrong = plumbnn.Network(DIGITS), []

        def work(network):
            for _ in range(10):
                for x, right in zip(images, expected):
                    if not np.array_equal(network.run({"input": x})["prob"], right):
                        wrong.append(network)

        networks = [shared, shared, plumbnn.Network(DIGITS), plumbnn.Network(DIGITS)]
        threads = [threading.Thread(target=work, args=(network,)) for network in networks]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_python_goes_on_while_a_check_computes(self):
        counted, begun = 0, time.monotonic()
        shapes = {"input": (1, 3, 512, 512)}
        thread = threading.Thread(
            target=plumbnn.check, args=(SQUEEZENET, "NAIVE"), kwargs={"shapes": shapes}
        )
        thread.start()
        while thread.is_alive():
            counted += 1
            time.sleep(0.005)
        # A check that kept Python waiting would leave one or two.
        self.assertGreater(counted, max(3, (time.monotonic() - begun) / 0.02))

    def test_ctrl_c_ends_a_check(self):
        code = (
            "import plumbnn, sys, time\n"
            "print('begun', flush=True)\n"
            "try:\n"
            f"    plumbnn.check({SQUEEZENET!r}, 'NAIVE', shapes={{'input': (8, 3, 1024, 1024)}})\n"
            "except KeyboardInterrupt:\n"
            "    print('ended')\n"
        )
        # Not from here: the build's own package may lie beside it.
        child = subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=ROOT
        )
        self.assertEqual(child.stdout.readline(), "begun\n")
        time.sleep(1)
        started = time.monotonic()
        child.send_signal(signal.SIGINT)
        rest, _ = child.communicate(timeout=60)
        self.assertEqual(rest, "ended\n")
        self.assertLess(time.monotonic() - started, 30)


if __name__ == "__main__":
    unittest.main()
