"""`pip install .` into an empty environment, and the wheel into a second one that finds no compiler.

Slow: compiles everything, and takes scikit-build-core, nanobind, numpy and pytest from PyPI; skipped
(77) where that cannot be reached. A second CPython is any on PATH that the wheel is made for.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TESTS = ("test_plumbnn.py", "test_golden.py", "test_doc.py", "test_pytest.py")


def run(*command, **options):
    print("+", *command, flush=True)
    return subprocess.run([str(word) for word in command], check=False, **options).returncode


def must(*command, **options):
    code = run(*command, **options)
    if code != 0:
        sys.exit(f"failed ({code})")


def environment(python, folder):
    must(python, "-m", "venv", folder)
    return folder / "bin"


def check_installed(bin_folder, path):
    variables = {
        **os.environ,
        "PATH": path,
        "PLUMB_ROOT": str(ROOT),
        "PLUMB_BIN_DIR": str(bin_folder),
    }
    variables.pop("PYTHONPATH", None)
    for tool in ("model_check", "blob_diff", "device_info"):
        must(bin_folder / tool, "--version", env=variables)
    must(bin_folder / "plumb-golden", "--help", env=variables, stdout=subprocess.DEVNULL)
    for test in TESTS:
        must(bin_folder / "python", ROOT / "python/tests" / test, env=variables)


def others(python):
    """Other interpreters on PATH: of this version, or where both are 3.12 or later."""
    code = "import sys, os; print(*sys.version_info[:2], os.path.realpath(sys.executable), sys.version)"

    def ask(path):
        return subprocess.run([path, "-c", code], capture_output=True, text=True).stdout.split(
            " ", 3
        )

    mine = ask(python)
    for minor in range(10, 20):
        for folder in os.environ["PATH"].split(os.pathsep):
            path = shutil.which(f"python3.{minor}", path=folder)
            found = ask(path) if path else []
            if len(found) != 4 or found[2:] == mine[2:]:
                continue
            if minor == int(mine[1]) or min(minor, int(mine[1])) >= 12:
                yield path


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--wheel", type=pathlib.Path, help="one that is built already")
    options = parser.parse_args()
    shutil.rmtree(options.work, ignore_errors=True)
    options.work.mkdir(parents=True)
    first = environment(sys.executable, options.work / "first")
    if run(first / "pip", "download", "-q", "--no-deps", "-d", options.work, "nanobind") != 0:
        print("skipped: PyPI cannot be reached")
        return 77
    wheel = options.wheel
    if wheel is None:
        must(first / "pip", "wheel", "-q", "--no-deps", "-w", options.work / "dist", ROOT)
        (wheel,) = (options.work / "dist").glob("plumbnn-*.whl")
    print(wheel.name, wheel.stat().st_size, "bytes")
    must(first / "pip", "install", "-q", f"{wheel}[pytest]")
    check_installed(first, os.environ["PATH"])
    count = 0
    for i, python in enumerate(others(sys.executable)):
        count += 1
        second = environment(python, options.work / f"second{i}")
        nothing = {**os.environ, "PATH": str(second)}  # no compiler, no CMake
        must(second / "pip", "install", "-q", f"{wheel}[pytest]", env=nothing)
        check_installed(second, str(second))
    print(f"{count} other interpreters")
    return 0


if __name__ == "__main__":
    sys.exit(main())
