# SPDX-License-Identifier: Apache-2.0
"""device_check over the real adb client: a stand-in daemon plays the phone, and every fault that one has."""

import os
import re
import signal
import subprocess
import time
import unittest

import machines

GIVEN = machines.options()
machines.need("adb")


class Adb(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tool = machines.Tool(GIVEN)
        cls.addClassCleanup(cls.tool.close)
        cls.phone = machines.Phone(cls.tool)
        cls.addClassCleanup(cls.phone.close)

    def setUp(self):
        self.tool.fresh()
        self.phone.daemon.heal()
        self.phone.connect()

    def check(self, *more, **options):
        arguments = ("-m", self.tool.digits, "-d", self.tool.device, "--adb", self.phone.serial)
        return self.tool.report(*arguments, *more, **options)

    def test_the_report_comes_here_and_nothing_is_left_but_the_cache(self):
        run, report = self.check()
        self.assertEqual(run.returncode, 0, run.stdout)
        machine = report["machines"][0]
        self.assertEqual(machine["machine"], "adb " + self.phone.serial)
        self.assertEqual(machine["verdict"], "aligned")
        self.assertEqual((machine["pushed"], machine["found"]), (self.tool.pushed, 0))
        self.assertEqual(machine["report"]["model"], self.tool.digits)
        self.assertEqual(machine["report"]["runs"][0]["device"], self.tool.device)
        self.assertIn("model   %s, 10 layers, weights from" % self.tool.digits, run.stdout)
        self.assertIn("all aligned: 6 aligned", run.stdout)
        self.assertIn("adb %s: ALIGNED: " % self.phone.serial, run.stdout)
        self.assertEqual(self.tool.runs_there(), [])
        again, report = self.check()
        self.assertEqual(again.returncode, 0, again.stdout)
        self.assertEqual((report["machines"][0]["pushed"], report["machines"][0]["found"]), (0, self.tool.pushed))

    def test_what_changed_there_is_pushed_again(self):
        self.check()
        cache = self.tool.folder + "/there/cache"
        name = [name for name in os.listdir(cache) if name.endswith("model.tnnmodel")][0]
        with open(os.path.join(cache, name), "r+b") as file:
            file.seek(100)
            file.write(b"\xff\xff\xff")
        run, report = self.check()
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertEqual((report["machines"][0]["pushed"], report["machines"][0]["found"]), (1, self.tool.pushed - 1))

    def test_clean_removes_everything(self):
        self.check()
        self.assertTrue(os.path.isdir(self.tool.folder + "/there"))
        run = self.tool.run("--adb", self.phone.serial, "--clean")
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertFalse(os.path.exists(self.tool.folder + "/there"))

    def test_the_exit_code_comes_through_both_protocols(self):
        for legacy in (False, True):
            self.phone.daemon.legacy = legacy
            self.phone.connect()
            absent = "X86" if self.tool.arm else "ARM"
            for device, code in ((self.tool.device, 0), (absent, 3)):
                run, report = self.tool.report("-m", self.tool.digits, "-d", device, "--adb", self.phone.serial)
                self.assertEqual(run.returncode, code, run.stdout)
                self.assertEqual(report["machines"][0]["exit_code"], code)

    def test_names_are_read_by_no_shell(self):
        model = self.tool.folder + "/it's $(touch made) `touch made`;\n.tnnproto"
        with open(self.tool.digits, encoding="utf-8") as source, open(model, "w", encoding="utf-8") as copy:
            copy.write(source.read())
        run, report = self.tool.report(
            "-m", model, "-d", "NAIVE", "--adb", self.phone.serial, "--layers", "$(touch made); touch 'made"
        )
        self.assertEqual(run.returncode, 2, run.stdout)
        self.assertIn("$(touch made); touch 'made", run.stdout)
        run, report = self.tool.report("-m", model, "-d", "NAIVE", "--adb", self.phone.serial)
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertEqual(report["machines"][0]["report"]["model"], model)
        for _, folders, files in os.walk(self.tool.folder):
            self.assertNotIn("made", folders + files)

    def test_two_runs_at_once_do_not_collide(self):
        runs = [
            subprocess.Popen(
                self.tool.command("-m", self.tool.digits, "-d", self.tool.device, "-q", "--adb", self.phone.serial),
                env=self.tool.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            for _ in range(3)
        ]
        for run in runs:
            out, _ = run.communicate(timeout=300)
            self.assertEqual(run.returncode, 0, out)
            self.assertIn("ALIGNED: ", out)
        self.assertEqual(self.tool.runs_there(), [])

    def test_a_cable_pulled_while_pushing_is_said_and_the_next_run_goes_on(self):
        self.phone.daemon.cut_bytes = 1 << 20
        run, report = self.check()
        self.assertEqual(run.returncode, 4, run.stdout)
        self.assertIn("adb %s: pushing '" % self.phone.serial, report["machines"][0]["summary"])
        self.assertIn("its last lines: ", report["machines"][0]["summary"])
        self.phone.connect()
        run, report = self.check()
        self.assertEqual(run.returncode, 0, run.stdout)

    def test_a_cable_pulled_while_the_check_runs(self):
        self.check()
        self.phone.daemon.cut_command = "./model_check"
        run, report = self.check()
        self.assertEqual(run.returncode, 4, run.stdout)
        self.assertIn("the connection failed or broke off", report["machines"][0]["summary"])
        self.phone.connect()
        run, report = self.check()
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertEqual((report["machines"][0]["pushed"], report["machines"][0]["found"]), (0, self.tool.pushed))

    def test_a_full_device(self):
        self.phone.daemon.space = 2 << 20
        run, report = self.check()
        self.assertEqual(run.returncode, 4, run.stdout)
        self.assertIn("No space left on device", report["machines"][0]["summary"])
        self.assertIn("; free some space there", report["machines"][0]["summary"])
        self.assertEqual(self.tool.runs_there(), [])
        self.phone.daemon.space = None
        self.assertEqual(self.check()[0].returncode, 0)

    def test_a_program_that_is_killed_there(self):
        runner = self.tool.script("killer", "echo loading the model; kill -9 $$\n")
        emulated = ("--binaries", GIVEN.bin, "--runner", runner)
        run, report = self.check(*emulated, binaries=False)
        self.assertEqual(run.returncode, 4, run.stdout)
        said = report["machines"][0]["summary"]
        self.assertIn("model_check was ended by signal 9 (Killed): mostly for want of memory", said)
        self.assertIn("its last lines: loading the model", said)
        self.assertEqual(self.tool.runs_there(), [])

    def test_an_interrupt_ends_it_and_cleans_up(self):
        runner = self.tool.script("sleeper", "touch %s/begun\nexec sleep 60\n" % self.tool.folder)
        arguments = ("-m", self.tool.digits, "-d", "NAIVE", "--adb", self.phone.serial)
        emulated = ("--binaries", GIVEN.bin, "--runner", runner)
        run = subprocess.Popen(
            self.tool.command(*arguments, *emulated, binaries=False),
            env=self.tool.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for _ in range(200):
            if os.path.exists(self.tool.folder + "/begun"):
                break
            time.sleep(0.05)
        self.assertEqual(len(self.tool.runs_there()), 1)
        run.send_signal(signal.SIGINT)
        out, _ = run.communicate(timeout=20)
        self.assertEqual(run.returncode, 4, out)
        self.assertIn("adb %s: given up" % self.phone.serial, out)
        self.assertEqual(self.tool.runs_there(), [])

    def test_a_phone_that_stops_answering(self):
        self.check()
        self.phone.daemon.frozen = True
        begin = time.monotonic()
        run, report = self.check("--silence", "1")
        self.assertEqual(run.returncode, 4, run.stdout)
        self.assertIn("given up: nothing came from there for 1 s, and a second call", report["machines"][0]["summary"])
        self.assertEqual(report["machines"][0]["failed"], "way")
        self.assertLess(time.monotonic() - begin, 60)

    def test_a_phone_that_is_not_there(self):
        run, report = self.tool.report("-m", self.tool.digits, "--adb", "gone")
        self.assertEqual(run.returncode, 4, run.stdout)
        self.assertIn("`adb devices` lists those that are there", report["machines"][0]["summary"])

    def test_several_machines_make_one_table_and_the_worst_exit_code(self):
        run, report = self.tool.report(
            "-m", self.tool.digits, "-d", "NAIVE", "-q", "--adb", self.phone.serial, "--adb", "gone"
        )
        self.assertEqual(run.returncode, 4, run.stdout)
        self.assertEqual([machine["exit_code"] for machine in report["machines"]], [0, 4])
        self.assertRegex(run.stdout, r"\nmachine +verdict +exit +what")
        self.assertRegex(run.stdout, r"\nadb %s +aligned +0 +ALIGNED" % self.phone.serial)
        self.assertRegex(run.stdout, r"\nadb gone +error +4 ")

    def test_several_machines_run_at_once(self):
        """Each waits until the other one runs, too; what they print stays whole."""
        other = machines.Phone(self.tool, of=self.phone)
        self.addCleanup(other.daemon.close)
        there = self.tool.folder + "/here"
        os.mkdir(there)
        wait = 'touch %s/$$\nfor i in $(seq 200); do [ $(ls %s | wc -l) = 2 ] && exec "$@"; sleep 0.05; done\n'
        runner = self.tool.script("both", wait % (there, there))
        run, report = self.tool.report(
            *("-m", self.tool.digits, "-d", "NAIVE", "--adb", self.phone.serial, "--adb", other.serial),
            *("--adb", self.phone.serial, "--binaries", GIVEN.bin, "--runner", runner),
            binaries=False,
        )
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertEqual(
            [machine["machine"] for machine in report["machines"]], ["adb " + p.serial for p in (self.phone, other)]
        )
        for text in re.split(r"(?=^\| model   )", run.stdout, flags=re.M)[1:]:
            self.assertEqual(text.count("\nfiles   adb "), 1, run.stdout)
            self.assertEqual(text.count("all aligned: 10 aligned"), 1, run.stdout)


if __name__ == "__main__":
    unittest.main(argv=["adb_test"], verbosity=2)
