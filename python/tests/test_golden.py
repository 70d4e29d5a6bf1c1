# SPDX-License-Identifier: Apache-2.0
"""Two writers of dump folders agree: the library's, and plumbnn.golden's, which runs without the extension."""

import json
import os
import pathlib
import random
import tempfile
import unittest

import numpy as np

import plumbnn
from plumbnn.golden import printable
from plumbnn.golden.folder import Folder, to_text

ROOT = pathlib.Path(os.environ["PLUMB_ROOT"])
DIGITS = str(ROOT / "examples/digits/digits.tnnproto")


class GoldenTest(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.folder = pathlib.Path(self._folder.name)

    def test_files_checksums_and_statistics_are_the_same(self):
        x = np.random.default_rng(1).random((1, 1, 8, 8), dtype=np.float32)
        ours = pathlib.Path(plumbnn.dump(DIGITS, self.folder / "ours", {"input": x}, "NAIVE"))
        entries = json.loads((ours / "manifest.json").read_text())["files"]
        theirs = Folder(self.folder / "theirs", framework="the same values")
        for entry in entries:
            theirs.add(entry["blob"], np.load(ours / entry["file"]))
        theirs.finish()
        written = json.loads((self.folder / "theirs/manifest.json").read_text())["files"]
        self.assertEqual(len(written), len(entries))
        self.assertGreater(len(entries), 5)
        for entry, other in zip(entries, written):
            with self.subTest(entry["blob"]):
                self.assertEqual(other["blob"], entry["blob"])
                bytes_of = [(ours / entry["file"]).read_bytes()]
                bytes_of.append((self.folder / "theirs" / other["file"]).read_bytes())
                self.assertEqual(*bytes_of)
                for field in ("dtype", "shape"):
                    self.assertEqual(other[field], entry[field])
                for field in ("values_xxh64", "xxh64"):
                    self.assertIn(other[field], ("", entry[field]))  # "": without xxhash
                self.compare(other["statistics"], entry["statistics"])

    def test_manifests_are_written_byte_for_byte_alike(self):
        x = np.random.default_rng(1).random((1, 1, 8, 8), dtype=np.float32)
        ours = pathlib.Path(plumbnn.dump(DIGITS, self.folder / "ours", {"input": x}, "NAIVE"))
        text = (ours / "manifest.json").read_text(encoding="utf-8")
        expected = json.loads(text)
        self.assertEqual(to_text(expected), text)
        theirs = Folder(self.folder / "theirs", framework="by hand")
        theirs.add("input", x, is_input=True)
        theirs.finish()
        found = json.loads((self.folder / "theirs/manifest.json").read_text(encoding="utf-8"))
        self.assertEqual(list(found.pop("framework")), ["python", "numpy", "cpu", "platform", "notes", "left_out"])
        self.assertEqual(list(found), list(expected))  # the same fields in the same order
        for field in ("model", "device", "options"):
            self.assertEqual(list(found[field]), list(expected[field]))
        self.assertEqual(list(found["files"][0]), list(expected["files"][0]))
        self.assertEqual(list(found["files"][0]["statistics"]), list(expected["files"][0]["statistics"]))

    def compare(self, found, expected):
        self.assertEqual(set(found), set(expected))
        for name, value in expected.items():
            if name in ("mean", "std", "sum"):  # added up in another order
                self.assertAlmostEqual(found[name], value, delta=1e-6 * max(1, abs(value)))
            else:
                self.assertEqual(found[name], value, name)

    def test_both_print_names_alike(self):
        pieces = ["x", "'", "\n", "\n  ", "\x1b[2J", "\x9b", "\u202e", "\u2028", "\ufeff", "\U000e0041", "n" * 201, " "]
        draw = random.Random(1)
        for _ in range(2000):
            text = "".join(draw.choice(pieces) for _ in range(draw.randrange(9)))
            self.assertEqual(printable.message(text), plumbnn._core.printable_message(text.encode()))

    def test_a_golden_of_the_package_is_read_back(self):
        x = np.random.default_rng(1).random((1, 1, 8, 8), dtype=np.float32)
        golden = Folder(self.folder / "golden", framework="by hand")
        golden.add("input", x, is_input=True)
        golden.add("prob", plumbnn.run(DIGITS, {"input": x}, "NAIVE")["prob"])
        golden.finish()
        report = plumbnn.check(DIGITS, ["NAIVE"], golden=self.folder / "golden")
        self.assertEqual(report.verdicts["NAIVE"], "aligned")
        self.assertIn("golden", report.verdicts)

    def test_a_golden_that_was_cut_off_is_refused(self):
        golden = Folder(self.folder / "golden", framework="by hand")
        golden.add("prob", plumbnn.run(DIGITS, seed=1)["prob"])  # and no finish()
        for option in ("golden", "subject"):
            with self.assertRaisesRegex(plumbnn.Error, "was cut off"):
                plumbnn.check(DIGITS, ["NAIVE"], **{option: self.folder / "golden"})


if __name__ == "__main__":
    unittest.main()
