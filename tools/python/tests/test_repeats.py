# SPDX-License-Identifier: Apache-2.0
"""--runs, --threads and --batch without any framework: a recipe of a few numbers that rounds otherwise, goes wrong or
stays the same when it is run otherwise; what stands in the manifest, and that model_check says it.

Needs numpy; $PLUMB_BIN_DIR and $PLUMB_TEST_DATA for what blob_diff measures and for the report.
"""
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
from plumb_golden import repeats  # noqa: E402
from plumb_golden.folder import Folder, UsageError  # noqa: E402
from plumb_golden.foreign import read_tensors  # noqa: E402
from plumb_golden.repeats import PLAIN, How  # noqa: E402



class RepeatsTest(unittest.TestCase):
    def setUp(self):
        work = tempfile.TemporaryDirectory()
        self.addCleanup(work.cleanup)
        self.path = pathlib.Path(work.name)
        self.x = np.random.default_rng(1).uniform(-3, 3, (2, 50)).astype(np.float32)

    def recipe(self, change):
        """A recipe of x, a = 2 x, b = a + 1 and c = |b|; change(name, values, how) gives what is dumped instead."""
        def run(path, how=PLAIN):
            folder = Folder(path, framework="mine")
            values = how.batched({"x": self.x})["x"]
            folder.add("x", values, is_input=True)
            for name, kind, of in (("a", "Mul", lambda v: 2 * v), ("b", "Add", lambda v: v + 1), ("c", "Abs", np.abs)):
                values = change(name, of(values), how).astype(np.float32)
                folder.add(name, values, kind=kind)
            folder.finish()
            return folder
        return run

    def prove(self, change, **options):
        run = self.recipe(change)
        folder = run(self.path / "dump")
        repeats.prove(folder, run, **options)
        return json.loads((self.path / "dump" / "manifest.json").read_text()).get("repeats")

    def test_the_same_bits_need_no_tool(self):
        with mock.patch.object(repeats, "plumb_tool", lambda name: None):
            told = self.prove(lambda name, values, how: values, runs=3, threads=4, batch=3)
        self.assertEqual([(one["how"], one["runs"], one["result"], one["tensors"], one["changed"], one["first"])
                          for one in told],
                         [("a fresh session", 2, "same bits", 3, 0, None),
                          ("later runs of one session", 1, "same bits", 3, 0, None),
                          ("4 threads", 1, "same bits", 3, 0, None),
                          ("a batch of 3 times the input", 1, "same bits", 3, 0, None)])
        self.assertEqual(repeats.sentence(told[0]), "repeated: with a fresh session (2 times) 3 tensors have the same "
                                                    "bits")

    def test_nothing_asked_nothing_written(self):
        self.assertIsNone(self.prove(lambda name, values, how: values))

    @NEEDS_TOOLS
    def test_what_rounds_otherwise_names_the_first_operator(self):
        told, = self.prove(lambda name, values, how: values * np.float32(1 + 1e-7 * (name == "b" and how.threads == 2)),
                           threads=2)
        self.assertEqual((told["result"], told["changed"], told["first"]),
                         ("within rounding", 2, {"blob": "b", "layer": "b", "type": "Add"}))
        self.assertLess(told["relative"], 1e-6)
        self.assertIn("2 of 3 tensors change, within rounding; the first: 'b' (Add), by ", repeats.sentence(told))

    @NEEDS_TOOLS
    def test_a_row_of_a_batch_that_is_another_is_a_fault(self):
        def change(name, values, how):
            values = values.copy()
            if name == "a" and how.batch == 3:
                values[5, 7] += 1  # of the last input
            return values
        told, = self.prove(change, batch=3)
        self.assertEqual((told["result"], told["changed"], told["first"]["blob"]), ("different", 3, "a"))
        self.assertIn("1 of 100 values differ", told["reason"])

    @NEEDS_TOOLS
    def test_of_several_runs_the_worst_is_told(self):
        count = iter(range(10))
        told = self.prove(lambda name, values, how: values + (name == "c" and next(count) == 3), runs=4)
        self.assertEqual([(one["how"], one["runs"], one["result"]) for one in told],
                         [("a fresh session", 2, "different"), ("later runs of one session", 2, "same bits")])
        self.assertEqual(told[0]["first"]["blob"], "c")

    def test_what_cannot_be_is_one_sentence(self):
        with mock.patch.object(repeats, "plumb_tool", lambda name: None), \
                self.assertRaisesRegex(UsageError, "--threads: with 2 threads: tensors differ from run to run, and "
                                                   "blob_diff"):
            self.prove(lambda name, values, how: values + (how.threads == 2), threads=2)
        with self.assertRaisesRegex(UsageError, "the input 'n' is a scalar"):
            How(batch=2).batched({"n": np.float32(1)})

    @NEEDS_TOOLS
    def test_model_check_says_it(self):
        naive_dump(self.path / "naive")

        def run(path, how=PLAIN):
            folder = Folder(path, framework="mine")
            for name, array in read_tensors(self.path / "naive").items():
                folder.add(name, array + np.float32(how.warm), is_input=name == "input", kind="Any")
            folder.finish()
            return folder
        folder = run(self.path / "dump")
        repeats.prove(folder, run, runs=2)
        done = subprocess.run([f"{BIN}/model_check", "-m", MODEL, "--subject", self.path / "dump", "--json",
                               self.path / "r.json"], capture_output=True, text=True)
        said = " ".join(done.stdout.split())
        for one in folder.repeats:
            self.assertIn(" ".join(repeats.sentence(one).split())[:150], said)
        told = json.loads((self.path / "r.json").read_text())["runs"][0]["repeats"]
        self.assertEqual([one["result"] for one in told], ["same bits", "different"])
        self.assertEqual(told[1]["first"], folder.repeats[1]["first"]["blob"])
        manifest = json.loads((self.path / "dump" / "manifest.json").read_text())
        manifest["repeats"] = [{"how": 3, "first": []}]
        (self.path / "dump" / "manifest.json").write_text(json.dumps(manifest))
        done = subprocess.run([f"{BIN}/model_check", "-m", MODEL, "--subject", self.path / "dump"],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn("entry 1 of 'repeats'", " ".join((done.stdout + done.stderr).split()))


if __name__ == "__main__":
    unittest.main()
