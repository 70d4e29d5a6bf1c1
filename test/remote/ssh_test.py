# SPDX-License-Identifier: Apache-2.0
"""device_check over OpenSSH: a real sshd on this machine, with a proxy in between whose cable can be pulled."""

import os
import pty
import subprocess
import time
import unittest

import machines

GIVEN = machines.options()
machines.need("ssh", "ssh-keygen", "sshd")


class Ssh(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tool = machines.Tool(GIVEN)
        cls.addClassCleanup(cls.tool.close)
        cls.board = machines.Board(cls.tool)
        cls.addClassCleanup(cls.board.close)

    def setUp(self):
        self.tool.fresh()
        self.board.know("host")
        self.board.proxy.cut, self.board.proxy.frozen = None, False

    def check(self, *more, **options):
        board = ("--ssh", "board", "--ssh-config", self.board.config)
        return self.tool.report("-m", self.tool.digits, "-d", self.tool.device, *board, *more, **options)

    def test_the_report_comes_here_and_nothing_is_left_but_the_cache(self):
        run, report = self.check()
        self.assertEqual(run.returncode, 0, run.stdout)
        machine = report["machines"][0]
        self.assertEqual((machine["machine"], machine["verdict"]), ("ssh board", "aligned"))
        self.assertEqual((machine["pushed"], machine["found"]), (self.tool.pushed, 0))
        self.assertIn("all aligned: 6 aligned", run.stdout)
        self.assertEqual(self.tool.runs_there(), [])
        run, report = self.check()
        machine = report["machines"][0]
        self.assertEqual((machine["pushed"], machine["found"]), (0, self.tool.pushed), run.stdout)
        run = self.tool.run("--ssh", "board", "--ssh-config", self.board.config, "--clean")
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertFalse(os.path.exists(self.tool.folder + "/there"))

        with subprocess.Popen(["ps", "-eo", "args"], stdout=subprocess.PIPE, text=True) as ps:
            self.assertNotIn(self.board.config, ps.stdout.read())

    def test_another_host_key_is_refused(self):
        self.board.know("other")
        run, report = self.check()
        self.assertEqual(run.returncode, 4, run.stdout)
        self.assertIn("Host key verification failed", report["machines"][0]["summary"])
        self.assertIn("log in once by hand, to look at its key", report["machines"][0]["summary"])
        self.assertFalse(os.path.exists(self.tool.folder + "/there"))

    def test_a_host_that_wants_a_password_is_not_asked(self):
        config = self.board.folder + "/config_without_key"
        with open(self.board.config, encoding="utf-8") as old, open(config, "w", encoding="utf-8") as new:
            new.write(old.read().replace("IdentityFile %s/user" % self.board.folder, "IdentityFile none"))
        run = self.tool.run("-m", self.tool.digits, "--ssh", "board", "--ssh-config", config)
        self.assertEqual(run.returncode, 4, run.stdout)
        self.assertIn("ssh needs a key that asks for nothing", run.stdout)

    def test_a_name_is_no_option(self):
        run = self.tool.run("-m", self.tool.digits, "--ssh=-oProxyCommand=touch made")
        self.assertEqual(run.returncode, 2, run.stdout)
        self.assertIn("is no host of ssh", run.stdout)

    def test_a_cable_pulled_while_pushing_is_said_and_the_next_run_goes_on(self):
        self.board.proxy.cut = 1 << 20
        run, report = self.check()
        self.assertEqual(run.returncode, 4, run.stdout)
        self.assertIn("ssh board: the connection failed or broke off", report["machines"][0]["summary"])
        self.board.proxy.cut = None
        run, report = self.check()
        self.assertEqual(run.returncode, 0, run.stdout)

    def test_a_board_that_stops_answering(self):
        self.board.proxy.frozen = True
        self.addCleanup(setattr, self.board.proxy, "frozen", False)
        begin = time.monotonic()
        run, report = self.check("--silence", "1")
        self.assertEqual(run.returncode, 4, run.stdout)
        self.assertIn("given up: nothing came from there for 1 s, and a second call", report["machines"][0]["summary"])
        self.assertLess(time.monotonic() - begin, 60)

    def test_a_full_disk_there(self):
        there = self.tool.folder + "/there"
        os.makedirs(there)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", there], stderr=subprocess.DEVNULL)
        if mounted.returncode != 0:
            self.skipTest("no small disk can be mounted here")
        self.addCleanup(subprocess.run, ["umount", there], check=True)
        run, report = self.check()
        self.assertEqual(run.returncode, 4, run.stdout)
        self.assertIn("No space left on device; free some space there", report["machines"][0]["summary"])
        self.assertEqual(self.tool.runs_there(), [])

    def test_a_command_that_takes_too_long(self):
        runner = self.tool.script("sleeper", "exec sleep 54321\n")
        run, report = self.check("--binaries", GIVEN.bin, "--runner", runner, "--timeout", "1", binaries=False)
        self.assertEqual(run.returncode, 4, run.stdout)
        self.assertIn("ssh board: given up after 1 s, as the limit says", report["machines"][0]["summary"])
        self.assertEqual(self.tool.runs_there(), [])
        with subprocess.Popen(["ps", "-eo", "args"], stdout=subprocess.PIPE, text=True) as ps:
            self.assertNotIn("sleep 54321", ps.stdout.read().splitlines(), "it runs on")


class ThisMachine(unittest.TestCase):
    def setUp(self):
        self.tool = machines.Tool(GIVEN)
        self.addCleanup(self.tool.close)

    def test_a_missing_binary_and_one_of_another_architecture(self):
        empty = self.tool.folder + "/empty"
        os.mkdir(empty)
        run = self.tool.run("-m", self.tool.digits, "--binaries", empty, binaries=False)
        self.assertEqual(run.returncode, 2, run.stdout)
        self.assertIn("there is no '%s/model_check', which this machine needs" % empty, run.stdout)
        with open(GIVEN.bin + "/model_check", "rb") as whole:
            head = bytearray(whole.read(4096))
        head[18:20] = b"\xf3\x00"  # e_machine: RISC-V
        with open(empty + "/model_check", "wb") as other:
            other.write(head)
        run = self.tool.run("-m", self.tool.digits, "--binaries", empty, binaries=False)
        self.assertEqual(run.returncode, 2, run.stdout)
        self.assertRegex(run.stdout, r"model_check' is for riscv64, and this machine is \w+: .*--runner puts")
        with open(empty + "/model_check", "w", encoding="utf-8") as script:
            script.write("#!/bin/sh\n")
        run = self.tool.run("-m", self.tool.digits, "--binaries", empty, binaries=False)
        self.assertIn("is no program for Linux (ELF)", run.stdout)

    def test_a_32_bit_machine_is_told_what_runs_there(self):
        self.tool.script("uname", "echo armv7l\n")
        path = {"PATH": self.tool.folder + ":" + os.environ["PATH"]}
        run = self.tool.run("-m", self.tool.digits, binaries=False, environment=path)
        self.assertEqual(run.returncode, 2, run.stdout)
        self.assertIn("no model_check for this machine, which is armv7l: Plumb's tools are for 64-bit", run.stdout)
        self.assertIn("a program of yours that includes plumb_dump.h (--program)", run.stdout)

    def test_a_program_that_ends_without_a_report(self):
        for script, said in (
            ("echo illegal instruction >&2; kill -4 $$\n", "was ended by signal 4 (Illegal instruction)"),
            ("exec /nowhere/loader\n", "could not be started there (exit code 127)"),
            ("exit 0\n", "ended with exit code 0; it said nothing"),
        ):
            runner = self.tool.script("runner", script)
            emulated = ("--binaries", GIVEN.bin, "--runner", runner)
            run, report = self.tool.report("-m", self.tool.digits, *emulated, binaries=False)
            self.assertEqual(run.returncode, 4, run.stdout)
            self.assertIn("this machine: model_check " + said, report["machines"][0]["summary"])

    def test_variables_that_decide_count_there_and_those_of_dumps_are_refused(self):
        arguments = ("-m", self.tool.digits, "-d", "X86", "--binaries", GIVEN.bin)
        runner = self.tool.script("runner", 'echo "ISA $PLUMB_MAX_CPU_ISA"; exec "$@"\n')
        more = {"binaries": False, "environment": {"PLUMB_MAX_CPU_ISA": "GENERIC"}}
        run = self.tool.run(*arguments, "--runner", runner, **more)
        self.assertIn("ISA GENERIC\n", run.stdout)
        run = self.tool.run(*arguments, binaries=False, environment={"DUMP_OUTPUT_BLOB": "1"})
        self.assertEqual(run.returncode, 2, run.stdout)
        self.assertIn("DUMP_OUTPUT_BLOB does nothing with device_check; --judge here -o FOLDER keeps", run.stdout)

    def test_an_onnx_model_is_converted_here(self):
        model = "/usr/share/libonnx-testdata/data/pytorch-converted/test_Conv2d_groups/model.onnx"
        if not os.path.exists(model):
            self.skipTest("there is no libonnx-testdata")
        for judge in ((), ("--judge", "here")):
            run, report = self.tool.report("-m", model, "-d", self.tool.device, *judge)
            self.assertEqual(run.returncode, 0, run.stdout)
            machine = report["machines"][0]
            self.assertEqual(machine["report"]["model"], model)
            self.assertEqual(machine["report"]["runs"][0]["verdict"], "aligned")
            self.assertIn("model   %s, " % model, run.stdout)

    def test_progress_is_for_terminals(self):
        runner = self.tool.script("slow", "sleep 3\nexec \"$@\"\n")
        emulated = ("--binaries", GIVEN.bin, "--runner", runner)
        command = self.tool.command("-m", self.tool.digits, "-d", "NAIVE", *emulated, binaries=False)
        terminal, end = pty.openpty()
        with subprocess.Popen(
            command, env=self.tool.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=end
        ):
            os.close(end)
            shown = b""
            try:
                while part := os.read(terminal, 4096):
                    shown += part
            except OSError:  # the other end is closed
                pass
        os.close(terminal)
        self.assertIn(b"model_check runs there (2 s)", shown)
        self.assertTrue(shown.endswith(b"\r\x1b[K"), shown[-40:])
        run = self.tool.run("-m", self.tool.digits, "-d", "NAIVE", *emulated, binaries=False)
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertNotIn("runs there", run.stdout)

    def test_a_model_that_is_not_there(self):
        run = self.tool.run("-m", "gone.tnnproto")
        self.assertEqual(run.returncode, 2, run.stdout)
        self.assertIn("cannot open 'gone.tnnproto': No such file or directory", run.stdout)

    def test_inputs_go_along(self):
        image = GIVEN.root + "/examples/digits/images/digit_3.png"
        arguments = ("-m", self.tool.digits, "-d", "NAIVE", "-i", "input=" + image, "-n", "120", "-s", "0.0078125")
        run, report = self.tool.report(*arguments)
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertIn("input f32 [1,1,8,8]: %s, (x - bias) * scale" % image, run.stdout)
        top = report["machines"][0]["report"]["runs"][0]["outputs"][0]
        self.assertIn("'prob'", run.stdout)
        self.assertIn("top-1 is the same: #3", run.stdout)
        self.assertEqual(top["name"], "prob")


if __name__ == "__main__":
    unittest.main(argv=["ssh_test"], verbosity=2)
