# SPDX-License-Identifier: Apache-2.0
"""plumbnn under limits (`ulimit -v -u -f -n`), from none of what it needs beyond its import to
enough: each run ends with a result, a sentence or Python's MemoryError, and never by a signal.

$PLUMB_ROOT is the repository (ctest sets it).
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import plumbnn

CPU = plumbnn._network.CPU_DEVICE
ROOT = pathlib.Path(os.environ["PLUMB_ROOT"])

# The limit counts from what the import has taken. Root has no limit of processes: it becomes somebody else.
PROGRAM = """
import os, pathlib, resource, sys
import numpy, plumbnn

kind, value, folder, devices = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4:]
os.chdir(folder)
if kind == "NPROC" and os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
if kind == "AS":
    value += int(pathlib.Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
if kind == "NOFILE":
    value += len(os.listdir("/proc/self/fd")) - 1
limit = getattr(resource, "RLIMIT_" + kind)
allowed = resource.getrlimit(limit)[1]
value = value if allowed == resource.RLIM_INFINITY else min(value, allowed)
resource.setrlimit(limit, (value, value))
try:
    plumbnn.check("net.tnnproto", devices, threads=3)
    if len(devices) > 1:
        plumbnn.dump("net.tnnproto", "dump", threads=3)
    plumbnn.convert("net.tnnproto", "copy")
    os.write(1, b"done")
except plumbnn.Error as error:
    os.write(1, str(error).encode())
    os._exit(5)
except MemoryError:
    os._exit(6)
"""


class LimitTest(unittest.TestCase):
    def sweep(self, kind, values, devices=("NAIVE", CPU)):
        """The exit codes; 0: all was computed."""
        codes = []
        for value in values:
            with self.subTest(kind, value=value), tempfile.TemporaryDirectory() as folder:
                os.chmod(folder, 0o777)
                for name in ("tnnproto", "tnnmodel"):
                    shutil.copy(ROOT / f"examples/digits/digits.{name}", f"{folder}/net.{name}")
                ran = subprocess.run(
                    [sys.executable, "-c", PROGRAM, kind, str(value), folder, *devices],
                    cwd=ROOT,  # not here: the build's own package may lie beside
                    env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
                    capture_output=True,
                    text=True,
                    timeout=120,
                    check=False,
                )
                codes.append(ran.returncode)
                self.assertIn(ran.returncode, (0, 5, 6), ran.stdout + ran.stderr)
                if ran.returncode == 5:
                    self.assertRegex(ran.stdout, r"^[^\n]{10,}$")
        return codes

    def test_memory(self):
        for devices in (["NAIVE"], ["NAIVE", CPU]):
            codes = self.sweep("AS", [0, 1 << 19, 1 << 21, 1 << 24, 1 << 25, 1 << 29], devices)
            self.assertEqual((codes[0], codes[-1]), (5, 0))

    def test_processes(self):
        self.assertEqual(self.sweep("NPROC", [0, 1, 2, 100000])[-1], 0)

    def test_size_of_files(self):
        codes = self.sweep("FSIZE", [0, 1, 5000, 20000, 10**6])
        self.assertEqual(codes, [5, 5, 5, 5, 0])

    def test_open_files(self):
        codes = self.sweep("NOFILE", [0, 1, 2, 3, 20])
        self.assertEqual((codes[0], codes[-1]), (5, 0))


if __name__ == "__main__":
    unittest.main()
