# SPDX-License-Identifier: Apache-2.0
"""The package is `mypy --strict` clean, with the module's stub (plumbnn.golden, which also runs alone, has no
types)."""

import importlib.util
import os
import pathlib
import subprocess
import sys

if importlib.util.find_spec("mypy") is None:
    print("skipped: there is no mypy")
    sys.exit(77)

found = importlib.util.find_spec("plumbnn")
package = pathlib.Path(found.submodule_search_locations[0])
files = sorted(str(path) for pattern in ("*.py", "*.pyi") for path in package.glob(pattern))
if not any(path.endswith("_core.pyi") for path in files):
    sys.exit(f"there is no stub of the module in {package}")
settings = pathlib.Path(os.environ["PLUMB_ROOT"]) / "pyproject.toml"
command = [sys.executable, "-m", "mypy", "--strict", "--config-file", settings, "--cache-dir", os.devnull]
sys.exit(subprocess.run([*command, *files], cwd=package.parent, check=False).returncode)
