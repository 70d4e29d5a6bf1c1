# SPDX-License-Identifier: Apache-2.0
"""--prove-probe without any framework: what stands in the manifest of the outputs of two runs, and that model_check
says it.

Needs numpy; $PLUMB_BIN_DIR and $PLUMB_TEST_DATA for what blob_diff measures and for the report.
"""
import contextlib
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import numpy_python  # noqa: F401  (a Python that has numpy)
import numpy as np
from tools import BIN, MODEL, NEEDS_TOOLS, naive_dump

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from plumb_golden import cli, probe  # noqa: E402
from plumb_golden.folder import Folder, UsageError  # noqa: E402
from plumb_golden.foreign import read_tensors  # noqa: E402



class ProbeTest(unittest.TestCase):
    def setUp(self):
        work = tempfile.TemporaryDirectory()
        self.addCleanup(work.cleanup)
        self.path = pathlib.Path(work.name)
        self.values = np.random.default_rng(1).uniform(-3, 3, (2, 50)).astype(np.float32)

    def prove(self, watched, unwatched):
        """The manifest's answer for the network output 'y'."""
        folder = Folder(self.path / "dump", framework="mine")
        folder.add("y", watched)
        probe.prove(folder, "by nobody", {"y": unwatched})
        folder.finish()
        told = json.loads((self.path / "dump" / "manifest.json").read_text())["probe"]
        self.assertEqual(told["unwatched"], "by nobody")
        return told["outputs"][0]

    def test_the_same_bits_need_no_tool(self):
        self.values[0, 0] = np.nan
        with mock.patch.object(probe, "plumb_tool", lambda name: None):
            self.assertEqual(self.prove(self.values, self.values.copy()),
                             {"blob": "y", "result": "same bits", "relative": 0.0, "reason": ""})

    def test_without_blob_diff_a_difference_is_an_error_that_says_so(self):
        with mock.patch.object(probe, "plumb_tool", lambda name: None), self.assertRaisesRegex(UsageError, "blob_diff"):
            self.prove(self.values, self.values + 1)

    def test_an_output_that_the_dump_lacks_is_an_error(self):
        folder = Folder(self.path / "dump", framework="mine")
        folder.add("x", self.values)
        with self.assertRaisesRegex(UsageError, "lacks the network outputs"):
            probe.prove(folder, "", {"y": self.values})

    def test_values_that_a_recipe_cannot_bring_into_shape_are_another_result(self):
        told = self.prove(self.values, None)
        self.assertEqual((told["result"], told["reason"]), ("different", "of another shape unwatched"))

    def test_a_zero_of_another_sign_is_no_equal_bit(self):
        if not BIN:
            self.skipTest("PLUMB_BIN_DIR is not set")
        told = self.prove(np.float32([0.0, 1.0]), np.float32([-0.0, 1.0]))
        self.assertEqual((told["result"], told["relative"]), ("within rounding", 0.0))

    @NEEDS_TOOLS
    def test_rounding_is_measured(self):
        other = self.values.copy()
        other[1, 7] += np.float32(3e-6)
        told = self.prove(self.values, other)
        self.assertEqual((told["result"], told["reason"]), ("within rounding", ""))
        self.assertAlmostEqual(told["relative"], np.abs(self.values.astype(np.float64) - other).max()
                               / np.abs(other).max(), places=12)

    @NEEDS_TOOLS
    def test_another_result_has_a_reason_and_the_rule(self):
        told = self.prove(self.values, self.values * np.float32(1.01))
        self.assertEqual(told["result"], "different")
        self.assertIn("|a-b| <=", told["reason"])
        self.assertGreater(told["relative"], 0.005)

    @NEEDS_TOOLS
    def test_another_shape_is_another_result(self):
        self.assertIn("[2, 50] watched, [100] unwatched", self.prove(self.values, self.values.ravel())["reason"])

    def note(self, code, *words):
        """Of the command, on a dump with 'y' and a file with what words[0] says; its error."""
        folder = Folder(self.path / "written", framework="mine", force=True)
        folder.add("y", self.values)
        folder.finish()
        np.savez(self.path / "outputs.npz", **words[0])
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(cli.main(["probe", str(folder.path), str(self.path / "outputs.npz"), *words[1:]]), code)
        return errors.getvalue()

    def test_a_written_dump_gets_the_answer_and_keeps_the_rest(self):
        self.assertIn("of 1 outputs 1 same bits", self.note(0, {"y": self.values}, "--how", "no callback"))
        told = json.loads((self.path / "written" / "manifest.json").read_text())
        self.assertEqual(told.pop("probe"), {"unwatched": "no callback", "outputs": [
            {"blob": "y", "result": "same bits", "relative": 0.0, "reason": ""}]})
        self.assertEqual([entry["blob"] for entry in told["files"]], ["y"])
        self.assertEqual(told["framework"]["numpy"], np.__version__)
        self.assertEqual([file.name for file in (self.path / "written").glob("*.part")], [])

    def test_what_cannot_be_noted_is_one_sentence(self):
        self.assertIn("has a tensor 'z', which the dump in", self.note(2, {"z": self.values}))
        manifest = self.path / "written" / "manifest.json"
        whole = manifest.read_text()
        for text, words in ((whole.replace('"file":"', '"file":"../'), "outside of the folder"),
                            ("[]", "is no manifest of a dump"), ("{", "is no manifest of a dump"),
                            (whole.replace(".npy", ".raw"), "DUMP_BLOB_FORMAT=npy")):
            manifest.write_text(text)
            np.savez(self.path / "outputs.npz", y=self.values)
            with self.assertRaisesRegex(UsageError, words):
                probe.note(self.path / "written", self.path / "outputs.npz", "")
            self.assertEqual(manifest.read_text(), text)
        with self.assertRaisesRegex(UsageError, "has no manifest.json"):
            probe.note(self.path, self.path / "outputs.npz", "")

    def test_a_cut_archive_is_one_sentence(self):
        self.note(0, {"y": self.values})
        file = self.path / "outputs.npz"
        whole = file.read_bytes()
        for text in (whole[:50], whole[:100] + b"\0" * 200 + whole[300:]):
            file.write_bytes(text)
            with self.assertRaisesRegex(UsageError, "outputs.npz' cannot be read"):
                probe.note(self.path / "written", file, "")

    @NEEDS_TOOLS
    def test_the_report_says_it(self):
        naive_dump(self.path / "naive")
        tensors = read_tensors(self.path / "naive")
        for factor, result, words in ((1, "same bits", "1 of 1 outputs has the same bits"),
                                      (1 + 1e-6, "within rounding", "'fc' differs within rounding, by "),
                                      (1.1, "different", "'fc' is another result, by 9.1e-02 of its largest value")):
            dump = Folder(self.path / f"dump{factor}", framework="mine")
            for name, array in tensors.items():
                dump.add(name, array)
            probe.prove(dump, "by nobody", {"fc": (tensors["fc"] * np.float32(factor)).astype(np.float32)})
            dump.finish()
            done = subprocess.run([f"{BIN}/model_check", "-m", MODEL, "--subject", str(dump.path), "--json",
                                   str(self.path / "report.json")], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)  # the dump itself is healthy
            self.assertIn(f"probe: run unwatched (by nobody), {words}" if factor == 1 else words,
                          " ".join(done.stdout.split()))
            told = json.loads((self.path / "report.json").read_text())["runs"][0]["probe"]
            self.assertEqual((told["unwatched"], told["outputs"][0]["blob"], told["outputs"][0]["result"]),
                             ("by nobody", "fc", result))
        manifest = dump.path / "manifest.json"
        text = manifest.read_text()
        for other, code, words in (('"result":"odd","newer":1', 0, "'odd', which this version does not know"),
                                   ('"result":7', 2, "entry 1 of 'probe': 'result' is 7, expected a string")):
            manifest.write_text(text.replace('"result":"different"', other))
            done = subprocess.run([f"{BIN}/model_check", "-m", MODEL, "--subject", str(dump.path)],
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
            self.assertIn(words, " ".join((done.stdout + done.stderr).split()))


if __name__ == "__main__":
    unittest.main()
