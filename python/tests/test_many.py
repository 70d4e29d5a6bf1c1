# SPDX-License-Identifier: Apache-2.0
"""check_many: samples out of files and arrays, the ranking, and the worst one layer by layer.

Needs numpy, the package on the path, and $PLUMB_ROOT (ctest sets all of it).
"""

import json
import os
import pathlib
import tempfile
import unittest

import numpy as np

import plumbnn

DIGITS = str(pathlib.Path(os.environ["PLUMB_ROOT"]) / "examples/digits/digits.tnnproto")
IMAGES = np.random.default_rng(3).random((4, 1, 8, 8), dtype=np.float32)


class ManyTest(unittest.TestCase):
    def test_arrays_are_samples(self):
        for samples in (
            list(IMAGES[:, None]),
            {str(i): {"input": one[None]} for i, one in enumerate(IMAGES)},
        ):
            many = plumbnn.check_many(DIGITS, samples, "NAIVE")
            self.assertEqual((many.ran, many.agreed, many.failed), (4, 4, 0))
            self.assertEqual({sample.name for sample in many.samples}, set("0123"))
            np.testing.assert_allclose(many.interval, (0.5101, 1.0), atol=1e-4)
            self.assertIn("the answer is the same for 4 (100.0 %", str(many))
            self.assertIn("4 with the same answer", repr(many))
            self.assertIn("<table>", many._repr_html_())
            self.assertTrue(many.check_worst().aligned)

    def test_files_are_samples_and_what_is_done_is_kept(self):
        with tempfile.TemporaryDirectory() as folder:
            np.savez(folder + "/all.npz", input=IMAGES)
            os.mkdir(folder + "/one")
            for i, image in enumerate(IMAGES):
                np.save(f"{folder}/one/{i}.npy", image[None])
            pathlib.Path(folder + "/one/broken.npy").write_text("no array")
            results = folder + "/results.jsonl"
            of_archive = plumbnn.check_many(DIGITS, folder + "/all.npz", "NAIVE", results=results)
            self.assertEqual(of_archive.ran, 4)
            self.assertEqual(len(pathlib.Path(results).read_text().splitlines()), 5)
            again = plumbnn.check_many(DIGITS, folder + "/all.npz", "NAIVE", results=results)
            self.assertIn("4 were done before", str(again))
            of_folder = plumbnn.check_many(DIGITS, folder + "/one", "NAIVE")
            self.assertEqual((of_folder.ran, of_folder.failed), (4, 1))
            self.assertIn("broken.npy", of_folder.samples[-1].name)
            for many in (of_archive, of_folder):
                self.assertTrue(many.check_worst().aligned)
            lines = [json.loads(line) for line in pathlib.Path(results).read_text().splitlines()]
            self.assertEqual(lines[0]["format"], "plumb-samples")

    def test_mistakes_are_one_sentence(self):
        for samples, words in (
            ("nowhere", "'nowhere' does not exist"),
            ([], "none of the samples could be run"),
        ):
            with self.assertRaisesRegex(plumbnn.Error, words):
                plumbnn.check_many(DIGITS, samples, "NAIVE").check_worst()


if __name__ == "__main__":
    unittest.main()
