# SPDX-License-Identifier: Apache-2.0
"""AGENTS.md, followed to the letter: its session ends with the exit codes that it says, and every field that its table
names stands in what the commands wrote."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(os.environ["PLUMB_ROOT"])


def finds(value, path):
    """Whether the field is there, in any element of the lists on its way."""
    if not path:
        return True
    first, rest = path[0], path[1:]
    many = first.endswith("[]")
    if not isinstance(value, dict) or first.removesuffix("[]") not in value:
        return False
    inner = value[first.removesuffix("[]")]
    return any(finds(element, rest) for element in inner) if many else finds(inner, rest)


def main():
    page = (ROOT / "AGENTS.md").read_text()
    commands = [re.match(r"    (.*?) +# (\d)$", line).groups() for line in page.splitlines() if line.startswith("    ")]
    assert len(commands) >= 6, commands
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "examples").symlink_to(ROOT / "examples")
        environment = dict(os.environ)
        environment["PATH"] = os.pathsep.join(
            [os.environ["PLUMB_BIN_DIR"], os.path.dirname(sys.executable), os.environ["PATH"]]
        )
        for command, expected in commands:
            done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True)
            assert done.returncode == int(expected), \
                f"{command}\nexit {done.returncode}, the page says {expected}\n{done.stdout}{done.stderr}"
        reports = [json.loads(path.read_text()) for path in pathlib.Path(folder).glob("*.json")]
        wrong = json.loads((pathlib.Path(folder) / "wrong.json").read_text())
    assert len(reports) == 3, len(reports)
    assert wrong["runs"][0]["first_wrong"]["name"] == "conv3", wrong["runs"][0]["first_wrong"]
    fields = {word for line in page.splitlines() if line.startswith("|")
              for word in re.findall(r"`((?:runs\[\]\.|verdict|exit_code)[\w\[\].]*)`", line)}
    assert len(fields) > 12, fields
    missing = [field for field in sorted(fields) if not any(finds(report, field.split(".")) for report in reports)]
    # Only with --golden, which takes a package of PyPI.
    assert missing == ["runs[].layers[].outputs[].golden"], missing
    print(f"{len(commands)} commands, {len(fields)} fields")


if __name__ == "__main__":
    sys.exit(main())
