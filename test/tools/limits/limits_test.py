#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tools at the limits of their surroundings: memory, threads, open files, file sizes, full disks, closed streams,
other runs that write the same names, and files that change while they are read.

Whatever the limit: an exit code of ours (0 to 4), one sentence on stderr where it is not 0, no half-written file.

    limits_test.py --bin build/release/bin --work FOLDER [--full]

--full sweeps in fine steps, and with the drivers of OPENCL and VULKAN, which may say more before our sentence.
"""
import argparse
import filecmp
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import threading
import time
import unittest

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
DIGITS = REPOSITORY / "examples/digits/digits.tnnproto"
SQUEEZENET = REPOSITORY / "examples/squeezenet/squeezenet.tnnproto"
LARGE_BLOBS = REPOSITORY / "test/data/networks/squeezenet_v1.0.tnnproto"
MEBI = 1 << 20
NOBODY = 65534
OPTIONS = argparse.Namespace()


def lower(limits):
    for kind, value in limits.items():
        hard = resource.getrlimit(kind)[1]
        resource.setrlimit(kind, (value, value if hard == resource.RLIM_INFINITY or value < hard else hard))


def run(tool, *arguments, limits=None, environment=None, before=lambda: None, **streams):
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL, **streams}

    def prepare():
        lower(limits or {})
        before()

    variables = dict(os.environ, COLUMNS="1000", **(environment or {}))
    return subprocess.run([OPTIONS.bin / tool, *map(str, arguments)], preexec_fn=prepare, env=variables, timeout=300,
                          check=False, **streams)


def steps(first, last, count):
    return sorted({first + (last - first) * i // count for i in range(count + 1)})


class Limits(unittest.TestCase):
    def setUp(self):
        self.work = OPTIONS.work / self.id().split(".")[-1]
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir(parents=True)
        os.chmod(self.work, 0o777)

    def ended(self, result, what, talkative=False):
        """An exit code of ours; not 0: one sentence. Devices whose drivers talk are forgiven what stands before it."""
        lines = result.stderr.decode(errors="replace").splitlines()
        told = f"{what}: exit code {result.returncode}, stderr {lines}"
        self.assertIn(result.returncode, range(5), told)
        if result.returncode != 0:
            self.assertTrue(lines and lines[-1].startswith("error: "), told)
            errors = [line for line in lines if not line.startswith(("warning: ", "note: ", "plumb: "))]
            self.assertTrue(talkative or len(errors) == 1, told)
        parts = [path for path in self.work.rglob("*.part") if path.name != "manifest.json.part"]
        self.assertEqual(parts, [], told)
        return result.returncode

    def jobs(self, device="X86"):
        """Tool, arguments and environment; each time with names of their own."""
        self.count = getattr(self, "count", 0) + 1
        out = self.work / str(self.count)
        return {
            "check": ("model_check", ["-m", DIGITS, "-d", device, "--json", f"{out}.json"], {}),
            "convert": ("model_convert", [DIGITS, "-o", out], {}),
            "dump": ("model_run", ["-m", DIGITS, "-d", device],
                     {"DUMP_OUTPUT_BLOB": "1", "DUMP_BLOB_DIR": f"{out}-dump"}),
            "info": ("model_info", ["-m", DIGITS, "-d", device], {}),
        }

    def sweep(self, kind, values, names=("check", "convert", "dump", "info"), **how):
        codes = {}
        for name in names:
            for value in values:
                tool, arguments, environment = self.jobs()[name]
                result = run(tool, *arguments, limits={kind: value}, environment=environment, **how)
                codes[name, value] = self.ended(result, f"{name} at {value}")
        return codes

    def least(self, tool, kind, values):
        """The loader's own needs are not ours: where --version works."""
        for value in values:
            if run(tool, "--version", limits={kind: value}).returncode == 0:
                return value
        self.fail(f"{tool} --version never works")

    def test_address_space(self):
        for name in ("check", "convert", "dump", "info"):
            tool = self.jobs()[name][0]
            least = self.least(tool, resource.RLIMIT_AS, range(20 * MEBI, 500 * MEBI, MEBI))
            values = steps(least, least + 60 * MEBI, 120 if OPTIONS.full else 8) + [resource.RLIM_INFINITY]
            codes = self.sweep(resource.RLIMIT_AS, values, [name])
            self.assertEqual(codes[name, resource.RLIM_INFINITY], 0, name)

    def test_address_space_of_a_larger_network(self):
        least = self.least("model_check", resource.RLIMIT_AS, range(20 * MEBI, 500 * MEBI, MEBI))
        for value in steps(least, least + 60 * MEBI, 120 if OPTIONS.full else 10):
            result = run("model_check", "-m", SQUEEZENET, "-d", "X86", "-q", limits={resource.RLIMIT_AS: value})
            self.ended(result, f"squeezenet at {value}")

    def test_drivers_in_little_address_space(self):
        if not OPTIONS.full:
            self.skipTest("slow")
        for value in range(100 * MEBI, 1600 * MEBI, 25 * MEBI):
            result = run("model_check", "-m", DIGITS, limits={resource.RLIMIT_AS: value})
            self.ended(result, f"all devices at {value}", talkative=True)

    def test_open_files(self):
        least = self.least("model_check", resource.RLIMIT_NOFILE, range(3, 64))
        self.sweep(resource.RLIMIT_NOFILE, range(least, least + (24 if OPTIONS.full else 5)))

    def test_file_sizes(self):
        sizes = steps(0, 130000, 130) if OPTIONS.full else [0, 1, 4096, 100000]
        codes = self.sweep(resource.RLIMIT_FSIZE, sizes, ("check", "convert", "dump"))
        self.assertEqual([codes[name, 0] for name in ("check", "convert", "dump")], [4, 4, 4])

    def test_no_thread(self):
        """A thread's stack that is larger than all memory: whoever runs this, no thread can be started."""
        limits = {resource.RLIMIT_STACK: 16 << 30, resource.RLIMIT_AS: 4 << 30}
        for name, (tool, arguments, environment) in self.jobs().items():
            self.assertEqual(self.ended(run(tool, *arguments, limits=limits, environment=environment), name), 0, name)
        everywhere = run("model_check", "-m", DIGITS, limits=limits)  # without the devices whose drivers need threads
        self.assertEqual(self.ended(everywhere, "all devices"), 0)
        dumps = list(self.work.glob("*-dump/manifest.json"))
        self.assertEqual([len(json.loads(path.read_text())["files"]) > 4 for path in dumps], [True])

    def test_processes(self):
        def become_nobody():
            if os.geteuid() == 0:  # root has no such limit
                os.setgid(NOBODY)
                os.setuid(NOBODY)

        try:
            if run("model_run", "--version", before=become_nobody).returncode != 0:
                self.skipTest("nobody cannot run the tools here")
        except (subprocess.SubprocessError, PermissionError) as error:
            self.skipTest(f"no other user here: {error}")
        for value in (0, 1, 2, 3):
            for name, code in self.sweep(resource.RLIMIT_NPROC, [value], before=become_nobody).items():
                self.assertEqual(code, 0, name)

    def test_streams_that_take_nothing(self):
        def no_reader():
            reader, writer = os.pipe()
            os.dup2(writer, 1)
            os.close(writer)
            os.close(reader)

        tools = {"device_info": ["-h"], "blob_diff": ["-h"], "model_check": ["--version"]}
        commands = list(tools.items()) + [(tool, arguments) for tool, arguments, _ in self.jobs().values()]
        for tool, arguments in commands:
            with open("/dev/full", "wb") as full:
                for name, how in {"full": {"stdout": full}, "closed": {"before": lambda: os.close(1)},
                                  "no reader": {"before": no_reader}}.items():
                    result = run(tool, *arguments, **how)
                    self.assertEqual(self.ended(result, f"{tool} {arguments} {name}"), 4, f"{tool} {arguments} {name}")
        report = json.loads((self.work / "1.json").read_text())
        self.assertEqual(report["format"], "plumb-check")

    def test_reports_on_a_full_disk(self):
        for tool, arguments, _ in self.jobs().values():
            options = ["--json", "--csv", "--junit"] if tool == "model_check" else ["--json"]
            for option in options:
                for path in ("/dev/full", "-"):
                    if path == "-" and option != "--json":
                        continue
                    with open("/dev/full", "wb") as full:
                        result = run(tool, *[a for a in arguments if "json" not in str(a)], option, path,
                                     stdout=full if path == "-" else subprocess.DEVNULL)
                    told = f"{tool} {option} {path}: {result.stderr[-300:]}"
                    self.assertEqual(result.returncode, 4, told)
                    said = [line for line in result.stderr.lower().splitlines() if line.startswith(b"error: ")]
                    self.assertEqual(len(said), 1, told)

    def at_once(self, count, start):
        results = [None] * count

        def one(i):
            results[i] = start(i)

        threads = [threading.Thread(target=one, args=(i,)) for i in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for i, result in enumerate(results):
            self.assertEqual(self.ended(result, f"run {i}"), 0, result.stderr)

    def test_twelve_reports_of_one_name(self):
        path = self.work / "report.json"
        self.at_once(12, lambda i: run("model_check", "-m", DIGITS, "-d", "NAIVE", "--json", path))
        self.assertEqual(json.loads(path.read_text())["format"], "plumb-check")
        self.assertEqual(os.listdir(self.work), ["report.json"])

    def test_twelve_models_of_one_name(self):
        models = [DIGITS, SQUEEZENET]
        for i, model in enumerate(models):
            run("model_convert", model, "-o", self.work / f"alone{i}")
        for _ in range(20 if OPTIONS.full else 3):
            self.at_once(12, lambda i: run("model_convert", models[i % 2], "-o", self.work / "both"))
            pair = [[filecmp.cmp(self.work / f"both.{end}", self.work / f"alone{i}.{end}", shallow=False)
                     for end in ("tnnproto", "tnnmodel")] for i in range(2)]
            self.assertIn([True, True], pair)

    def test_ended_in_the_middle(self):
        for milliseconds in range(0, 200, 20 if OPTIONS.full else 50):
            folder = self.work / str(milliseconds)
            variables = dict(os.environ, DUMP_OUTPUT_BLOB="1", DUMP_BLOB_DIR=str(folder))
            process = subprocess.Popen([OPTIONS.bin / "model_run", "-m", SQUEEZENET, "-d", "NAIVE"], env=variables,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            until = time.monotonic() + 30
            while not folder.is_dir() and time.monotonic() < until:
                time.sleep(0.001)
            time.sleep(milliseconds / 1000)
            process.send_signal(signal.SIGTERM)
            code = process.wait()
            names = os.listdir(folder)
            if code == 0 or "manifest.json" in names or not names:  # before it began, or after the end
                continue
            self.assertEqual(code, -signal.SIGTERM)
            self.assertEqual([path.name for path in folder.rglob("*.part")], ["manifest.json.part"])
            judged = run("model_check", "-m", SQUEEZENET, "--subject", folder)
            self.assertEqual(self.ended(judged, "cut off"), 2)
            self.assertIn(b"was cut off", judged.stderr)

    def test_a_subject_that_changes_while_it_is_judged(self):
        folder = self.work / "dump"
        made = run("model_run", "-m", LARGE_BLOBS, "-d", "X86",
                   environment={"DUMP_OUTPUT_BLOB": "1", "DUMP_INPUT_BLOB": "1", "DUMP_BLOB_FORMAT": "raw",
                                "DUMP_BLOB_DIR": str(folder)})
        self.assertEqual(made.returncode, 0)
        files = [path for path in folder.glob("*.raw") if path.stat().st_size > MEBI]
        self.assertTrue(files)
        done = threading.Event()

        def write_anew():
            while not done.is_set():
                for path in files:
                    size = path.stat().st_size
                    os.truncate(path, 5000)
                    os.truncate(path, size)

        writer = threading.Thread(target=write_anew)
        writer.start()
        try:
            for _ in range(20 if OPTIONS.full else 3):
                result = run("model_check", "-m", LARGE_BLOBS, "--subject", folder)
                if result.returncode != 1:
                    self.ended(result, "changed")
        finally:
            done.set()
            writer.join()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("tests", nargs="*")
    OPTIONS = parser.parse_args()
    OPTIONS.bin, OPTIONS.work = OPTIONS.bin.resolve(), OPTIONS.work.resolve()
    unittest.main(argv=["limits_test.py", "-v", *[f"Limits.{test}" for test in OPTIONS.tests]])
