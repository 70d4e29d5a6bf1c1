# SPDX-License-Identifier: Apache-2.0
"""Versions of a library are no difference: what Pillow 9 to 13 and OpenCV 4.6 to 5 do to the same inputs is told
aligned, case by case, against the newest of each. The table goes into doc/pipeline.md, which must say what this prints.

    versions_test.py --work FOLDER --bin FOLDER [--print]
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "golden")]
import packages  # noqa: E402

ROOT = HERE.parents[2]
PAGE = ROOT / "doc" / "pipeline.md"
# The newest first: the others are compared with it. numpy below 2 where the wheel was built for it.
VERSIONS = {"pillow": [("13.0.0", "pillow==13.0.0", "numpy"), ("12.0.0", "pillow==12.0.0", "numpy"),
                       ("11.3.0", "pillow==11.3.0", "numpy"), ("10.4.0", "pillow==10.4.0", "numpy"),
                       ("9.5.0", "pillow==9.5.0", "numpy")],
            "opencv": [("5.0.0", "opencv-python-headless==5.0.0.93", "numpy"),
                       ("4.13.0", "opencv-python-headless==4.13.0.90", "numpy"),
                       ("4.6.0", "opencv-python-headless==4.6.0.66", "numpy<2")]}
NAMES = {"pillow": "Pillow", "opencv": "OpenCV"}


def make_inputs(folder):
    """The photo, files of it, a frame of video and boxes: made once, by the Python of this test."""
    import planted
    import planted_answers
    import numpy as np
    from PIL import Image
    folder.mkdir(parents=True, exist_ok=True)
    photo = planted.picture(300, 402)
    np.save(folder / "photo.npy", photo)
    image = Image.fromarray(photo)
    image.save(folder / "photo.png")
    image.save(folder / "420.jpg", quality=85)
    image.save(folder / "444.jpg", quality=95, subsampling=0)
    image.save(folder / "progressive.jpg", quality=80, progressive=True)
    image.convert("L").save(folder / "grey.jpg", quality=85)
    image.convert("CMYK").save(folder / "cmyk.jpg", quality=85)
    exif = Image.Exif()
    exif[0x0112] = 6
    image.save(folder / "turned.jpg", quality=85, exif=exif)
    image.quantize(64).save(folder / "palette.png")
    frame = planted.before("frame")
    np.save(folder / "frame.npy", frame)
    Image.fromarray(frame).save(folder / "frame.png")
    np.save(folder / "rows.npy", planted_answers.candidates())


def python_of(work, library, version, wanted):
    """The Python of an environment that has this version alone."""
    folder = work / f"{library}-{version}"
    python = folder / "bin" / "python"
    module = {"pillow": "PIL", "opencv": "cv2"}[library]
    packages_of = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *wanted]
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    if not packages.has(python, ["numpy", module]):
        done = subprocess.run(list(map(str, packages_of)), capture_output=True, text=True)
        if done.returncode != 0:
            return None, f"pip cannot install {' '.join(wanted)}: {done.stderr.strip().splitlines()[-1:]}"
    return python, ""


def debian(work, inputs, out):
    """The same in C++ by the OpenCV of this system; its version, or why there is none."""
    if shutil.which("pkg-config") is None or subprocess.run(["pkg-config", "--exists", "opencv4"]).returncode != 0:
        return "", "there is no libopencv-dev"
    words = subprocess.run(["pkg-config", "--cflags", "opencv4"], capture_output=True, text=True, check=True).stdout
    program = work / "versions_stages"
    libraries = ["-lopencv_imgcodecs", "-lopencv_imgproc", "-lopencv_core"]
    subprocess.run(["c++", "-std=c++17", "-O1", f"-I{ROOT / 'include'}", *words.split(),
                    str(HERE / "versions_stages.cc"), "-o", str(program), *libraries], check=True)
    files = sorted(path.name for path in inputs.iterdir() if path.suffix in (".jpg", ".png"))
    subprocess.run([str(program), str(inputs), *files], check=True, env={**os.environ, "DUMP_STAGE_DIR": str(out)})
    return subprocess.run(["pkg-config", "--modversion", "opencv4"], capture_output=True,
                          text=True).stdout.strip(), ""


def compare(stage_diff, newest, other, report):
    """(cases, aligned, those that are bytes the same, the others by name)."""
    subprocess.run([str(stage_diff), str(newest), str(other), "--json", str(report), "-q"], capture_output=True)
    samples = json.loads(report.read_text())["samples"]
    worst = {sample["original"]: sample["stages"][-1] for sample in samples}
    failed = [f"{name}: {row['verdict']}, {row['cause'] or row['reason']}" for name, row in worst.items()
              if row["verdict"] != "aligned"]
    same = sum(row["differing"] == 0 for row in worst.values())
    return len(samples), len(samples) - len(failed), same, failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--print", action="store_true", help="the table alone, for the page")
    options = parser.parse_args()
    packages.ensure(options.work / "stage", ["numpy", "pillow"], ["numpy", "PIL"])
    work = options.work / "versions"
    work.mkdir(parents=True, exist_ok=True)
    inputs = work / "inputs"
    make_inputs(inputs)
    lines = ["| library | beside | cases | aligned | the same bytes |", "|---|---|---|---|---|"]
    failed = []

    def row(library, words, newest, out):
        cases, aligned, same, wrong = compare(options.bin / "stage_diff", newest, out, work / "report.json")
        lines.append(f"| {words} | {NAMES[library]} {VERSIONS[library][0][0]} | {cases} | {aligned} | {same} |")
        failed.extend(f"{words}: {one}" for one in wrong)
        if cases == 0:
            failed.append(f"{words}: no case was compared")

    for library, versions in VERSIONS.items():
        newest = work / "out" / f"{library}-{versions[0][0]}"
        for version, *wanted in versions:
            python, why = python_of(work, library, version, wanted)
            if python is None:
                packages.skip(why)
            out = work / "out" / f"{library}-{version}"
            shutil.rmtree(out, ignore_errors=True)
            subprocess.run([str(python), str(HERE / "versions.py"), library, str(inputs), str(out)], check=True)
            if out != newest:
                row(library, f"{NAMES[library]} {version}", newest, out)
    out = work / "out" / "debian"
    shutil.rmtree(out, ignore_errors=True)
    version, why = debian(work, inputs, out)
    if not version:
        packages.skip(why)
    row("opencv", f"OpenCV {version} of Debian, in C++", work / "out" / f"opencv-{VERSIONS['opencv'][0][0]}", out)
    print("\n".join(lines))
    if options.print:
        return 0
    page = PAGE.read_text(encoding="utf-8")
    failed += [f"doc/pipeline.md lacks the line '{line}'" for line in lines if line not in page]
    for reason in failed:
        print(f"FAILED: {reason}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
