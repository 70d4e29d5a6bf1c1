# SPDX-License-Identifier: Apache-2.0
"""plumb-golden's command line, its drawn inputs beside Plumb's own, and what needs no framework of the recipes.

Needs numpy; $PLUMB_BIN_DIR and $PLUMB_TEST_DATA for the comparison with the tools, the package onnx for what reads
.onnx files.
"""
import collections
import contextlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

import numpy_python  # noqa: F401  (a Python that has numpy)
import numpy as np
from tools import BIN, NEEDS_TOOLS, naive_dump

try:
    import onnx.helper
    import onnx.numpy_helper  # a folder of that name is a package, too, but has no modules
except Exception:  # not there, or of another protobuf
    onnx = None

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from plumb_golden import draw, inputs, mnn_subject, torch_golden  # noqa: E402
from plumb_golden.cli import main  # noqa: E402
from plumb_golden.folder import Folder, UsageError  # noqa: E402
from plumb_golden.foreign import read_tensors  # noqa: E402



def call(*words):
    """(exit code, standard output, standard error)."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main([str(word) for word in words])
        except SystemExit as stop:
            code = stop.code
    return code, out.getvalue(), err.getvalue()


class InFolder(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.TemporaryDirectory()
        self.addCleanup(self.work.cleanup)
        self.path = pathlib.Path(self.work.name)


class DrawTest(InFolder):
    def test_philox_known_answers(self):
        """Of the paper's reference implementation (Random123, kat_vectors)."""
        one = [np.array([word], np.uint64) for word in (0xFFFFFFFF,) * 4]
        words = draw.philox(one, (np.uint64(0xFFFFFFFF), np.uint64(0xFFFFFFFF)))
        self.assertEqual([int(w[0]) for w in words], [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD])

    def test_whole_numbers_stay_in_the_range_and_fill_it(self):
        for dtype in ("int64", "uint8", "float32"):
            values = draw.draw("ids", dtype, [4000], 1, 3, 9, True)
            self.assertEqual(str(values.dtype), dtype)
            self.assertEqual(sorted(set(values.tolist())), [3, 4, 5, 6, 7, 8, 9])
        self.assertEqual(sorted(set(draw.draw("b", "bool", [99], 1, 0, 1, False).tolist())), [False, True])

    @NEEDS_TOOLS
    def test_the_same_bits_as_model_run(self):
        for options, given in (([], (1, -1, 1)), (["--seed", "7", "--input-range", "-2,3"], (7, -2, 3)),
                               (["--seed", "18446744073709551615"], (2**64 - 1, -1, 1))):
            folder = self.path / f"dump{len(options)}{given[0]}"
            naive_dump(folder, *options)
            files = json.loads((folder / "manifest.json").read_text())["files"]
            first = next(file for file in files if file["direction"] == "in" and not file["constant"])
            theirs = np.load(folder / first["file"])
            seed, low, high = given
            ours = draw.draw(first["blob"], theirs.dtype, theirs.shape, seed, low, high, False)
            self.assertEqual(ours.tobytes(), theirs.tobytes(), f"{first['blob']} {options}")

    @unittest.skipUnless(BIN and onnx, "PLUMB_BIN_DIR is not set or the package onnx is missing")
    def test_a_given_range_is_held_where_the_graph_needs_nothing(self):
        model = self.path / "relu.onnx"
        value = onnx.helper.make_tensor_value_info
        graph = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["x"], ["y"])], "net",
                                       [value("x", onnx.TensorProto.FLOAT, [500])],
                                       [value("y", onnx.TensorProto.FLOAT, [500])])
        onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=7),
                  str(model))
        values = draw.Drawn(model, 1, (-3, 3)).values("x", np.float32, [500], {})
        self.assertLess(values.min(), -2.5)
        self.assertGreater(values.max(), 2.5)

    @unittest.skipUnless(BIN and onnx, "PLUMB_BIN_DIR is not set or the package onnx is missing")
    def test_integers_are_drawn_from_what_the_graph_allows(self):
        model = self.path / "net.onnx"
        rows = onnx.numpy_helper.from_array(np.random.default_rng(1).random((257, 4), np.float32), "rows")
        graph = onnx.helper.make_graph(
            [onnx.helper.make_node("Gather", ["rows", "ids"], ["words"], name="embed"),
             onnx.helper.make_node("Gather", ["rows", "position_ids"], ["places"], name="place"),
             onnx.helper.make_node("Add", ["words", "places"], ["y"])], "net",
            [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.INT64, [1, 50])
             for name in ("ids", "position_ids")],
            [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 50, 4])], [rows])
        onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=7),
                  str(model))
        environment = {**os.environ, "DUMP_INPUT_BLOB": "1", "DUMP_BLOB_FORMAT": "npy",
                       "DUMP_BLOB_DIR": str(self.path / "dump")}
        done = subprocess.run([f"{BIN}/model_run", "-m", model, "-d", "NAIVE", "--seed", "5"], env=environment,
                              capture_output=True, text=True)
        if "reads no ONNX files" in done.stderr:
            self.skipTest(done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)
        theirs = read_tensors(self.path / "dump")
        wanted = {"ids": ("int64", [1, 50]), "position_ids": ("int64", [1, 50])}
        ours = inputs.feeds(model, wanted, [], {}, (), 5, None)
        for name in wanted:
            np.testing.assert_array_equal(ours[name], theirs[name])
        self.assertEqual(ours["position_ids"][0].tolist(), list(range(50)))

    @unittest.skipUnless(BIN and onnx, "PLUMB_BIN_DIR is not set or the package onnx is missing")
    def test_open_dims_take_the_shapes_that_the_tools_choose(self):
        model = self.path / "open.onnx"
        value = onnx.helper.make_tensor_value_info
        graph = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["x"], ["y"])], "net",
                                       [value("x", onnx.TensorProto.FLOAT, ["N", 3, "H", "W"])],
                                       [value("y", onnx.TensorProto.FLOAT, ["N", 3, "H", "W"])])
        onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=7),
                  str(model))
        done = subprocess.run([f"{BIN}/model_info", "-m", model, "--json", "-"], capture_output=True, text=True)
        if "reads no ONNX files" in done.stderr:
            self.skipTest(done.stderr)
        theirs = json.loads(done.stdout)["inputs"][0]["shape"]
        wanted = {"x": ("float32", ["N", 3, "H", "W"])}
        inputs.chosen.clear()
        self.assertEqual(list(inputs.feeds(model, wanted, [], {}, (), 1, None)["x"].shape), theirs)
        self.assertEqual(inputs.chosen, {"x": theirs})
        given = inputs.parse_shapes(["x=2,3,5,7"])
        self.assertEqual(inputs.feeds(model, wanted, [], given, (), 1, None)["x"].shape, (2, 3, 5, 7))
        with self.assertRaisesRegex(UsageError, "give it with --shape x="):
            inputs.feeds(model, wanted, [], inputs.parse_shapes(["ask"]), (), 1, None)

    @NEEDS_TOOLS
    def test_a_folder_of_save_io_tensors_is_an_input(self):
        folder = self.path / "io"
        digits = pathlib.Path(os.environ["PLUMB_TEST_DATA"]).parent.parent / "examples/digits/digits.tnnproto"
        done = subprocess.run([f"{BIN}/model_run", "-m", digits, "-d", "NAIVE", "-o", self.path / "out.txt"],
                              env={**os.environ, "BMRT_SAVE_IO_TENSORS": "1", "DUMP_BLOB_DIR": str(folder)},
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = inputs.from_files([str(folder)], ["input"])
        self.assertEqual(found["input"].shape, (1, 1, 8, 8))
        written = read_tensors(self.path / "out.txt")["prob"]  # TNNTest's form, six decimals
        np.testing.assert_allclose(written, read_tensors(folder)["prob"], atol=1e-6)

    def test_open_dims_are_those_that_the_tools_choose(self):
        wanted = {"x": ("float32", ["seq_len", 3]), "b": ("float32", ["N", 2])}
        said = {"x": {"shape": [128, 3]}, "b": {"shape": [1, 2]}}
        with mock.patch.object(inputs, "told", lambda *_: said), mock.patch.object(inputs, "chosen", {}):
            found = inputs.feeds("no.onnx", wanted, [], {}, (), 1, None)
            self.assertEqual(inputs.chosen, {"x": [128, 3]})  # a batch of 1 is no choice
        self.assertEqual((found["x"].shape, found["b"].shape), ((128, 3), (1, 2)))

    def test_an_open_batch_is_one_and_other_dims_are_asked_for(self):
        self.assertEqual(inputs.batch_of_one(["N", 3, 8]), [1, 3, 8])
        with self.assertRaisesRegex(UsageError, "give it with --shape x="):
            inputs.feeds("no.onnx", {"x": ("float32", ["N", 3, "H"])}, [], {}, (), 1, None)
        with self.assertRaisesRegex(UsageError, "the model has no input 'y'"):
            inputs.feeds("no.onnx", {"x": ("float32", [1])}, [], {"y": [1]}, (), 1, None)


class CommandLineTest(InFolder):
    def setUp(self):
        super().setUp()
        self.model = self.path / "model.onnx"
        self.model.write_bytes(b"\x08\x07no model at all\xff\xff")

    def test_a_terminated_run_leaves_no_folder(self):
        program = ("import sys, tempfile, time\nfrom plumb_golden import cli\ncli.end_by_signals()\n"
                   "with tempfile.TemporaryDirectory(dir=sys.argv[1]):\n    print('ready', flush=True)\n"
                   "    time.sleep(60)\n")
        package = pathlib.Path(inputs.__file__).parent.parent
        with subprocess.Popen([sys.executable, "-c", program, self.path], stdout=subprocess.PIPE, text=True,
                              env={**os.environ, "PYTHONPATH": str(package)}) as running:
            self.assertEqual(running.stdout.readline(), "ready\n")
            before = set(self.path.iterdir())
            running.terminate()
            self.assertEqual(running.wait(30), 128 + 15)
        left = set(self.path.iterdir())
        self.assertEqual(len(before - left), 1, "the folder of temporary files was there, and is gone")

    def test_unknown_words_get_the_nearest(self):
        for words, said in ((["onnx", "m", "--shpae", "x=1"], "did you mean '--shape'?"),
                            (["onx", "m"], "did you mean 'onnx'?"),
                            (["onnx", "m", "--input-rnage=0,1"], "did you mean '--input-range'?")):
            code, _, err = call(*words)
            self.assertEqual(code, 2)
            self.assertIn(said, err)

    def test_bad_values_are_one_line(self):
        for words in (["onnx"], ["onnx", self.path / "missing.onnx"], ["onnx", self.model, "--seed", "-1"],
                      ["onnx", self.model, "--range", "2,1"],
                      ["onnx", self.model, "-m", "other.onnx"], ["onnx", self.model, "--tensors", "35"],
                      ["onnx", self.model, "-o", self.model],
                      ["torch", self.model, "-o", self.path / "d"]):
            code, out, err = call(*words)
            self.assertEqual(code, 2, err)
            self.assertEqual((out, err.count("\n"), "Traceback" in err), ("", 1, False), err)
            self.assertFalse((self.path / "d").exists())

    def test_a_damaged_model_is_one_sentence(self):
        for framework in ("onnx", "mnn", "ncnn"):
            code, out, err = call(framework, "-m", self.model, "-o", self.path / "d", "--json",
                                  self.path / "report.json")
            if "is not installed" in err or "cannot be imported" in err:
                continue
            self.assertEqual(code, 2)
            self.assertRegex(err, r"^error: '.*model\.onnx' is no \.onnx file that can be read: .*\n$")
            report = json.loads((self.path / "report.json").read_text())
            self.assertEqual((report["exit_code"], report["command"]), (2, framework))

    def test_an_existing_folder_needs_force_and_only_the_dump_goes(self):
        folder = Folder(self.path / "d", framework="a")
        folder.add("old", np.zeros(2))
        folder.finish()
        (self.path / "d" / "notes.txt").write_text("mine")
        code, _, err = call("onnx", self.model, "-o", self.path / "d")
        self.assertEqual(code, 2)
        self.assertIn("--force replaces a dump in it", err)
        again = Folder(self.path / "d", framework="b", force=True)
        again.add("new", np.ones(2))
        again.finish()
        self.assertEqual(list(read_tensors(self.path / "d")), ["new"])
        self.assertTrue((self.path / "d" / "notes.txt").exists())

    def test_what_is_left_out_is_counted_in_the_last_line(self):
        folder = Folder(self.path / "d", device="X")
        folder.add("a", np.zeros(1))
        folder.left_out(3, "fused away", ["b", "c", "d"])
        folder.left_out(0, "never")
        self.assertTrue(folder.summary().endswith("; left out: 3 fused away"), folder.summary())
        folder.abandon()
        self.assertFalse((self.path / "d").exists())


def tiny_model(path):
    graph = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["x"], ["y"])], "net",
                                   [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 4])],
                                   [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 4])])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=7), str(path))


