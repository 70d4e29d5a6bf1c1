# SPDX-License-Identifier: Apache-2.0
"""doc/tutorial.md, followed to the letter: its commands find the fault of a released runtime, reduce it to one node and
see it mended, and what the page prints of them is what they print.

    tutorial_test.py --bin build/release/bin --work build/release/golden_test
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    options = parser.parse_args()
    page = (ROOT / "doc" / "tutorial.md").read_text()
    blocks = re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    commands = [line[4:] for line in re.sub(r"```.*?```", "", page, flags=re.DOTALL).splitlines()
                if line.startswith("    ")]
    assert len(commands) >= 10 and len(blocks) >= 3, (len(commands), len(blocks))
    environment = (options.work / "tutorial_venv").absolute()
    if not environment.exists() and subprocess.run([sys.executable, "-m", "venv", environment]).returncode != 0:
        skip("no virtual environment can be made here (python3-venv)")
    folder = options.work / "tutorial"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "examples" / "tutorial", folder)
    path = os.pathsep.join([str(environment / "bin"), str(pathlib.Path(options.bin).absolute()), os.environ["PATH"]])
    said = ""
    for command in commands:
        done = subprocess.run(["bash", "-c", command], cwd=folder, env={**os.environ, "PATH": path}, text=True,
                              capture_output=True)
        if command.startswith("pip ") and done.returncode != 0:
            skip(f"pip: {done.stderr.strip().splitlines()[-1:]}")
        expected = 1 if "--subject opencv.npz" in command else 0
        assert done.returncode == expected, \
            f"{command}\nexit {done.returncode}, expected {expected}\n{done.stdout}{done.stderr}"
        said += done.stdout
    words = " ".join(said.split())
    for block in blocks:
        for part in block.split("...\n"):
            assert " ".join(part.split()) in words, f"the page says\n{part}\nand the commands said\n{said}"
    assert (folder / "page.html").exists() and (folder / "cases" / "case-1" / "model.onnx").exists()
    print(f"{len(commands)} commands, {len(blocks)} pieces of output as the page has them")


if __name__ == "__main__":
    main()
