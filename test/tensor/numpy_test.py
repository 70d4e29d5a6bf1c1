# SPDX-License-Identifier: Apache-2.0
"""Exchanges .npy and .npz files with numpy: numpy writes, Plumb reads and writes again, numpy compares.

Usage: numpy_test.py NPY_TOOL. Exit code 77 (skipped) where numpy is missing.
"""
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    # A python3 of one's own in front of the distribution's, which is the one that has numpy.
    if sys.executable != "/usr/bin/python3" and os.path.exists("/usr/bin/python3"):
        os.execv("/usr/bin/python3", ["/usr/bin/python3"] + sys.argv)
    print("skipped: this python3 has no numpy")
    sys.exit(77)

DTYPES = ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "b1"]
SHAPES = [(), (0,), (5,), (2, 3), (1, 3, 4, 5), (2, 0, 3)]


def arrays():
    """Every dtype, shape, byte order and memory order, by name."""
    random = np.random.default_rng(1)
    result = {}
    for code in DTYPES:
        for shape in SHAPES:
            values = random.integers(0, 2 if code == "b1" else 100, shape).astype(code)
            for order in "<>":
                for memory in "CF":
                    array = np.array(values.astype(np.dtype(order + code)), order=memory)
                    result["%s%s%s%s" % ("be_" if order == ">" else "le_", code, memory, len(result))] = array
    return result


def main():
    tool = sys.argv[1]
    failures = 0

    def check(what, want, got):
        nonlocal failures
        if got.dtype != want.dtype.newbyteorder("<") or got.shape != want.shape or not np.array_equal(got, want):
            print("%s: wrote %s %s, read %s %s" % (what, want.dtype, want.shape, got.dtype, got.shape))
            failures += 1

    with tempfile.TemporaryDirectory() as folder:
        source, target = os.path.join(folder, "in"), os.path.join(folder, "out")
        want = arrays()
        for save in (np.savez, np.savez_compressed):
            save(source + ".npz", **want)
            for how in ([], ["rows"]):
                subprocess.run([tool, source + ".npz", target + ".npz", *how], check=True)
                with np.load(target + ".npz") as got:
                    assert list(got.keys()) == list(want.keys())
                    for name, array in want.items():
                        check(name, array, got[name])
        for version in ((1, 0), (2, 0), (3, 0)):
            array = np.arange(12, dtype="f4").reshape(3, 4)
            with open(source + ".npy", "wb") as file:
                np.lib.format.write_array(file, array, version=version)
            subprocess.run([tool, source + ".npy", target + ".npy"], check=True)
            check("version %s" % (version,), array, np.load(target + ".npy"))
        special = np.array([np.nan, np.inf, -np.inf, -0.0, 1e-45], dtype="f4")
        np.save(source + ".npy", special)
        subprocess.run([tool, source + ".npy", target + ".npy"], check=True)
        assert np.load(target + ".npy").tobytes() == special.tobytes()
    print("%d arrays of each kind exchanged, %d failures" % (len(want), failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
