#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stages of a pipeline: written down, compared, explained; what is hostile is one sentence."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import plumbnn


def picture(height, width, seed=1):
    """Waves, ramps and noise: no two conventions give the same of it."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    waves = [128 + 90 * np.sin(x / 7 + y / 19), 128 + 80 * np.cos(x / 23 - y / 5), (x * 3 + y * 2) % 256]
    return np.clip(np.stack(waves, -1) + rng.normal(0, 25, (height, width, 3)), 0, 255).astype(np.uint8)


def nearest(image, height, width, shift=0.0):
    rows = np.minimum(((np.arange(height) + shift) * image.shape[0] / height).astype(int), image.shape[0] - 1)
    columns = np.minimum(((np.arange(width) + shift) * image.shape[1] / width).astype(int), image.shape[1] - 1)
    return image[rows][:, columns]


MEAN, STD = np.float32([0.485, 0.456, 0.406]), np.float32([0.229, 0.224, 0.225])


def pipeline(resize=nearest, swap=False, mean=MEAN, std=STD, crop=0, shift=0.0, weights=None):
    """A classifier with NumPy alone; each argument plants a difference."""
    image = picture(96, 131)
    plumbnn.stage("decode", image[..., ::-1] if swap else image, color="")
    image = image[..., ::-1] if swap else image
    image = plumbnn.stage("resize", resize(image, 70, 71, shift), size=(70, 71))
    top, left = (70 - 63) // 2 + crop, (71 - 64) // 2 + crop
    image = plumbnn.stage("crop", image[top:top + 63, left:left + 64])
    image = ((image.astype(np.float32) / 255 - mean) / std).astype(np.float32)
    plumbnn.stage("normalise", image)
    tensor = plumbnn.stage("input", np.ascontiguousarray(image.transpose(2, 0, 1))[None])
    if weights is None:
        weights = np.random.default_rng(5).normal(0, 1, (10, tensor.size)).astype(np.float32)
    logits = plumbnn.stage("logits", (weights @ tensor.ravel())[None])
    scores = np.exp(logits - logits.max())
    plumbnn.stage("softmax", (scores / scores.sum()).astype(np.float32))


PROGRAM = """
import ast, sys
sys.path.insert(0, {folder!r})
from test_stage import *
pipeline(**{arguments})
"""


class StageTest(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.work.name)

    def tearDown(self):
        self.work.cleanup()

    def run_program(self, name, arguments="{}", code=None):
        """One process per side: each claims its folder once."""
        code = code or PROGRAM.format(folder=str(pathlib.Path(__file__).parent), arguments=arguments)
        environment = {**os.environ, "DUMP_STAGE_DIR": str(self.folder / name)}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.folder / name

    def diff(self, arguments):
        return plumbnn.stage_diff(self.run_program("original"), self.run_program("port", arguments))

    def verdicts(self, report):
        return {row["stage"]: row["verdict"] for row in report.samples[0]["stages"]}

    def test_off_computes_nothing(self):
        self.assertNotIn("DUMP_STAGE_DIR", os.environ)
        refuses = object()
        self.assertIs(plumbnn.stage("resize", refuses), refuses)
        plumbnn.sample("x")

    def test_the_same_program_twice_is_aligned(self):
        report = self.diff("{}")
        self.assertEqual(report.verdict, "aligned")
        self.assertEqual(set(self.verdicts(report).values()), {"aligned"})
        self.assertIsNone(report.first_guilty)
        self.assertIn("ALIGNED", str(report))

    def test_what_a_folder_holds(self):
        folder = self.run_program("original")
        manifest = json.loads((folder / "sample-00000" / "manifest.json").read_text())
        self.assertEqual(manifest["format"], "plumb-dump")
        entry = manifest["files"][1]
        self.assertEqual(entry["blob"], "resize")
        self.assertEqual(entry["stage"], "resize")
        self.assertEqual(entry["shape"], [70, 71, 3])
        self.assertEqual(entry["dtype"], "u8")
        self.assertEqual(entry["parameters"], {"size": [70.0, 71.0]})
        values = np.load(folder / "sample-00000" / entry["file"])
        self.assertTrue(np.array_equal(values, nearest(picture(96, 131), 70, 71)))

    def test_only_the_first_guilty_stage_is_introduced(self):
        report = self.diff("dict(shift=0.5)")
        self.assertEqual(self.verdicts(report), {
            "decode": "aligned", "resize": "introduced", "crop": "inherited", "normalise": "inherited",
            "input": "inherited", "logits": "differs", "softmax": "inherited"})
        guilty = report.first_guilty
        self.assertEqual(guilty["stage"], "resize")
        self.assertIn("the original's is OpenCV's INTER_NEAREST (here the same", guilty["cause"])
        self.assertIn("the port's is OpenCV's INTER_NEAREST_EXACT (OpenCV 4.13) (here the same", guilty["cause"])
        self.assertIn("cv2.INTER_NEAREST", guilty["mend"])
        answer = report.samples[0]["answer"]
        self.assertEqual(answer["mended"], answer["original"])

    def test_two_guilty_stages_are_both_found(self):
        report = self.diff("dict(shift=0.5, crop=1)")
        verdicts = self.verdicts(report)
        self.assertEqual([verdicts["resize"], verdicts["crop"]], ["introduced", "introduced"])
        rows = {row["stage"]: row for row in report.samples[0]["stages"]}
        self.assertIn("offset is rounded down", rows["crop"]["cause"])
        self.assertIn("all guilty stages mended", report.samples[0]["answer"]["why"])

    def test_channels_exchanged(self):
        report = self.diff("dict(swap=True)")
        self.assertEqual(report.first_guilty["stage"], "decode")
        self.assertIn("red and blue exchanged", report.first_guilty["cause"])
        self.assertEqual(self.verdicts(report)["normalise"], "inherited")

    def test_an_order_that_is_said_is_no_difference(self):
        code = """
