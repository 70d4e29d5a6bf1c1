# SPDX-License-Identifier: Apache-2.0
"""What the tests of quantised subjects share: judging one by model_check, and saying what was expected."""
import json
import subprocess

FAILED = []


def expect(condition, what, more=""):
    print(f"{'ok  ' if condition else 'FAIL'} {what}")
    if not condition:
        FAILED.append(what)
        print(more)


def judge(options, model, subject):
    """The run of the report of `model_check -m model --subject subject`, and the finished process."""
    report = options.work / "judged.json"
    report.unlink(missing_ok=True)
    done = subprocess.run([f"{options.bin}/model_check", "-m", str(model), "--subject", str(subject), "--json",
                           str(report)], capture_output=True, text=True)
    assert report.exists(), done.stdout + done.stderr
    return json.loads(report.read_text())["runs"][0], done


def lines(layers):
    return "\n".join(f"     {layer['verdict']} {layer['name']} ({'+'.join(m['type'] for m in layer['members'])}): "
                     f"{layer['reason']}; {layer['cause']}" for layer in layers)


def finish(what):
    """The last line, and the test's exit code."""
    print("failed: " + ", ".join(FAILED) if FAILED else f"all {what} are judged as they should be")
    return bool(FAILED)
