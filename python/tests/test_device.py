# SPDX-License-Identifier: Apache-2.0
"""plumbnn.device_check, on this machine as if it were another one."""

import os
import pathlib
import tempfile
import unittest

import numpy as np

import plumbnn

ROOT = pathlib.Path(os.environ["PLUMB_ROOT"])
DIGITS = ROOT / "examples/digits/digits.tnnproto"


class DeviceCheckTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.options = {
            "binaries": os.environ["PLUMB_BIN_DIR"],
            "options": ["--device-folder", folder.name + "/there"],
        }

    def test_the_report_is_the_tools(self):
        image = np.random.default_rng(3).random((1, 1, 8, 8), dtype=np.float32)
        here = plumbnn.check(DIGITS, ["NAIVE"], {"input": image})
        for judge in ("there", "here"):
            report = plumbnn.device_check(
                DIGITS, ["NAIVE"], {"input": image}, judge=judge, **self.options
            )
            self.assertTrue(report.aligned, report)
            self.assertEqual(report.verdicts, {"this machine": "aligned"})
            (machine,) = report
            self.assertIsNone(machine.first_wrong)
            for other, own in zip(machine.layers, here.layers, strict=True):
                self.assertEqual((other.name, other.E), (own.name, own.E))
            self.assertIn("this machine: ALIGNED: ", report.text)

    def test_devices_that_are_judged_here_have_reports_of_their_own(self):
        report = plumbnn.device_check(DIGITS, ["X86", "NAIVE"], judge="here", **self.options)
        self.assertEqual(
            report.verdicts, {"this machine, X86": "aligned", "this machine, NAIVE": "aligned"}
        )
        self.assertEqual([machine.device for machine in report], ["X86", "NAIVE"])

    def test_a_machine_that_is_not_there_is_an_error_of_its_own(self):
        report = plumbnn.device_check(DIGITS, "NAIVE", ssh=["nowhere.invalid"], **self.options)
        self.assertFalse(report.aligned)
        self.assertEqual(report.machines[0].verdict, "error")
        self.assertIn("ssh nowhere.invalid: ", str(report))
        self.assertIsNone(report.machines[0].json)

    def test_what_cannot_be_asked_is_raised(self):
        with self.assertRaises(plumbnn.Error) as caught:
            plumbnn.device_check("gone.tnnproto", "NAIVE", **self.options)
        self.assertEqual(caught.exception.code, "InvalidArgument")
        self.assertIn("'gone.tnnproto'", str(caught.exception))
        with self.assertRaises(plumbnn.Error) as caught:
            plumbnn.device_check(DIGITS, "NAIVE", adb="-x", **self.options)
        self.assertIn("is no serial of adb", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
