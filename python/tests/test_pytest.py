# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin through pytest's own command line. Skipped where pytest is not here."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(os.environ["PLUMB_ROOT"])
DIGITS = ROOT / "examples/digits/digits.tnnproto"
if importlib.util.find_spec("pytest") is None:
    print("skipped: pytest is not here")
    sys.exit(77)

TESTS = f"""
import numpy as np
import plumbnn

def blobs(factor):
    found = {{"input": np.random.default_rng(1).random((1, 1, 8, 8), dtype=np.float32)}}
    class Keep(plumbnn.Observer):
        def after(self, event):
            found[event.step.outputs[0].blob] = event.output(0)
    network = plumbnn.Network({str(DIGITS)!r}, "NAIVE", unfuse=True)
    network.watch(Keep())
    network.run({{"input": found["input"]}})
    found["pool2"] = found["pool2"] * np.float32(factor)
    return found

def test_right(plumb_check):
    report = plumb_check({str(DIGITS)!r}, devices=["NAIVE"])
    assert report.aligned

def test_subject(plumb_check):
    plumb_check({str(DIGITS)!r}, subject=blobs(FACTOR))
    plumb_check({str(DIGITS)!r}, subject=blobs(FACTOR), name="second")
"""


class PluginTest(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.folder = pathlib.Path(self._folder.name)

    def pytest(self, factor, *words):
        (self.folder / "test_it.py").write_text(TESTS.replace("FACTOR", factor))
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q"]
        if not importlib.util.find_spec("plumbnn").origin.startswith(sys.prefix):
            command += ["-p", "plumbnn.pytest_plugin"]  # not installed: there is no entry point
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": str(self.folder)}
        return subprocess.run(
            [*command, *words],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def test_a_wrong_layer_fails_with_the_short_report(self):
        right = self.pytest("1")
        self.assertEqual(right.returncode, 0, right.stdout + right.stderr)
        wrong = self.pytest("1.01", "--junitxml=junit.xml")
        self.assertEqual(wrong.returncode, 1, wrong.stdout + wrong.stderr)
        self.assertIn("1 failed, 1 passed", wrong.stdout)
        self.assertRegex(wrong.stdout, r"first .*'pool2'|'pool2'")
        self.assertIn("model_check -m", wrong.stdout)
        self.assertNotIn("Traceback", wrong.stdout)
        self.assertIn("pool2", (self.folder / "junit.xml").read_text())

    def test_a_baseline_is_written_kept_and_missed(self):
        missing = self.pytest("1", "--plumb-baseline", "base.json")
        self.assertEqual(missing.returncode, 4)
        self.assertIn("--plumb-update-baseline", missing.stderr)
        alone = self.pytest("1", "--plumb-update-baseline")
        self.assertEqual(alone.returncode, 4)
        update = self.pytest("1", "--plumb-baseline", "base.json", "--plumb-update-baseline")
        self.assertEqual(update.returncode, 0, update.stdout + update.stderr)
        written = json.loads((self.folder / "base.json").read_text())
        keys = list(written["checks"])
        self.assertEqual(keys, ["second", "test_it.py::test_right", "test_it.py::test_subject"])
        again = self.pytest("1", "--plumb-baseline", "base.json")
        self.assertEqual(again.returncode, 0, again.stdout)
        worse = self.pytest("1.0000003", "--plumb-baseline", "base.json")  # exact before
        self.assertEqual(worse.returncode, 1, worse.stdout)
        self.assertIn("worse than base.json says", worse.stdout)
        self.assertIn("pool2: ", worse.stdout)
        del written["checks"]["second"]
        (self.folder / "base.json").write_text(json.dumps(written))
        unknown = self.pytest("1", "--plumb-baseline", "base.json")
        self.assertEqual(unknown.returncode, 1, unknown.stdout)
        self.assertIn("knows nothing of 'second'", unknown.stdout)
        (self.folder / "base.json").write_text("{}")
        broken = self.pytest("1", "--plumb-baseline", "base.json")
        self.assertEqual(broken.returncode, 4)
        self.assertIn("plumb-baseline", broken.stderr)

    def test_workers_of_xdist_write_one_baseline(self):
        if importlib.util.find_spec("xdist") is None:
            self.skipTest("pytest-xdist is not here")
        alone = self.pytest("1", "--plumb-baseline", "alone.json", "--plumb-update-baseline")
        self.assertEqual(alone.returncode, 0, alone.stdout + alone.stderr)
        words = ["-n", "2", "--plumb-baseline", "base.json"]
        update = self.pytest("1", *words, "--plumb-update-baseline")
        self.assertEqual(update.returncode, 0, update.stdout + update.stderr)
        self.assertIn("2 passed", update.stdout)
        texts = [(self.folder / name).read_text() for name in ("base.json", "alone.json")]
        self.assertEqual(*texts)
        self.assertEqual(self.pytest("1", *words).returncode, 0)
        worse = self.pytest("1.0000003", *words)
        self.assertEqual(worse.returncode, 1, worse.stdout)
        self.assertIn("worse than base.json says", worse.stdout)

    def test_what_cannot_be_written_is_one_sentence(self):
        words = ["--plumb-baseline", "no/base.json", "--plumb-update-baseline"]
        refused = self.pytest("1", *words)
        self.assertEqual(refused.returncode, 4, refused.stdout + refused.stderr)
        self.assertRegex(refused.stderr, r"ERROR: --plumb-update-baseline: .*no/base.json")
        self.assertNotIn("Traceback", refused.stdout + refused.stderr)


if __name__ == "__main__":
    unittest.main()
