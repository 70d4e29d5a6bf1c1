# SPDX-License-Identifier: Apache-2.0
"""Import it first: goes on in a Python that has numpy (this one, that of build/venv, Debian's), else says that the test
is skipped."""
import importlib.util
import os
import pathlib
import subprocess
import sys

if importlib.util.find_spec("numpy") is None:
    root = pathlib.Path(__file__).resolve().parents[3]
    for other in (root / "build" / "venv" / "bin" / "python", pathlib.Path("/usr/bin/python3")):
        if other.exists() and subprocess.run([str(other), "-c", "import numpy"], capture_output=True).returncode == 0:
            os.execv(str(other), [str(other), *sys.argv])
    print("skipped: no Python here has numpy")
    sys.exit(77)
