# SPDX-License-Identifier: Apache-2.0
"""plumb-golden among other people's files: planted links, two runs into one folder, runs that are killed, archives that
unpack to much, names with escape sequences, and outputs that cannot be written.

Needs numpy.
"""
import contextlib
import io
import json
import os
import pathlib
import random
import re
import sqlite3
import stat
import subprocess
import sys
import tempfile
import unittest
import zipfile
from unittest import mock

import numpy_python  # noqa: F401  (a Python that has numpy)
import numpy as np

SOURCE = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SOURCE))
from plumb_golden import files, foreign, ort_database, printable  # noqa: E402
from plumb_golden.cli import main  # noqa: E402
from plumb_golden.folder import Folder, UsageError  # noqa: E402
from plumb_golden.foreign import read_tensors  # noqa: E402

FORGED = "x\x1b[31m\nALIGNED\u202e"  # a name of a file or tensor


def call(*words):
    """(exit code, standard output and error)."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            code = main([str(word) for word in words])
        except SystemExit as stop:
            code = stop.code
    return code, out.getvalue()


def program(code, *words, **options):
    """A process that has plumb_golden."""
    return subprocess.Popen([sys.executable, "-c", code, *map(str, words)], text=True, stderr=subprocess.PIPE,
                            env={**os.environ, "PYTHONPATH": str(SOURCE)}, **options)


class InFolder(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.TemporaryDirectory()
        self.addCleanup(self.work.cleanup)
        self.path = pathlib.Path(self.work.name)

    def database(self, name="x", value=b"\x08\x01\x10\x01\x4a\x04\0\0\0\0"):
        """A file that `plumb-golden read` takes: one tensor."""
        path = self.path / "t.db"
        path.unlink(missing_ok=True)
        with contextlib.closing(sqlite3.connect(path)) as made:
            made.execute("create table Tensors (Step int, Name text, Value blob, TracedProducer text)")
            made.execute("create table Nodes (Name text, OpType text)")
            made.execute("insert into Tensors values (1, ?, ?, '')", (name, value))
            made.commit()
        return path


class LinkTest(InFolder):
    def test_no_planted_link_is_followed(self):
        victim, folder = self.path / "victim", self.path / "d"
        victim.write_text("mine")
        folder.mkdir()
        for name in ("manifest.json.part", "manifest.json", "00000-a-out-0-a.npy", "00000-a-out-0-a.npy.part"):
            (folder / name).symlink_to(victim)
        written = Folder(folder, force=True)
        written.add("a", np.ones(3))
        written.finish()
        self.assertEqual(victim.read_text(), "mine")
        self.assertEqual(list(read_tensors(folder)), ["a"])
        self.assertTrue(stat.S_ISREG(os.lstat(folder / "manifest.json").st_mode))
        self.assertFalse((folder / "manifest.json.part").is_symlink())

    def test_reports_and_coreai_folders(self):
        victim = self.path / "victim"
        victim.write_text("mine")
        report, target = self.path / "r.json", self.path / "x.aimodelintermediates"
        report.symlink_to(victim)
        np.save(self.path / "x.npy", np.ones(3, np.float32))
        self.assertEqual(call("coreai", self.path / "x.npy", "-o", target, "--json", report)[0], 0)
        self.assertEqual(victim.read_text(), "mine")
        self.assertEqual(json.loads(report.read_text())["exit_code"], 0)
        (self.path / "other").mkdir()
        linked = self.path / "y.aimodelintermediates"
        linked.mkdir()
        (linked / "data").symlink_to(self.path / "other")
        code, out = call("coreai", self.path / "x.npy", "-o", linked, "--force")
        self.assertEqual(code, 2, out)
        self.assertEqual(list((self.path / "other").iterdir()), [])

    def test_a_file_is_whole_or_not_there(self):
        with self.assertRaises(KeyError), files.whole(self.path / "x") as stream:
            stream.write(b"half")
            raise KeyError
        self.assertEqual(list(self.path.iterdir()), [])


class TogetherTest(InFolder):
    RUN = """
import sys, time
import numpy as np
from plumb_golden.folder import Folder, UsageError
path, number, force = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "force"
sys.stdin.readline()
try:
    folder = Folder(path, device=f"run {number}", force=force)
    for place in range(12):
        folder.add(f"t{place}", np.full(4, number, np.float32))
    folder.finish()
except UsageError as error:
    sys.exit(str(error))
