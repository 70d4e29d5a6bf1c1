# SPDX-License-Identifier: Apache-2.0
"""compare_verdicts.py on reports of two layers: what is said and the exit code."""
import json
import pathlib
import subprocess
import sys
import tempfile

TOOL = pathlib.Path(__file__).resolve().parent / "compare_verdicts.py"


def report(**verdicts):
    return {"runs": [{"device": "subject", "layers": [
        {"name": name, "verdict": verdict, "reason": f"why {name}", "outputs": [{"blob": f"{name}_blob"}]}
        for name, verdict in verdicts.items()]}]}


def run(folder, before, after, *words):
    for side, reports in (("before", before), ("after", after)):
        for name, content in reports.items():
            file = folder / side / name / "report.json"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content if isinstance(content, str) else json.dumps(content))
    done = subprocess.run([sys.executable, str(TOOL), str(folder / "before"), str(folder / "after"), *words],
                          capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


CASES = [  # before, after, options, exit code, what is said
    ({"net": report(conv="aligned", relu="wrong")}, {"net": report(conv="aligned", relu="wrong")}, [], 0,
     "1 reports; now 1 aligned, 0 not tested, 0 grey, 1 wrong; 0 bad changes"),
    ({"net": report(conv="aligned", relu="wrong")}, {"net": report(conv="grey", relu="aligned")}, [], 1,
     "net/report.json: conv: aligned -> grey: why conv (bad)\nnet/report.json: relu: wrong -> aligned: why relu\n"),
    ({"net": report(conv="aligned", relu="wrong")}, {"net": report(conv="grey", relu="aligned")}, ["--faulty"], 1,
     "conv: aligned -> grey: why conv\nnet/report.json: relu: wrong -> aligned: why relu (bad)\n"),
    ({"net": report(conv="aligned")}, {"net": report(relu="wrong")}, [], 1, "conv: aligned -> gone (bad)"),
    ({"net": report(conv="aligned")}, {"other": report(conv="aligned")}, [], 1, "net/report.json: gone"),
    ({"net": report(conv="aligned")}, {"net": "{"}, [], 2, "is no report of model_check --json"),
    ({"net": report(conv="aligned")}, {}, [], 2, "there is no file or folder"),
]


def main():
    for before, after, words, code, said in CASES:
        with tempfile.TemporaryDirectory() as folder:
            got, text = run(pathlib.Path(folder), before, after, *words)
        assert got == code, f"exit {got}, expected {code}: {text}"
        assert said in text, f"expected '{said}' in: {text}"
    shown = subprocess.run([sys.executable, str(TOOL), "--help"], capture_output=True, text=True)
    assert shown.returncode == 0 and "--faulty" in shown.stdout, shown


if __name__ == "__main__":
    main()
