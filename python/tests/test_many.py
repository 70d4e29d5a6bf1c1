# SPDX-License-Identifier: Apache-2.0
"""check_many: samples out of files and arrays, the ranking, and the worst one layer by layer.

Needs numpy, the package on the path, and $PLUMB_ROOT (ctest sets all of it).
"""

import importlib.util
import json
import os
import pathlib
import tempfile
import unittest

import numpy as np

import plumbnn
from plumbnn import _many

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

    def test_whoever_runs_them(self):
        executors = ["processes"] + (["ray"] if importlib.util.find_spec("ray") else [])
        samples = {f"image {i}": {"input": one[None]} for i, one in enumerate(IMAGES)}
        with tempfile.TemporaryDirectory() as folder:
            np.savez(folder + "/all.npz", input=IMAGES)
            for name, given in (("arrays", samples), ("rows", folder + "/all.npz")):
                loop, found = f"{folder}/{name}.loop", f"{folder}/{name}.found"
                plumbnn.check_many(DIGITS, given, "NAIVE", results=loop)
                for executor in executors:
                    pathlib.Path(found).unlink(missing_ok=True)
                    many = plumbnn.check_many(DIGITS, given, "NAIVE", results=found, executor=executor, workers=2)
                    self.assertEqual((many.ran, many.agreed, many.failed), (4, 4, 0))
                    self.assertTrue(many.check_worst().aligned)
                    self.assertEqual(pathlib.Path(found).read_bytes(), pathlib.Path(loop).read_bytes())
            self.assertEqual(plumbnn.check_many(DIGITS, samples, "NAIVE", executor="processes").ran, 4)

    def test_progress(self):
        images = np.random.default_rng(4).random((15000, 1, 8, 8), dtype=np.float32)
        kept, _many.TOLD_EVERY = _many.TOLD_EVERY, 0.02
        self.addCleanup(setattr, _many, "TOLD_EVERY", kept)
        for executor in ("loop", "processes"):
            told = []
            with tempfile.TemporaryDirectory() as folder:
                np.savez(folder + "/all.npz", input=images)
                many = plumbnn.check_many(
                    DIGITS, folder + "/all.npz", "NAIVE", executor=executor, progress=lambda *now: told.append(now)
                )
            self.assertEqual(many.ran, len(images))
            self.assertTrue(told, executor)
            self.assertEqual({count for _, count, _ in told}, {len(images)})
            done = [done for done, _, _ in told]
            self.assertEqual(done, sorted(done))
            self.assertTrue(any(0 < now < count and left > 0 for now, count, left in told), told)

    def test_a_subject_and_a_golden_of_each_sample(self):
        with tempfile.TemporaryDirectory() as folder:
            samples = {}
            for i, image in enumerate(IMAGES):
                samples[str(i)] = {"input": image[None]}
                prob = plumbnn.run(DIGITS, image[None], "NAIVE")["prob"]
                np.savez(f"{folder}/{i}.npz", prob=prob[:, ::-1] if i == 2 else prob)
            for side in ("subject", "golden"):
                many = plumbnn.check_many(DIGITS, samples, "NAIVE", **{side: folder})
                self.assertEqual((many.ran, many.agreed), (4, 3), str(many))
                self.assertEqual(many.worst.name, "2")
                self.assertIn(f"of the {side}", str(many))
                self.assertFalse(many.check_worst(min_tested=0).aligned)

    def test_mistakes_are_one_sentence(self):
        for samples, words in (
            ("nowhere", "'nowhere' does not exist"),
            ([], "none of the samples could be run"),
        ):
            with self.assertRaisesRegex(plumbnn.Error, words):
                plumbnn.check_many(DIGITS, samples, "NAIVE").check_worst()
        model, named = plumbnn.load(DIGITS), {"a/b": {"input": IMAGES[:1]}}
        for given, samples, words in (
            (model, [IMAGES[:1]], "executor 'processes' starts programs: give the model as a path"),
            (DIGITS, named, "'a/b' cannot be a file's name"),
            (DIGITS, "nowhere", "model_check: .*'nowhere' does not exist"),
        ):
            with self.assertRaisesRegex(plumbnn.Error, words):
                plumbnn.check_many(given, samples, "NAIVE", executor="processes")
        absent = "ARM" if _many.CPU_DEVICE == "X86" else "X86"
        with self.assertRaisesRegex(plumbnn.Error, absent):
            plumbnn.check_many(DIGITS, [IMAGES[:1]], absent, executor="processes")
        with self.assertRaisesRegex(plumbnn.Error, "executor: processes, ray, loop; found 'spark'"):
            plumbnn.check_many(DIGITS, [IMAGES[:1]], "NAIVE", executor="spark")


if __name__ == "__main__":
    unittest.main()
