# SPDX-License-Identifier: Apache-2.0
"""A Python that has the packages a slow test needs: $PLUMB_TEST_PYTHON when it has them, else a virtual environment in
the build folder, made once with pip. Without the registry the test is skipped with the reason (exit code 77)."""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def has(python, modules):
    code = "import " + ", ".join(modules)
    try:
        return subprocess.run([str(python), "-c", code], capture_output=True).returncode == 0
    except OSError:
        return False


def ensure(folder, packages, modules):
    """Returns when this very Python has the modules; otherwise starts the script again in one that has them."""
    if has(sys.executable, modules):
        return
    other = os.environ.get("PLUMB_TEST_PYTHON")
    if not other or not has(other, modules):
        folder = pathlib.Path(folder)
        other = folder / "bin" / "python"
        if not other.exists() and subprocess.run([sys.executable, "-m", "venv", str(folder)],
                                                 capture_output=True).returncode != 0:
            skip("this Python cannot make a virtual environment (python3-venv)")
        if not has(other, modules):
            install = subprocess.run([str(other), "-m", "pip", "install", "-q", *packages], capture_output=True,
                                     text=True)
            if install.returncode != 0:
                skip(f"pip cannot install {' '.join(packages)} here: {install.stderr.strip().splitlines()[-1:]}")
    os.execv(str(other), [str(other), *sys.argv])


def more(folder, wanted, modules):
    """Why a part of a test whose packages ensure() does not ask for cannot run in this very Python, or "". Installs
    into `folder` where this Python is the one in it."""
    if has(sys.executable, modules):
        return ""
    if pathlib.Path(sys.executable).parent != pathlib.Path(folder).absolute() / "bin":
        return f"{sys.executable} has no {' and '.join(modules)}"
    done = subprocess.run([sys.executable, "-m", "pip", "install", "-q", *wanted], capture_output=True, text=True)
    if done.returncode != 0:
        return f"pip cannot install {' '.join(wanted)} here: {done.stderr.strip().splitlines()[-1:]}"
    return "" if has(sys.executable, modules) else f"{' and '.join(modules)} cannot be imported"


def begin(test, runtimes):
    """The command line of a test that runs once per runtime: --bin FOLDER --work FOLDER RUNTIME. `runtimes` maps each
    to a tuple that begins with its packages of PyPI (none: they are Debian's) and its modules. Returns the options when
    this Python has them, with `folder`, an empty one of this test and runtime."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("runtime", choices=runtimes)
    options = parser.parse_args()
    wanted, modules = runtimes[options.runtime][:2]
    if wanted:
        ensure(options.work / options.runtime, wanted, modules)
    elif not has(sys.executable, modules):
        other = next((python for python in (os.environ.get("PLUMB_TEST_PYTHON"), "/usr/bin/python3")
                      if python and has(python, modules)), None)
        if other is None:
            skip(f"no Python here has {' and '.join(modules)} (Debian packages python3-torch and python3-onnx)")
        os.execv(other, [other, *sys.argv])
    options.folder = options.work / f"{test}_{options.runtime}"
    shutil.rmtree(options.folder, ignore_errors=True)
    options.folder.mkdir(parents=True)
    return options


def environment(python, **more):
    """The process's own, with the modules in `python` and this Python's programs in front."""
    return {**os.environ, "PYTHONPATH": str(python),
            "PATH": f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}", **more}