"""

    def test_two_runs_into_one_folder_are_never_a_mixture(self):
        for force in ("", "force"):
            target = self.path / f"d{force}"
            runs = [program(self.RUN, target, number, force, stdin=subprocess.PIPE) for number in range(4)]
            for run in runs:
                run.stdin.write("go\n")
                run.stdin.flush()
            errors = [run.communicate(timeout=100)[1] for run in runs]
            self.assertIn(0, [run.returncode for run in runs])
            for run, error in zip(runs, errors):
                self.assertIn(run.returncode, (0, 1))
                if run.returncode:
                    self.assertRegex(error, r"^(another run writes|another run has begun|the folder .* not empty).*\n$")
            device = json.loads((target / "manifest.json").read_text())["device"]["description"]
            values = {value for array in read_tensors(target).values() for value in array.tolist()}
            self.assertEqual(values, {float(device.split()[1])})

    def test_a_run_that_is_killed_is_cut_off(self):
        code = self.RUN.replace("    folder.finish()", "    import os; os.kill(os.getpid(), 9)")
        run = program(code, self.path / "d", 3, "", stdin=subprocess.PIPE)
        run.communicate("go\n", timeout=100)
        self.assertEqual(run.returncode, -9)
        with self.assertRaisesRegex(UsageError, "was cut off"):
            read_tensors(self.path / "d")
        with self.assertRaisesRegex(UsageError, "--force replaces"):
            Folder(self.path / "d")
        again = Folder(self.path / "d", force=True)
        again.add("only", np.ones(2))
        again.finish()
        self.assertEqual(sorted(file.name for file in (self.path / "d").iterdir()),
                         ["00000-only-out-0-only.npy", "manifest.json"])

    def test_what_is_noted_later_does_not_replace_another_run(self):
        first = Folder(self.path / "d")
        first.add("a", np.ones(2))
        first.finish()
        first.finish()
        second = Folder(self.path / "d", device="second", force=True)
        with self.assertRaisesRegex(UsageError, "at this moment"):
            first.finish()
        second.finish()
        with self.assertRaisesRegex(UsageError, "meanwhile"):
            first.finish()


class BombTest(InFolder):
    def refused(self, path, words):
        with self.assertRaisesRegex(UsageError, words):
            read_tensors(path)

    def test_what_a_file_promises_takes_no_memory(self):
        head = b"{'descr': '<f4', 'fortran_order': False, 'shape': (%d, ), }"
        for count in (2**40, 2**61, -1, 3):
            text = (head % count).ljust(118 - 1) + b"\n"
            (self.path / "x.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(8))
            self.refused(self.path / "x.npy", "its header says .* and 8 are there|are no numbers")

    def test_what_an_archive_unpacks_to_is_bounded(self):
        np.savez_compressed(self.path / "x.npz", x=np.zeros(10**6, np.float32))
        self.assertEqual(read_tensors(self.path / "x.npz")["x"].shape, (10**6,))
        with mock.patch.object(foreign, "UNPACKED", 10**6):
            self.refused(self.path / "x.npz", r"bytes would unpack to 4000128; save it with numpy\.savez")
        whole = (self.path / "x.npz").read_bytes()
        (self.path / "x.npy").write_bytes(whole)  # an archive that calls itself an array
        self.refused(self.path / "x.npy", "cannot be read")

    def test_members_may_not_share_their_bytes(self):
        with zipfile.ZipFile(self.path / "x.npz", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("a.npy", bytes(10**6))
            first = archive.infolist()[0]
            for number in range(3000):
                archive.filelist.append(first)
        self.refused(self.path / "x.npz", "would unpack to")

    def test_pipes_and_views_do_not_wait(self):
        os.mkfifo(self.path / "x.npy")
        self.refused(self.path / "x.npy", "is a pipe or a device")
        path = self.database()
        with contextlib.closing(sqlite3.connect(path)) as made:
            made.execute("drop table Tensors")
            made.execute("create view Tensors as with recursive n(Step) as (select 1 union all select Step + 1 from n) "
                         "select Step, 'x' as Name, x'00' as Value, '' as TracedProducer from n")
            made.commit()
        code, out = call("read", path, "-o", self.path / "d")
        self.assertEqual(code, 2, out)
        self.assertIn("'Tensors' is no plain table", out)

    def test_mutated_files_are_one_sentence(self):
        x = np.arange(12, dtype=np.float32).reshape(3, 4)
        np.save(self.path / "x.npy", x)
        np.savez(self.path / "x.npz", x=x, y=x)
        (self.path / "x.txt").write_text("2\nx 2 2 2 0\n1\n2\n3\n4\ny 1 1 3\n7\n")
        (self.path / "x.json").write_text(json.dumps([{"outputs": {"x": {"values": {"array": "k05VTVBZAQB2AA=="}}}}]))
        (self.path / "deep.json").write_text("[" * 10**5)
        written = Folder(self.path / "d")
        written.add("x", x)
        written.finish()
        rng, ends = random.Random(3), {"read": 0, "refused": 0}
        for path in (*self.path.glob("x.*"), self.path / "deep.json", self.path / "d" / "manifest.json"):
            whole, source = path.read_bytes(), self.path / "d" if path.name == "manifest.json" else path
            for case in range(60):
                changed = bytearray(whole)
                for _ in range(rng.choice([1, 3, 20]) if case else 0):
                    changed[rng.randrange(len(changed))] = rng.choice([0, 1, 0x22, 0x2D, 0x39, 0x5B, 0xFF])
                path.write_bytes(bytes(changed[:rng.choice([len(changed), len(changed), rng.randrange(len(changed))])]))
                try:
                    read_tensors(source)
                    ends["read"] += 1
                except UsageError:
                    ends["refused"] += 1
        self.assertGreater(min(ends.values()), 10, ends)


class PrintingTest(InFolder):
    def test_names_are_escaped_and_cut(self):
        for text, shown in ((FORGED, "x\\x1B[31m\\x0AALIGNED\\u{202E}"), ("a\udcffb", "a\\xFFb"), ("\x9b", "\\u{9B}"),
                            ("n" * 300, "n" * 200 + "..."), ("größe", "größe")):
            self.assertEqual(printable.name(text), shown)
        self.assertEqual(printable.message("2 nodes:\n  'a\n  b'\n  c\nd"), "2 nodes:\n  'a\\x0A  b'\n  c\\x0Ad")

    def test_what_files_call_something_cannot_draw_a_line(self):
        for words in (["onnx", self.path / f"{FORGED}.onnx"], ["onnx", "--" + FORGED], [FORGED],
                      ["read", self.database(FORGED, b"\x08\x01\x10\x01\x4a\x09"), "-o", self.path / "d"]):
            code, out = call(*words)
            self.assertEqual((code, out.count("\n")), (2, 1), out)
            self.assertRegex(out, r"\\x1[Bb]\[31m")
            self.assertNotRegex(out, "[\x1b\u202e]")
        code, out = call("read", self.database(FORGED), "-o", self.path / FORGED)
        self.assertEqual(code, 0, out)
        self.assertEqual(out.count("\n"), 1)
        self.assertNotRegex(out, "[\x1b\u202e]")

    def test_there_is_no_other_way_to_the_terminal(self):
        found = [f"{file.name}: {line.strip()}" for file in sorted((SOURCE / "plumb_golden").glob("*.py"))
                 for line in file.read_text(encoding="utf-8").splitlines()
                 if re.search(r"\bprint\(|std(out|err)\.(write|buffer)|warnings\.warn\(|logging\.", line)]
        self.assertEqual(found, ["cli.py: print(shown.encode(encoding, \"backslashreplace\").decode(encoding), "
                                 "file=stream, flush=True)",
                                 "cli.py: print(text, flush=True)"])  # JSON, which escapes by itself


class LimitTest(InFolder):
    """`ulimit -v -n -f`, from none of what a run needs beyond its imports to enough."""
    RUN = """