class EnvironmentTest(InFolder):
    """build/venv: made by run.sh, found by --golden onnxruntime."""

    @unittest.skipUnless(BIN and onnx, "PLUMB_BIN_DIR is not set or the package onnx is missing")
    def test_golden_finds_the_environment_beside_the_build(self):
        tools, venv = self.path / "release" / "bin", self.path / "venv" / "bin"
        tools.mkdir(parents=True)
        venv.mkdir(parents=True)
        shutil.copy(f"{BIN}/model_check", tools)
        (venv / "python").write_text("#!/bin/sh\necho this is the environment; exit 1\n")
        (venv / "python").chmod(0o755)
        tiny_model(self.path / "net.onnx")
        environment = {key: value for key, value in os.environ.items() if key != "PLUMB_PYTHON"}
        # The copy's libraries stay with the build: libplumb.so, or one per part.
        built = [pathlib.Path(BIN).parent / part for part in ("lib", "source")]
        folders = {str(library.parent) for part in built for library in part.rglob("libplumb*.so*")}
        environment["LD_LIBRARY_PATH"] = ":".join(sorted(folders))
        done = subprocess.run([tools / "model_check", "-m", self.path / "net.onnx", "-d", "NAIVE", "--golden",
                               "onnxruntime"],
                              env=environment, capture_output=True, text=True)
        if "reads no ONNX files" in done.stderr:
            self.skipTest(done.stderr)
        self.assertEqual(done.returncode, 2)
        self.assertIn("this is the environment", done.stderr)
        self.assertIn("platforms/linux/run.sh installs them into build/venv", done.stderr)

    def test_without_the_registry_one_line_says_so_and_nothing_is_written_into_the_checkout(self):
        root = pathlib.Path(__file__).resolve().parents[3]
        shutil.copytree(root / "platforms" / "linux", self.path / "platforms" / "linux")
        shutil.copytree(root / "tools" / "python", self.path / "tools" / "python",
                        ignore=shutil.ignore_patterns("__pycache__"))
        (self.path / "build").mkdir()
        before = sorted((self.path / "tools").rglob("*"))
        script = "source platforms/linux/build.sh; golden_environment; echo went on"
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=self.path, capture_output=True, text=True,
                              env={**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.path)})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout,
                         r"\nGoing on without plumb-golden, which --golden onnxruntime needs: "
                         r".*\(build/venv.log\)\nwent on\n$")
        self.assertEqual(sorted((self.path / "tools").rglob("*")), before)


