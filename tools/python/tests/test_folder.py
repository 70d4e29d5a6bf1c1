# SPDX-License-Identifier: Apache-2.0
"""plumb_golden without any framework: what it writes, model_check reads; what others write, it reads; pickles are
refused.

Needs numpy; $PLUMB_BIN_DIR and $PLUMB_TEST_DATA for the round trip through the tools.
"""
import base64
import io
import json
import pathlib
import pickle
import re
import subprocess
import sys
import tempfile
import unittest

import numpy_python  # noqa: F401  (a Python that has numpy)
import numpy as np
from tools import BIN, MODEL, NEEDS_TOOLS, naive_dump

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import plumb_golden  # noqa: E402
from plumb_golden import inputs  # noqa: E402
from plumb_golden.cli import main  # noqa: E402
from plumb_golden.folder import Folder, UsageError, statistics  # noqa: E402
from plumb_golden.foreign import read_tensors  # noqa: E402



class InFolder(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.TemporaryDirectory()
        self.addCleanup(self.work.cleanup)
        self.path = pathlib.Path(self.work.name)


class FolderTest(InFolder):
    def test_manifest_describes_every_tensor(self):
        values = np.array([[1.5, np.nan, -np.inf, 0.0]], dtype=np.float32)
        plumb_golden.start(self.path / "d", framework="mine 1.0")
        plumb_golden.dump("a/b:0", values)
        plumb_golden.dump("n", np.arange(3, dtype=np.int64), is_input=True)
        plumb_golden.finish()
        manifest = json.loads((self.path / "d" / "manifest.json").read_text())
        self.assertEqual([f["blob"] for f in manifest["files"]], ["a/b:0", "n"])
        self.assertEqual(manifest["files"][0]["shape"], [1, 4])
        self.assertEqual(manifest["files"][0]["statistics"]["nan"], 1)
        self.assertEqual(manifest["files"][0]["statistics"]["max"], 1.5)
        self.assertEqual(manifest["files"][1]["direction"], "in")
        self.assertEqual(manifest["device"]["name"], "mine 1.0")
        self.assertIn("numpy", manifest["framework"])
        np.testing.assert_array_equal(read_tensors(self.path / "d")["a/b:0"], values)

    def test_names_are_unique_and_finished_dumps_stay(self):
        folder = Folder(self.path / "d")
        folder.add("a", np.zeros(2))
        with self.assertRaises(UsageError):
            folder.add("a", np.zeros(2))
        with self.assertRaises(UsageError):
            folder.add("b", np.array(["text"]))
        folder.finish()
        with self.assertRaises(UsageError):
            Folder(self.path / "d")

    def test_statistics_count_what_is_special(self):
        s = statistics(np.array([0.0, -0.0, 1e-40, np.inf, 2.0], dtype=np.float32))
        self.assertEqual((s["zeros"], s["subnormals"], s["inf"], s["max"]), (2, 1, 1, 2.0))


class ConstantTest(InFolder):
    """--constant NAME=VALUES and NAME=FILE: of the dtype and shape that the model's input has."""

    INPUTS = {"rate": ("int64", []), "mask": ("float32", [2, "N"]), "ids": ("int64", [2, 2])}

    def read(self, *texts, shapes=None):
        return inputs.constants(texts, self.INPUTS, shapes or {})

    def test_a_list_takes_the_inputs_shape(self):
        rate = self.read("rate=16000")["rate"]
        self.assertEqual((rate.dtype, rate.shape, rate.item()), (np.int64, (), 16000))
        np.testing.assert_array_equal(self.read("ids=1,2,3,4")["ids"], [[1, 2], [3, 4]])
        self.assertEqual(self.read("mask=1,0.5", shapes={"mask": [2, 1]})["mask"].shape, (2, 1))

    def test_a_file_gives_the_values(self):
        np.save(self.path / "mask.npy", np.ones((2, 3)))
        mask = self.read(f"mask={self.path / 'mask.npy'}")["mask"]
        self.assertEqual((mask.dtype, mask.shape), (np.float32, (2, 3)))

    def test_what_does_not_fit_is_refused(self):
        for text, part in (("rate", "expected NAME=VALUES"), ("other=1", "has no input 'other'"),
                           ("rate=1.5", "values of int64"),
                           ("ids=1,2,3", "the shape [2, 2]"), ("mask=1,2", "the shape [2, 'N']")):
            with self.assertRaisesRegex(UsageError, re.escape(part)):
                self.read(text)


class ForeignTest(InFolder):
    def test_reads_what_others_write(self):
        x = np.arange(6, dtype=np.float32).reshape(1, 2, 3)
        np.savez(self.path / "x.npz", x=x)
        np.testing.assert_array_equal(read_tensors(self.path / "x.npz")["x"], x)
        (self.path / "t.txt").write_text("1\nx 3 1 2 3 0\n" + "\n".join(str(v) for v in x.reshape(-1)) + "\n")
        np.testing.assert_array_equal(read_tensors(self.path / "t.txt")["x"], x)
        (self.path / "o_ref_data.dat.bmrt").write_bytes(x.tobytes())
        np.testing.assert_array_equal(read_tensors(self.path / "o_ref_data.dat.bmrt",
                                                   [("x", "float32", [1, 2, 3])])["x"], x)
        buffer = io.BytesIO()
        np.save(buffer, x)
        runs = {"lst": [["onnxrt-runner",
                         [{"outputs": {"x": {"values": {"array": base64.b64encode(buffer.getvalue()).decode()}}}}]]]}
        (self.path / "p.json").write_text(json.dumps(runs))
        np.testing.assert_array_equal(read_tensors(self.path / "p.json")["x"], x)

    def test_refuses_pickles(self):
        (self.path / "x.pkl").write_bytes(pickle.dumps([1]))
        with self.assertRaisesRegex(UsageError, "pickle"):
            read_tensors(self.path / "x.pkl")
        np.save(self.path / "object.npy", np.array([{}], dtype=object), allow_pickle=True)
        with self.assertRaises(UsageError):
            read_tensors(self.path / "object.npy")

    def test_a_manifest_that_is_none_is_said(self):
        entry = {"file": "a.npy", "blob": "a", "shape": [1], "dtype": "f32", "direction": "out", "constant": False}
        for text in ("{", "[]", "[" * 100000, json.dumps({"files": [{**entry, "file": "a\0.npy"}]}),
                     json.dumps({"files": [{**entry, "file": 3}]})):
            (self.path / "manifest.json").write_text(text)
            with self.assertRaisesRegex(UsageError, "is no manifest of a dump, or its files|cannot be read"):
                read_tensors(self.path)

    def test_errors_have_exit_code_2(self):
        self.assertEqual(main(["onnx", str(self.path / "missing.onnx"), "-o", str(self.path / "d")]), 2)


@NEEDS_TOOLS
class RoundTripTest(InFolder):
    def test_model_check_reads_the_folder(self):
        naive_dump(self.path / "naive")
        plumb_golden.start(self.path / "mine", framework="mine")
        for name, array in read_tensors(self.path / "naive").items():
            plumb_golden.dump(name, array)
        plumb_golden.finish()
        done = subprocess.run([f"{BIN}/model_check", "-m", MODEL, "--subject", str(self.path / "mine")],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("23 aligned", done.stdout)
        self.assertIn("dump of mine", done.stdout)


if __name__ == "__main__":
    unittest.main()
