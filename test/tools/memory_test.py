# SPDX-License-Identifier: Apache-2.0
"""model_check --subject: memory does not grow with a subject that is a file. A chain of 36 layers of 8 MiB each, stored
and deflated in an .npz and as a folder of .npy, is judged within 250 MiB.

    memory_test.py --bin build/release/bin --work build/release/golden_test
"""
import argparse
import array
import os
import pathlib
import shutil
import struct
import sys
import zipfile

LAYERS, DIMS = 36, (1, 8, 512, 512)
MOST = 250 << 20  # measured: 151 MiB, of which the library and the tensors of two steps are the most


def npy(values):
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {DIMS}, }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + values.tobytes()


def write_model(path):
    names = ["x"] + [f"y{i}" for i in range(LAYERS)]
    lines = [f"1 {LAYERS} 1 4206624772 ,", f"x 4 {' '.join(map(str, DIMS))} 0 ,", f" {' '.join(sorted(names))} ,",
             f"{names[-1]} ,", f" {LAYERS} ,"]
    lines += [f"Neg {after} 1 1 {before} {after} ," for before, after in zip(names, names[1:])]
    path.write_text("".join(f'"{line}"\n' for line in lines))
    return names


def write_subjects(work, names):
    count = DIMS[1] * DIMS[2] * DIMS[3]
    values = array.array("f", ((i // 16 * 7919 % 100003 - 50001) / 64 for i in range(count)))
    both = [npy(values), npy(array.array("f", (-value for value in values)))]
    (work / "folder").mkdir()
    subjects = [work / "folder", work / "stored.npz", work / "deflated.npz"]
    with zipfile.ZipFile(subjects[1], "w") as stored, zipfile.ZipFile(subjects[2], "w", zipfile.ZIP_DEFLATED) as packed:
        for i, name in enumerate(names):
            (subjects[0] / f"{name}.npy").write_bytes(both[i % 2])
            stored.writestr(f"{name}.npy", both[i % 2])
            packed.writestr(f"{name}.npy", both[i % 2])
    return subjects


def run(*words):
    """Exit code and the largest resident size in bytes."""
    child = os.spawnv(os.P_NOWAIT, words[0], [str(word) for word in words])
    _, status, usage = os.wait4(child, 0)
    return os.waitstatus_to_exitcode(status), usage.ru_maxrss << 10


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    options = parser.parse_args()
    work = options.work / "memory"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    names = write_model(work / "net.tnnproto")
    for subject in write_subjects(work, names):
        code, most = run(options.bin / "model_check", "-m", work / "net.tnnproto", "--subject", subject, "--quiet")
        print(f"{subject.name}: {most >> 20} MiB")
        assert code == 0 and most <= MOST, (subject, code, most)
    shutil.rmtree(work)


if __name__ == "__main__":
    sys.exit(main())