import numpy as np, plumbnn
image = np.arange(8 * 9 * 3, dtype=np.uint8).reshape(8, 9, 3)
plumbnn.stage("decode", image{0}, color="{1}")
plumbnn.stage("crop", image[2:7, 1:8]{0})
plumbnn.stage("cvtcolor", image[2:7, 1:8]{2}, color="RGB")
"""
        original = self.run_program("a", code=code.format("", "RGB", ""))
        port = self.run_program("b", code=code.format("[..., ::-1]", "BGR", ""))
        self.assertEqual(plumbnn.stage_diff(original, port).verdict, "aligned")
        forgotten = self.run_program("c", code=code.format("[..., ::-1]", "BGR", "[..., ::-1]"))
        wrong = plumbnn.stage_diff(original, forgotten)
        self.assertEqual(wrong.first_guilty["stage"], "cvtcolor")
        self.assertIn("red and blue exchanged", wrong.first_guilty["cause"])

    def test_normalisations_are_called_by_their_names(self):
        cases = {"mean=0.5, std=0.5": "mean 0.5 and std 0.5", "mean=MEAN[::-1], std=STD[::-1]": "in the order of BGR",
                 "mean=0, std=1": "x / 255", "mean=MEAN, std=1": "no division by the std",
                 "mean=MEAN / 255": "the mean subtracted before the division by 255"}
        for change, words in cases.items():
            with self.subTest(change), tempfile.TemporaryDirectory() as folder:
                self.folder = pathlib.Path(folder)
                report = self.diff(f"dict({change})")
                self.assertEqual(report.first_guilty["stage"], "normalise")
                self.assertIn("ImageNet's mean and std;", report.first_guilty["cause"])
                self.assertIn(words, report.first_guilty["cause"])

    def test_a_guilty_network(self):
        report = self.diff("dict(weights=np.ones((10, 3 * 63 * 64), np.float32))")
        self.assertEqual(report.first_guilty["stage"], "logits")
        self.assertIn("the network itself", report.first_guilty["cause"])

    def test_integers_are_compared_in_a_wider_type(self):
        original = "import numpy as np, plumbnn\nplumbnn.stage('decode', np.full((8, 9, 3), {}, np.uint8))"
        a = self.run_program("a", code=original.format(12))
        b = self.run_program("b", code=original.format(244))
        report = plumbnn.stage_diff(a, b)
        self.assertEqual(report.samples[0]["stages"][0]["max_abs"], 232)

    def test_samples_begin_again_and_by_name(self):
        loop = "import numpy as np, plumbnn\nfor i in range(3):\n"
        a = self.run_program("a", code=loop + "    plumbnn.stage('decode', np.full((8, 9, 3), i, np.uint8))")
        self.assertEqual(sorted(path.name for path in a.iterdir() if path.is_dir()),
                         ["sample-00000", "sample-00001", "sample-00002"])
        named = loop + "    plumbnn.sample(f'{(i + 1) % 3}/x.jpg')\n" + \
            "    plumbnn.stage('decode', np.full((8, 9, 3), i, np.uint8))"
        b = self.run_program("b", code=named)
        self.assertEqual(sorted(path.name for path in b.iterdir() if path.is_dir()), ["0_x.jpg", "1_x.jpg", "2_x.jpg"])
        c = self.run_program("c", code=named.replace("(i + 1) % 3", "i"))
        report = plumbnn.stage_diff(b, c)
        self.assertEqual(report.verdict, "different")
        self.assertIn("another sample", report.first_guilty["cause"])

    def test_a_folder_is_never_mixed(self):
        code = "import numpy as np, plumbnn\nplumbnn.stage('decode', np.zeros((8, 9, 3), np.uint8))"
        self.run_program("a", code=code)
        self.run_program("a", code=code)
        self.assertTrue((self.folder / "a-2" / "sample-00000" / "manifest.json").exists())

    def test_what_is_hostile_is_one_sentence(self):
        entry = {"file": "x.npy", "blob": "resize", "shape": [2, 2], "dtype": "u8"}
        cases = {
            "no JSON": ("[", "expected a JSON object"),
            "no list": ("{}", "expected a list 'files'"),
            "a link out": (json.dumps({"files": [{**entry, "file": "../x.npy"}]}), "beside the manifest"),
            "2^40 elements and more": (json.dumps({"files": [{**entry, "shape": [2**39, 4]}]}), "2^40"),
            "a shape that the file has not": (json.dumps({"files": [{**entry, "shape": [3, 3]}]}), "x.npy"),
            "another dtype": (json.dumps({"files": [{**entry, "dtype": "f32"}]}), "x.npy"),
            "a missing file": (json.dumps({"files": [{**entry, "file": "y.npy"}]}), "y.npy"),
            "a deep one": ('{"files":' + "[" * 5000, "nests"),
            "parameters of objects": (json.dumps({"files": [{**entry, "parameters": {"a": {"b": 1}}}]}), "parameters"),
        }
        good = self.folder / "good"
        good.mkdir()
        np.save(good / "x.npy", np.zeros((2, 2), np.uint8))
        (good / "manifest.json").write_text(json.dumps({"files": [entry]}))
        for name, (manifest, words) in cases.items():
            with self.subTest(name):
                bad = self.folder / "bad"
                bad.mkdir(exist_ok=True)
                np.save(bad / "x.npy", np.zeros((2, 2), np.uint8))
                (bad / "manifest.json").write_text(manifest)
                with self.assertRaises(plumbnn.Error) as raised:
                    plumbnn.stage_diff(good, bad)
                self.assertIn(words, str(raised.exception))
                self.assertNotIn("\n", str(raised.exception))

    def test_broken_samples_stop_no_others(self):
        entry = {"file": "x.npy", "blob": "decode", "shape": [2, 3, 3], "dtype": "u8"}
        for side in ("a", "b"):
            for index in range(60):
                sample = self.folder / side / f"s{index:03}"
                sample.mkdir(parents=True)
                np.save(sample / "x.npy", np.full((2, 3, 3), index, np.uint8))
                (sample / "manifest.json").write_text(json.dumps({"files": [entry]}))
        for index in range(0, 60, 6):
            broken = self.folder / "b" / f"s{index:03}"
            (broken / "manifest.json").write_text("{") if index % 12 else (broken / "x.npy").write_bytes(b"no array")
        np.save(self.folder / "b" / "s005" / "x.npy", np.full((2, 3, 3), 9, np.uint8))
        report = plumbnn.stage_diff(self.folder / "a", self.folder / "b")
        self.assertEqual((report.json["broken"], report.json["aligned"], report.json["different"]), (10, 49, 1))
        self.assertIn("another sample: the port's is that of sample 's009'", report.first_guilty["cause"])
        broken = [note for note in report.json["notes"] if "alone" not in note]
        self.assertEqual(len(broken), 10)
        self.assertTrue(all("\n" not in note for note in broken))
        self.assertEqual(self.run_tool(self.folder / "a", self.folder / "b")[0], 2)

    def test_zeros_are_told_soon(self):
        """Every frame of a letterbox fits a picture of zeros."""
        original = picture(300, 403)
        for name, after in (("a", nearest(original, 224, 224)), ("b", np.zeros((224, 224, 3), np.uint8))):
            folder = self.folder / name
            folder.mkdir()
            files = []
            for stage, values in (("decode", original), ("letterbox", after)):
                np.save(folder / f"{stage}.npy", values)
                files.append({"file": f"{stage}.npy", "blob": stage, "shape": values.shape, "dtype": "u8"})
            (folder / "manifest.json").write_text(json.dumps({"files": files}))
        report = plumbnn.stage_diff(self.folder / "a", self.folder / "b")
        self.assertEqual(report.first_guilty["stage"], "letterbox")

    def test_a_folder_without_stages(self):
        with self.assertRaises(plumbnn.Error) as raised:
            plumbnn.stage_diff(self.folder, self.folder)
        self.assertIn("DUMP_STAGE_DIR", str(raised.exception))
        loop = self.folder / "loop"
        loop.mkdir()
        (loop / "again").symlink_to(loop)
        with self.assertRaises(plumbnn.Error):
            plumbnn.stage_diff(loop, loop)

    def test_a_match_alone(self):
        before = picture(40, 50)
        matches = plumbnn.stage_match("resize", before, nearest(before, 20, 31))
        self.assertEqual(matches[0]["convention"], "OpenCV's INTER_NEAREST")
        self.assertTrue(matches[0]["reproduces"])
        self.assertEqual(matches[0]["max_abs"], 0)

    def run_tool(self, *arguments):
        tool = pathlib.Path(os.environ["PLUMB_BIN_DIR"]) / "stage_diff"
        done = subprocess.run([str(tool), *map(str, arguments)], capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr

    def test_the_tool_says_the_same_and_ends_with_its_codes(self):
        a, b = self.run_program("a"), self.run_program("b", "dict(shift=0.5)")
        code, out, _ = self.run_tool(a, a)
        self.assertEqual(code, 0)
        self.assertIn("ALIGNED", out)
        report = self.folder / "report.json"
        code, out, _ = self.run_tool(a, b, "--json", report)
        self.assertEqual(code, 1)
        self.assertIn("DIFFERENT: first guilty stage 'resize'", out)
        self.assertEqual(json.loads(report.read_text()), plumbnn.stage_diff(a, b).json)
        self.assertEqual(self.run_tool(a, b, "-q")[1].strip(), plumbnn.stage_diff(a, b).summary.strip())
        code, _, said = self.run_tool(a, self.folder / "none")
        self.assertEqual(code, 2)
        self.assertIn("there is no folder", said)
        self.assertEqual(self.run_tool(a)[0], 2)

    def test_a_program_in_c(self):
        source = pathlib.Path(os.environ["PLUMB_ROOT"]) / "test/dump_header/stages.c"
        program = self.folder / "program"
        include = pathlib.Path(os.environ["PLUMB_ROOT"]) / "include"
        subprocess.run(["cc", "-std=c99", f"-I{include}", str(source), "-o", str(program)], check=True)
        subprocess.run([str(program)], check=True, env={**os.environ, "DUMP_STAGE_DIR": str(self.folder / "c")})
        code = """
import numpy as np, plumbnn
plumbnn.sample("cat.jpg")
plumbnn.stage("decode", (np.arange(12, dtype=np.uint8) * 10).reshape(2, 2, 3), layout="HWC", color="RGB")
plumbnn.stage("softmax", np.float32([[0.125, 0.5, 0.25, 0.125]]))
"""
        report = plumbnn.stage_diff(self.folder / "c", self.run_program("python", code=code))
        self.assertEqual(report.verdict, "aligned")
        self.assertEqual(report.samples[0]["answer"]["original"], "#1 0.5 (margin 0.25)")

    def test_wrong_arguments(self):
        code = """
import numpy as np, plumbnn
try:
    plumbnn.stage("resize", np.zeros((2, 2), np.uint8), what=object())
except plumbnn.Error as error:
    assert "what" in str(error), error
else:
    raise SystemExit("nothing was said")
"""
        self.run_program("a", code=code)


if __name__ == "__main__":
    unittest.main()
