# SPDX-License-Identifier: Apache-2.0
"""device_check where the machine only dumps and this one judges: in parts with model_run, or a program of one's own."""

import json
import os
import shutil
import subprocess
import unittest

import machines

GIVEN = machines.options()


def layers(machine):
    return machines.numbers(machine["report"]["runs"][0])


class InParts(unittest.TestCase):
    def setUp(self):
        self.tool = machines.Tool(GIVEN)
        self.addCleanup(self.tool.close)
        self.log = self.tool.folder + "/log"
        # What lies there when a part begins, and what its part is.
        text = 'ls >>%s; echo "part $DUMP_BLOB_LAYERS" >>%s\n' % (self.log, self.log)
        emulator = "qemu-aarch64 -cpu cortex-a53" if self.tool.arm else ""
        self.runner = self.tool.script("runner", text + 'exec %s "$@"\n' % emulator)

    def check(self, *more):
        binaries = GIVEN.arm if self.tool.arm else GIVEN.bin
        return self.tool.report(
            *("-m", self.tool.digits, *(() if "-d" in more else ("-d", self.tool.device)), "--judge", "here"),
            *("--part-size", "5K", "--runner", self.runner, "--binaries", binaries, *more),
            binaries=False,
        )

    def parts(self):
        with open(self.log, encoding="utf-8") as file:
            text = file.read()
        os.remove(self.log)
        self.assertNotIn("dump", text.split(), "a part lies there beside the next one")
        return [line[5:] for line in text.splitlines() if line.startswith("part ")]

    def test_the_verdicts_are_those_of_a_check_there(self):
        there, report = self.tool.report("-m", self.tool.digits, "-d", self.tool.device)
        self.assertEqual(there.returncode, 0, there.stdout)
        run, parts = self.check()
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertEqual(layers(parts["machines"][0]), layers(report["machines"][0]))
        ranges = self.parts()
        self.assertEqual(ranges[0], "0", "the layer that reads the input")
        self.assertGreater(len(ranges), 3)
        self.assertEqual(ranges[1].split("-")[0], "0")
        self.assertEqual(ranges[-1].split("-")[1], "9")
        self.assertIn("input   input f32 [1,1,8,8]: the subject's", run.stdout)

    def test_a_run_that_was_cut_off_goes_on(self):
        machines.need("adb")
        phone = machines.Phone(self.tool)
        self.addCleanup(phone.close)
        kept = self.tool.folder + "/kept"
        self.check()
        whole = self.parts()
        phone.daemon.cut_command = "DUMP_BLOB_LAYERS=" + whole[-2]
        run, _ = self.check("--adb", phone.serial, "-o", kept)
        self.assertEqual(run.returncode, 4, run.stdout)
        self.assertEqual(self.parts(), whole[:-1])
        phone.connect()
        run, report = self.check("--adb", phone.serial, "-o", kept)
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertEqual(self.parts(), whole[-2:])
        self.assertEqual(report["machines"][0]["report"]["runs"][0]["coverage"]["outputs"], 1)
        dump = os.path.join(kept, os.listdir(kept)[0], "dump")
        again = subprocess.run(
            [GIVEN.bin + "/model_check", "-m", self.tool.digits, "--subject", dump], stdout=subprocess.PIPE, text=True
        )
        self.assertEqual(again.returncode, 0, again.stdout)
        run = self.tool.run("-m", self.tool.digits, "-d", "NAIVE", "--judge", "here", "--adb", phone.serial, "-o", kept)
        self.assertEqual(run.returncode, 2, run.stdout)
        self.assertIn("holds something else already", run.stdout)

    def test_devices_by_their_names(self):
        run = self.tool.run("-m", self.tool.digits, "-d", "ALL", "--judge", "here")
        self.assertEqual(run.returncode, 2, run.stdout)
        self.assertIn("--judge here takes devices by their names (-d ARM,NAIVE), found -d ALL", run.stdout)

    def test_several_devices_are_judged_each_by_itself(self):
        kept, absent = self.tool.folder + "/kept", "X86" if self.tool.arm else "ARM"
        run, report = self.check("-d", ",".join((self.tool.device, "NAIVE", absent)), "-o", kept)
        self.assertEqual(run.returncode, 3, run.stdout)
        self.assertEqual(
            [(machine["machine"], machine["device"], machine["verdict"]) for machine in report["machines"]],
            [("this machine", self.tool.device, "aligned"), ("this machine", "NAIVE", "aligned"),
             ("this machine", absent, "error")],
        )
        self.assertRegex(run.stdout, r"\nmachine +verdict +exit +what")
        self.assertRegex(run.stdout, r"\nthis machine, NAIVE +aligned +0 +ALIGNED")
        self.assertRegex(run.stdout, r"\nthis machine, %s +error +3 +model_run ended" % absent)
        self.assertTrue(report["machines"][1]["report"]["reproduce"].endswith(" -d NAIVE"))
        self.assertEqual(
            sorted(os.listdir(kept)), sorted("this_machine__" + name for name in (self.tool.device, "NAIVE", absent))
        )

    def test_a_device_that_is_not_there_and_reports_on_standard_output(self):
        absent = "X86" if self.tool.arm else "ARM"
        run = self.tool.run("-m", self.tool.digits, "-d", absent, "--judge", "here", "--json", "-")
        self.assertEqual(run.returncode, 3, run.stdout)
        self.assertIn("model_run ended with exit code 3; its last lines: error: device %s " % absent, run.stdout)
        with subprocess.Popen(
            self.tool.command("-m", self.tool.digits, "-d", self.tool.device, "--judge", "here", "--json", "-"),
            env=self.tool.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as run:
            self.assertEqual(json.load(run.stdout)["exit_code"], 0)

    def test_algorithms_and_kernels_are_those_that_run_there(self):
        arguments = ("-m", self.tool.digits, "-d", self.tool.device)
        run, report = self.tool.report(*arguments, "--algorithms", "direct")
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertRegex(run.stdout, r"\n\| device  %s: .*, direct algorithms\n" % self.tool.device)
        self.assertEqual(report["machines"][0]["report"]["runs"][0]["algorithms"], "direct")
        run, report = self.tool.report(*arguments)
        self.assertEqual(report["machines"][0]["report"]["runs"][0]["algorithms"], "fast")
        for judge in ("there", "here"):
            run, report = self.tool.report(*arguments, "--judge", judge, "--kernel", "prob=softmax")
            self.assertEqual(run.returncode, 0, run.stdout)
            run, report = self.tool.report(*arguments, "--judge", judge, "--kernel", "prob=convolution_winograd")
            self.assertEqual(run.returncode, 2, run.stdout)
            self.assertRegex(
                report["machines"][0]["summary"],
                r"layer 9 'prob' \(Softmax\): kernel of %s: expected .*, found 'convolution_" % self.tool.device,
            )


class Program(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not shutil.which("cc"):
            raise unittest.SkipTest("there is no cc")
        cls.tool = machines.Tool(GIVEN)
        cls.addClassCleanup(cls.tool.close)
        cls.program = cls.tool.folder + "/a-program"
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "program.c")
        subprocess.run(["cc", "-I", GIVEN.root + "/include", source, "-o", cls.program, "-lpthread", "-lm"], check=True)
        cls.model, cls.values = cls.tool.folder + "/n.tnnproto", cls.tool.folder + "/values.txt"
        with open(cls.model, "w", encoding="utf-8") as file:
            file.write('"1 2 1 4206624772 ,"\n"x 4 1 1 2 4 0 ,"\n" x y ,"\n"y ,"\n" 1 ,"\n"ReLU r 1 1 x y ,"\n')
        with open(cls.values, "w", encoding="utf-8") as file:
            file.write("1 -2 3 -4 5 -6 7 8\n")

    def check(self, command, *more):
        files = ("--push", self.program, "--push", self.values)
        return self.tool.report("-m", self.model, "--program", command, *files, *more, binaries=False)

    def test_what_it_dumped_is_judged(self):
        run, report = self.check("./a-program")
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertIn("dump of a runtime of one's own", run.stdout)
        self.assertIn("1 aligned, 0 grey, 0 wrong", run.stdout)
        self.assertEqual(self.tool.runs_there(), [])

    def test_a_fault_is_named_and_shown_again(self):
        run, report = self.check("./a-program wrong")
        self.assertEqual(run.returncode, 1, run.stdout)
        self.assertEqual(report["machines"][0]["report"]["runs"][0]["first_wrong"]["name"], "r")
        begin = run.stdout.index("Reproduce: ") + 11
        again = run.stdout[begin : run.stdout.index("\n", begin)]
        self.assertIn("--program './a-program wrong'", again)
        shown = subprocess.run(
            ["sh", "-c", again], env=self.tool.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.assertEqual(shown.returncode, 1, shown.stdout)

    def test_what_goes_wrong_is_said(self):
        for command, code, said in (
            ("./a-program crash", 4, "the program was ended by signal 11 (Segmentation fault)"),
            ("./a-program silent", 2, "ended well and left no dump in $DUMP_BLOB_DIR; does it call plumb_dump_open"),
            ("./nothing", 2, "the program could not be started there (exit code 127)"),
        ):
            run, report = self.check(command)
            self.assertEqual(run.returncode, code, run.stdout)
            self.assertIn(said, report["machines"][0]["summary"])
            self.assertEqual(self.tool.runs_there(), [])
        self.assertIn("before the crash", self.check("./a-program crash")[1]["machines"][0]["summary"])

    def test_it_runs_over_adb(self):
        machines.need("adb")
        phone = machines.Phone(self.tool)
        self.addCleanup(phone.close)
        run, report = self.check("./a-program", "--adb", phone.serial)
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertEqual(report["machines"][0]["verdict"], "aligned")

    def test_it_runs_over_ssh(self):
        machines.need("ssh", "ssh-keygen", "sshd")
        board = machines.Board(self.tool)
        self.addCleanup(board.close)
        run, report = self.check("./a-program", "--ssh", "board", "--ssh-config", board.config)
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertEqual(report["machines"][0]["verdict"], "aligned")
        self.assertEqual(self.tool.runs_there(), [])


if __name__ == "__main__":
    unittest.main(argv=["dumps_test"], verbosity=2)
