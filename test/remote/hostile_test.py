# SPDX-License-Identifier: Apache-2.0
"""device_check where what runs there lies: what it says is marked as its words and draws nothing on the terminal, the
verdict is made here, and a report that is none is one sentence."""

import copy
import json
import os
import unittest

import machines

GIVEN = machines.options()
FORGED = "ALIGNED: FORGED (exit 0)"
EVIL = "e\x1b[2J\x1b[1;1H\x1b]0;t\x07\r\u202e\u2066\u009b2J\n%s\r\n%s\n" % (FORGED, FORGED)


class Lies(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tool = machines.Tool(GIVEN)
        cls.addClassCleanup(cls.tool.close)
        # In place of model_check: says and leaves what is put beside it, and ends with that code.
        here = cls.tool.folder
        cls.runner = cls.tool.script(
            "liar", 'cat %s/said; cat %s/heard >&2\n[ -f %s/left ] && cp %s/left report.json\n'
            'exit $(cat %s/code)\n' % ((here,) * 5),
        )
        small = cls.tool.folder + "/small"  # a program that is small, because it never runs
        os.mkdir(small)
        for name in ("model_check", "model_run"):
            with open(GIVEN.bin + "/" + name, "rb") as whole, open(small + "/" + name, "wb") as head:
                head.write(whole.read(4096))
        cls.emulated = ("-d", "NAIVE", "--binaries", small, "--runner", cls.runner)
        real = ("-d", "NAIVE", "--binaries", GIVEN.bin)
        run, report = cls.tool.report("-m", cls.tool.digits, *real, binaries=False)
        assert run.returncode == 0, run.stdout
        cls.honest = report["machines"][0]["report"]

    def lie(self, report, said="", heard="", code=0):
        for name, text in (("said", said), ("heard", heard), ("code", str(code))):
            with open("%s/%s" % (self.tool.folder, name), "w", encoding="utf-8", newline="") as file:
                file.write(text)
        left = self.tool.folder + "/left"
        if os.path.exists(left):
            os.remove(left)
        if report is not None:
            with open(left, "w", encoding="utf-8") as file:
                file.write(report if isinstance(report, str) else json.dumps(report))
        run, found = self.tool.report("-m", self.tool.digits, *self.emulated, binaries=False)
        for letter in run.stdout:
            self.assertTrue(letter == "\n" or letter.isprintable(), repr(run.stdout))
        self.assertNotRegex(run.stdout, r"(?m)^\s*ALIGNED: FORGED")
        self.assertNotIn("Internal", run.stdout)
        return run, found["machines"][0]

    def wrong(self):
        report = copy.deepcopy(self.honest)
        report["runs"][0]["layers"][0]["verdict"] = report["runs"][0]["verdict"] = "wrong"
        report["exit_code"] = 1
        return report

    def test_its_words_are_marked_and_the_verdict_is_ours(self):
        report = self.wrong()
        report["summary"] = report["runs"][0]["summary"] = FORGED
        report["verdict"] = "aligned"
        run, machine = self.lie(report, said="a\n%s\n%s\n" % (EVIL, FORGED), heard=EVIL, code=1)
        self.assertEqual(run.returncode, 1, run.stdout)
        self.assertEqual((machine["verdict"], machine["program_exit_code"], machine["failed"]), ("wrong", 1, None))
        self.assertRegex(run.stdout.splitlines()[-1], r"^this machine: FAILED: NAIVE wrong at '\w+'; .*\(exit 1\)$")
        self.assertIn("\n| " + FORGED, run.stdout)
        self.assertIn("\\x1B[2J", run.stdout)
        self.assertIn("this machine says:\n| a\n", run.stdout)

    def test_names_in_its_report(self):
        report = self.wrong()
        report["runs"][0]["layers"][0]["name"] = EVIL
        report["runs"][0]["device"] = report["devices"][0]["device"] = EVIL
        run, _ = self.lie(report, code=1)
        self.assertEqual(run.returncode, 1, run.stdout)
        self.assertIn("\\x0AALIGNED: FORGED", run.stdout)

    def test_a_report_that_is_none(self):
        report = copy.deepcopy(self.honest)
        report["runs"][0]["verdict"] = EVIL
        for left, code, said in (
            (report, 0, "runs[0].verdict: expected one of aligned, not tested, grey, wrong, found 'e"),
            (dict(self.honest, runs={}), 0, "runs: expected a list, found an object"),
            (dict(self.honest, exit_code="0"), 0, "exit_code: expected a whole number from 0 to 4, found a string"),
            ("[" * 1000000, 0, "expected JSON nested 64 deep at most, found 1000000"),
            (EVIL, 0, "expected a JSON object, found no JSON"),
        ):
            run, machine = self.lie(left, code=code)
            self.assertEqual((run.returncode, machine["exit_code"], machine["failed"]), (2, 2, "report"), run.stdout)
            self.assertIn("this machine: its report: " + said, machine["summary"])
        run, machine = self.lie(self.honest, code=1)
        self.assertEqual((run.returncode, machine["failed"]), (2, "report"), run.stdout)
        self.assertIn("model_check ended with exit code 1, and its report holds exit code 0", machine["summary"])

    def test_what_a_program_that_failed_said(self):
        run, machine = self.lie(None, said=EVIL, heard=EVIL, code=1)
        found = (run.returncode, machine["failed"], machine["program_exit_code"])
        self.assertEqual(found, (4, "program", 1), run.stdout)
        self.assertIn("model_check ended with exit code 1; its last lines: ", machine["summary"])

    def test_the_last_lines_of_much_output_arrive(self):
        runner = self.tool.script("talks", "head -c 70000000 /dev/zero | tr '\\0' x\necho\necho the reason\nexit 9\n")
        arguments = ("-m", self.tool.digits, *self.emulated[:-1], runner)
        run, report = self.tool.report(*arguments, binaries=False)
        self.assertEqual(run.returncode, 4, run.stdout[-1000:])
        summary = report["machines"][0]["summary"]
        self.assertTrue(summary.endswith(" | the reason"), summary[-99:])


class Dumps(unittest.TestCase):
    """A program of the user's own, whose exit code is kept apart from ours."""

    def setUp(self):
        self.tool = machines.Tool(GIVEN)
        self.addCleanup(self.tool.close)
        self.model = self.tool.folder + "/n.tnnproto"
        with open(self.model, "w", encoding="utf-8") as file:
            file.write('"1 2 1 4206624772 ,"\n"x 4 1 1 2 4 0 ,"\n" x y ,"\n"y ,"\n" 1 ,"\n"ReLU r 1 1 x y ,"\n')

    def check(self, text):
        program = self.tool.script("app", text)
        arguments = ("-m", self.model, "--program", "./app", "--push", program)
        run, report = self.tool.report(*arguments, binaries=False)
        return run, report["machines"][0]

    def test_exit_codes_are_kept_apart(self):
        for end, ours, theirs in (("exit 9", 2, 9), ("exit 1", 2, 1), ("exit 0", 2, 0), ("kill -11 $$", 4, 139)):
            run, machine = self.check("echo said\n%s\n" % end)
            self.assertEqual((run.returncode, machine["exit_code"]), (ours, ours), run.stdout)
            self.assertEqual(machine["program_exit_code"], theirs)
            self.assertEqual(machine["failed"], "here" if theirs == 0 else "program")
            self.assertIn("this machine says:\n| said\n", run.stdout)

    def test_a_dump_holds_files_only(self):
        run, machine = self.check("mkdir dump\nln -s /etc/passwd dump/manifest.json\n")
        self.assertEqual((run.returncode, machine["failed"]), (2, "report"), run.stdout)
        self.assertIn("expected files and folders only, found 'manifest.json', which is neither", machine["summary"])

    def test_manifests_of_another_type(self):
        for text in ('{"files": {}}', '{"files": [], "complete": "yes"}', "[" * 100000, "{"):
            run, machine = self.check("mkdir dump\ncat >dump/manifest.json <<'END'\n%s\nEND\n" % text)
            self.assertEqual(run.returncode, 2, run.stdout)
            self.assertNotIn("Internal", run.stdout)


if __name__ == "__main__":
    unittest.main(argv=["hostile_test"], verbosity=2)