import os, pathlib, resource, sqlite3, sys
import numpy
from plumb_golden import cli, ort_database, reading
kind, value, *words = sys.argv[1:]
value = int(value)
if kind == "AS":
    value += int(pathlib.Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
if kind == "NOFILE":
    value += len(os.listdir("/proc/self/fd")) - 1
resource.setrlimit(getattr(resource, "RLIMIT_" + kind), (value, value))
sys.exit(cli.main(words))
"""

    def test_every_run_ends_with_a_code_and_one_sentence(self):
        value = b"\x08\xc0\x84\x3d\x10\x01\x4a\x80\x92\xf4\x01" + bytes(4 * 10**6)  # [1000000] f32
        database = self.database(value=value)
        for kind, values in (("AS", [0, 2**22, 2**28]), ("NOFILE", [0, 3, 20]),
                             ("FSIZE", [0, 10**5, 5 * 10**6])):
            codes = []
            for number, limit in enumerate(values):
                target = self.path / f"{kind}{number}"
                run = program(self.RUN, kind, limit, "read", database, "-o", target, "--json", f"{target}.json",
                              stdout=subprocess.PIPE)
                out, error = run.communicate(timeout=100)
                codes.append(run.returncode)
                self.assertIn(run.returncode, (0, 2, 4), (kind, limit, out, error))
                if run.returncode:
                    self.assertRegex(error, r"^error: [^\n]{10,}\n(error: [^\n]{10,}\n)?$", (kind, limit))
            self.assertNotEqual(codes[0], 0, (kind, codes))
            self.assertEqual(codes[-1], 0, (kind, codes))


class OutputTest(InFolder):
    def test_what_cannot_be_written_is_one_sentence(self):
        database = self.database()
        for words, code in ((["--json", "/dev/full"], 4), (["--json", self.path / "no" / "r.json"], 2),
                            (["--json", self.path], 2)):
            found, out = call("read", database, "-o", self.path / f"d{len(str(words))}", *words)
            self.assertEqual(found, code, out)
            self.assertRegex(out, r"(^|\n)error: [^\n]*(No space left|cannot write)[^\n]*\n$")
        with open("/dev/full", "w") as full:
            run = program("import sys; from plumb_golden.cli import main; sys.exit(main(sys.argv[1:]))", "read",
                          database, "-o", self.path / "last", stdout=full)
            error = run.communicate(timeout=100)[1]
        self.assertEqual(run.returncode, 4, error)
        self.assertRegex(error, r"^error: cannot read or write a file or standard output: No space left on device\n$")

    def test_a_pipe_gets_the_report(self):
        database, pipe = self.database(), self.path / "pipe"
        os.mkfifo(pipe)
        reader = subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE, text=True)
        self.assertEqual(call("read", database, "-o", self.path / "d", "--json", pipe)[0], 0)
        self.assertEqual(json.loads(reader.communicate(timeout=60)[0])["tensors"], ["x"])


if __name__ == "__main__":
    unittest.main()
