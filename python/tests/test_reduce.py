# SPDX-License-Identifier: Apache-2.0
"""plumbnn.reduce: the smallest model that a runtime still computes wrongly."""
import os
import pathlib
import tempfile
import unittest

import plumbnn

BIN = pathlib.Path(os.environ["PLUMB_BIN_DIR"])
MODEL = pathlib.Path(os.environ["PLUMB_ROOT"]) / "examples/digits/digits.tnnproto"
# model_run on a network of which sed made another one.
RUNTIME = """set -e
sed -e '{edit}' "$1" > {folder}/net.tnnproto
cp "${{1%.tnnproto}}.tnnmodel" {folder}/net.tnnmodel
DUMP_INPUT_BLOB=1 DUMP_OUTPUT_BLOB=1 DUMP_BLOB_DIR="$3" {bin}/model_run -m {folder}/net.tnnproto -i "$2" -d NAIVE -q
"""


class Reduce(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.work.name)
        self.addCleanup(self.work.cleanup)

    def runtime(self, edit):
        script = self.folder / "runtime.sh"
        script.write_text(RUNTIME.format(edit=edit, folder=self.folder, bin=BIN))
        return f"sh {script} {{model}} {{inputs}} {{dump}}"

    def test_a_wrong_step_becomes_a_case(self):
        command = self.runtime("s/relu2 pool2 0 /relu2 pool2 1 /")
        report = plumbnn.reduce(MODEL, self.folder / "cases", run=command)
        self.assertEqual(report.wrong_steps, 1)
        self.assertEqual([one["layer"] for one in report.cases], ["pool2"])
        self.assertEqual(report.cases[0]["layers"], 1)
        self.assertTrue(report.tries[0]["wrong"])
        self.assertIn("1 of 1 wrong steps are reduced", str(report))
        case = pathlib.Path(report.cases[0]["folder"])
        again = plumbnn.check(case / "case.tnnproto", ["NAIVE"], str(case / "inputs.npz"))
        self.assertTrue(again.aligned)

    def test_nothing_is_wrong(self):
        report = plumbnn.reduce(MODEL, self.folder / "cases", device="NAIVE")
        self.assertEqual((report.wrong_steps, report.cases), (0, []))
        self.assertIn("nothing is wrong", report._repr_html_())

    def test_what_is_not_possible_is_an_error(self):
        for options in ({}, {"device": "NAIVE", "run": "true {model} {dump}"}, {"run": "true {model}"}):
            with self.assertRaises(plumbnn.Error):
                plumbnn.reduce(MODEL, self.folder / "cases", **options)


if __name__ == "__main__":
    unittest.main()
