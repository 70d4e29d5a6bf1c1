"""A Python that has the packages a slow test needs: $PLUMB_TEST_PYTHON when it has them, else a virtual environment in
the build folder, made once with pip. Without the registry the test is skipped with the reason (exit code 77)."""
import os
import pathlib
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
