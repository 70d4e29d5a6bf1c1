#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tensors that one program saved go into the other: SAVE_IO_TENSORS, .bmrt, plumbnn.load and plumbnn.tensors."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import numpy as np

import plumbnn

DIGITS = pathlib.Path(os.environ["PLUMB_ROOT"]) / "examples" / "digits"


class SavedTensors(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def save(self):
        """The port's input and output, as Sophon's runtime names them."""
        tool = pathlib.Path(os.environ["PLUMB_BIN_DIR"]) / "model_run"
        image = DIGITS / "images" / "digit_3.png"
        command = [tool, "-m", DIGITS / "digits.tnnproto", "-d", "NAIVE", "-i", image, "-n", "120", "-s", "0.0078125"]
        environment = os.environ | {"SAVE_IO_TENSORS": "1", "DUMP_BLOB_DIR": str(self.folder / "dump")}
        subprocess.run(command, check=True, capture_output=True, env=environment)
        for side in ("input", "output"):
            saved = self.folder / "dump" / f"{side}_ref_data.dat"
            saved.rename(f"{saved}.bmrt")
        return self.folder / "dump"

    def test_the_ports_tensors_go_to_the_original(self):
        folder = self.save()
        output = plumbnn.load(folder / "output_ref_data.dat.bmrt")
        self.assertEqual(int(output["prob"].argmax()), 3)
        inputs = plumbnn.tensors(folder / "input_ref_data.dat.bmrt")
        again = plumbnn.run(DIGITS / "digits.tnnproto", inputs, device="NAIVE")
        np.testing.assert_array_equal(again["prob"].ravel(), output["prob"].ravel())

    def test_the_page_says_what_happens(self):
        """The command and the line of Python of doc/pipeline.md, in a folder that has their files."""
        page = (DIGITS.parent.parent / "doc" / "pipeline.md").read_text(encoding="utf-8").splitlines()
        command = next(line[2:] for line in page if line.startswith("$ SAVE_IO_TENSORS=1"))
        at = next(i for i, line in enumerate(page) if line.startswith(">>> plumbnn.load("))
        for file in ("digits.tnnproto", "digits.tnnmodel", "images/digit_3.png"):
            shutil.copy(DIGITS / file, self.folder)
        path = os.pathsep.join([os.environ["PLUMB_BIN_DIR"], os.environ["PATH"]])
        subprocess.run(command, shell=True, check=True, capture_output=True, cwd=self.folder,
                       env=os.environ | {"PATH": path})
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        found = eval(page[at].removeprefix(">>> ").partition("#")[0], {"plumbnn": plumbnn})
        self.assertEqual(str(found), page[at + 1])

    def test_options_of_a_model_are_none_of_a_tensor_file(self):
        path = self.folder / "x.dat"
        np.arange(6, dtype=np.float32).tofile(path)
        self.assertEqual(plumbnn.load(path, shapes={"a": (6,)})["a"].tolist(), [0, 1, 2, 3, 4, 5])
        for options in (dict(weights="w"), dict(shapes="ask"), dict(open_shapes={"a": (6,)}), dict(signature="s")):
            with self.assertRaisesRegex(plumbnn.Error, "holds tensors, of which only shapes= says anything"):
                plumbnn.load(path, **options)

    def test_values_without_a_description(self):
        path = self.folder / "x.dat"
        np.arange(6, dtype=np.float32).tofile(path)
        self.assertEqual(plumbnn.tensors(path, {"a": (2,), "b": (2, 2)})["b"].tolist(), [[2, 3], [4, 5]])
        with self.assertRaisesRegex(plumbnn.Error, "holds nothing but values"):
            plumbnn.load(path)
        with self.assertRaisesRegex(plumbnn.Error, "ends inside tensor 'a'"):
            plumbnn.tensors(path, {"a": (7,)})
        with self.assertRaisesRegex(plumbnn.Error, "there is no file"):
            plumbnn.load(self.folder / "none.npz")


if __name__ == "__main__":
    unittest.main()