class TorchTest(unittest.TestCase):
    """The names of an export, without PyTorch."""

    def node(self, kind, output, name="", scopes=None):
        metadata = [types.SimpleNamespace(key="pkg.torch.onnx.name_scopes", value=repr(scopes))] if scopes else []
        return types.SimpleNamespace(op_type=kind, name=name, input=["x", "w"], output=[output],
                                     metadata_props=metadata)

    def names(self, calls, nodes, weight, notes):
        export = types.SimpleNamespace(nodes=collections.defaultdict(list), weight=lambda node: weight)
        for node in nodes:
            export.nodes[(torch_golden.module_path(node), node.op_type)].append(node)
        return torch_golden.onnx_names(calls, export, notes)

    def test_paths_of_both_exporters(self):
        self.assertEqual(torch_golden.module_path(self.node("Conv", "y", "/layer1/layer1.0/conv1/Conv")),
                         "layer1.0.conv1")
        scopes = ["", "layer1", "layer1.0", "layer1.0.conv1", "conv2d"]
        self.assertEqual(torch_golden.module_path(self.node("Conv", "y", "node_conv2d_1", scopes)), "layer1.0.conv1")
        self.assertEqual(torch_golden.module_path(self.node("Add", "y", "node_add", ["", "add"])), "")

    def test_a_folded_batch_norm_bears_the_name_of_its_convolution(self):
        weight = np.ones((1, 1, 1, 1))
        calls = [torch_golden.Call("conv", "convolution", [], [], weight),
                 torch_golden.Call("bn", "native_batch_norm", [], [0], None)]
        nodes, notes = [self.node("Conv", "y", "/conv/Conv")], []
        self.assertEqual(self.names(calls, nodes, weight, notes), {0: "y"})
        self.assertEqual(notes, [])
        self.assertEqual(self.names(calls, nodes, weight * 2, notes), {1: "y"})
        self.assertEqual(notes,
                         ["1 BatchNorms are folded into the .onnx's convolutions: their results bear those names"])
        self.assertEqual(self.names(calls[:1], nodes, weight * 2, notes), {})
        self.assertIn("'y' has other weights in the .onnx", notes[-1])

    def test_inputs_are_named_as_in_the_export(self):
        export = torch_golden.Export.__new__(torch_golden.Export)
        export.inputs, notes = ["image", "mask"], []
        self.assertEqual(export.input_names({"input_0": 1, "input_1": 2}, notes),
                         {"input_0": "image", "input_1": "mask"})
        self.assertEqual(export.input_names({"mask": 1, "image": 2}, notes), {"mask": "mask", "image": "image"})
        self.assertEqual((export.input_names({"input": 1}, notes), len(notes)), ({"input": "input"}, 1))


class MnnTest(unittest.TestCase):
    def test_names_that_the_converter_gave_to_another_value(self):
        """Conv, Relu, then Squeeze in MNN: the squeezed tensor bears the name of the convolution."""
        graph = {"tensorName": ["x", "relu", "conv", "y"], "oplists": [
            {"type": "Input", "outputIndexes": [0]},
            {"type": "Convolution", "inputIndexes": [0], "outputIndexes": [1]},
            {"type": "Squeeze", "inputIndexes": [1], "outputIndexes": [2]},
            {"type": "Softmax", "inputIndexes": [2], "outputIndexes": [3]}]}
        roots = {"x": ("x", 0), "conv": ("conv", 1), "relu": ("relu", 2), "y": ("y", 3)}
        self.assertEqual(mnn_subject.wrongly_named(graph, roots), {"conv"})
        self.assertEqual(mnn_subject.wrongly_named(graph, {**roots, "conv": ("relu", 3)}), set())

    def test_printf_s_numbers(self):
        self.assertEqual(mnn_subject.read_json('{"a": [ -inf, inf ], "b": "inf x", "c": -1.5}'),
                         {"a": [-np.inf, np.inf], "b": "inf x", "c": -1.5})


if __name__ == "__main__":
    unittest.main()
