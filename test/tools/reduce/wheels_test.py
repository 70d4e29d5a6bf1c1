# SPDX-License-Identifier: Apache-2.0
"""model_bisect --wheels, without a network: a runtime whose wheels lie in a folder, and which pools wrongly from
version 1.3 on.

    wheels_test.py --bin build/release/bin --examples examples --work build/release/wheels
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

PACKAGE = "plumb-fake-runtime"
MODULE = PACKAGE.replace("-", "_")
# The runtime: model_run on the network, which is edited where the version is wrong.
RUNTIME = '''
import pathlib, subprocess, sys, tempfile
def run(tool, model, inputs, dump):
    with tempfile.TemporaryDirectory() as folder:
        net = pathlib.Path(folder) / "net.tnnproto"
        net.write_text(pathlib.Path(model).read_text().replace("relu2 pool2 0 ", "relu2 pool2 {mean} "))
        net.with_suffix(".tnnmodel").write_bytes(pathlib.Path(model).with_suffix(".tnnmodel").read_bytes())
        subprocess.run([tool, "-m", str(net), "-i", inputs, "-d", "NAIVE", "-q"], check=True,
                       env={{"DUMP_INPUT_BLOB": "1", "DUMP_OUTPUT_BLOB": "1", "DUMP_BLOB_DIR": dump}})
'''


def make_wheel(folder, version, code, needs=""):
    information = f"{MODULE}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {PACKAGE}\nVersion: {version}\n"
    with zipfile.ZipFile(folder / f"{MODULE}-{version}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{MODULE}.py", code)
        wheel.writestr(f"{information}/METADATA", metadata + (f"Requires-Dist: {needs}\n" if needs else ""))
        wheel.writestr(f"{information}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{information}/RECORD", "")


def make_wheels(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for version in ("0.9", "1.0", "1.1", "1.1.1", "1.3", "1.4", "1.5rc1", "1.10"):
        make_wheel(folder, version, RUNTIME.format(mean=int(version in ("1.3", "1.4", "1.5rc1", "1.10"))))
    make_wheel(folder, "1.2", RUNTIME.format(mean=0), needs="plumb-no-such-package")
    make_wheel(folder, "1.3.1", "raise ImportError('no such instruction')")


class Test:
    def __init__(self, o):
        self.bin, self.model = o.bin.resolve(), (o.examples / "digits" / "digits.tnnproto").resolve()
        self.work = o.work.resolve()
        shutil.rmtree(self.work, ignore_errors=True)
        make_wheels(self.work / "wheels")
        self.failed = 0
        self.environment = {**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.work / "wheels"),
                            "PIP_CONFIG_FILE": "/dev/null", "PLUMB_CACHE_DIR": str(self.work / "cache")}

    def call(self, wheels, *more, python="{python}", made_by=sys.executable, **environment):
        code = f"import sys, {MODULE}; {MODULE}.run(*sys.argv[1:])"
        command = f"{python} -c '{code}' {self.bin}/model_run {{model}} {{inputs}} {{dump}}"
        return subprocess.run([str(self.bin / "model_bisect"), "-m", str(self.model), "--run", command, "--wheels",
                               wheels, "--python", str(made_by), *more], capture_output=True, text=True,
                              env={**self.environment, **environment})

    def expect(self, what, is_so, done):
        print(f"{'ok  ' if is_so else 'FAIL'} {what}", flush=True)
        if not is_so:
            self.failed += 1
            print(done.stdout + done.stderr)

    def expect_error(self, what, done, *said):
        is_so = done.returncode in (2, 4) and all(part in done.stderr for part in said)
        self.expect(what, is_so and done.stderr.count("\n") == 1, done)

    def search(self):
        lines = self.work / "runs.jsonl"
        done = self.call(f"{PACKAGE}==1.0..1.10", "--json", str(lines))
        said = f"{PACKAGE} 1.3 brings it: aligned with 1.1.1, wrong at 'pool2' (Pooling) with 1.3"
        words = " ".join(done.stdout.split())
        self.expect("the version is named", done.returncode == 0 and said in words, done)
        self.expect("what cannot be installed may be it", "1.2 between them cannot be run" in words, done)
        self.expect("and is said", "skipped: pip cannot install it: " in words, done)
        *runs, found = map(json.loads, lines.read_text().splitlines()) if lines.exists() else [{}]
        tried = {run["version"] for run in runs}
        self.expect("no pre-release is tried", found.get("versions") == 8 and "1.5rc1" not in tried, done)
        self.expect("the ends and the logarithm", len(tried) <= 2 + 3 + 1, done)
        again = found.get("again", "")
        self.expect("again between the neighbours", again.endswith(f"--wheels={PACKAGE}==1.1.1..1.3"), done)
        before = {path: path.stat().st_mtime_ns for path in (self.work / "cache").glob("wheels/*/ready")}
        done = subprocess.run(again, shell=True, capture_output=True, text=True, env=self.environment)
        self.expect("that command finds it", done.returncode == 0 and said in " ".join(done.stdout.split()), done)
        after = {path: path.stat().st_mtime_ns for path in (self.work / "cache").glob("wheels/*/ready")}
        self.expect("environments are used again", before == after and len(before) >= 2, done)

    def others(self):
        done = self.call(f"{PACKAGE}==1.1.1..1.3.1", python="python3")
        words = " ".join(done.stdout.split())
        is_so = "no such instruction" in words and " 1.3 brings it" in words
        self.expect("a command that fails is skipped", is_so, done)
        done = self.call(f"{PACKAGE}==0.8..1.1", "-q")
        self.expect("what is right at both ends is exit code 1", done.returncode == 1, done)
        self.expect("an end that there is not is noted", f"finds no {PACKAGE} 0.8" in done.stderr, done)
        other = self.work / "wheels" / f"{MODULE}-0.9-py3-none-any.whl"
        done = self.call(f"{PACKAGE}==1.1.1..1.3", "-q", "--with", str(other))
        self.expect_error("what --with asks for is installed, too", done, "none of the 3 oldest versions can be run",
                          "pip cannot install it", "conflicting dependencies")

    def errors(self):
        self.expect_error("another form", self.call("x"), "--wheels: expected PACKAGE==OLDEST..NEWEST, found 'x'")
        self.expect_error("the older one first", self.call(f"{PACKAGE}==1.10..1.9"), "name the older version first")
        self.expect_error("an unknown package", self.call("plumb-no-such-package==1..2"), "is the name right",
                          "plumb-no-such-package")
        self.expect_error("no network", self.call("six==1..2", PIP_NO_INDEX="0", PIP_FIND_LINKS="", PIP_RETRIES="0",
                                                  PIP_INDEX_URL="http://127.0.0.1:9/simple"), "is there a network")
        self.expect_error("no such version", self.call(f"{PACKAGE}==3..4"), "no version of 3 to 4", "0.9 to 1.10")
        self.expect_error("no such Python", self.call(f"{PACKAGE}==1.0..1.3", made_by="no-such-python"),
                          "'no-such-python' is no Python that runs here")
        bare = self.work / "bare"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
        self.expect_error("no pip", self.call(f"{PACKAGE}==1.0..1.3", made_by=bare / "bin" / "python3"),
                          "has no pip", "python3-pip")
        self.expect_error("flags and versions", self.call(f"{PACKAGE}==1.0..1.3", "--flags", "a"), "--wheels")


def main():
    parser = argparse.ArgumentParser()
    for name in ("--bin", "--examples", "--work"):
        parser.add_argument(name, required=True, type=pathlib.Path)
    o = parser.parse_args()
    if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True).returncode != 0:
        print(f"skipped: {sys.executable} has no pip")
        return 77
    test = Test(o)
    test.search()
    test.others()
    test.errors()
    return 1 if test.failed else 0


if __name__ == "__main__":
    sys.exit(main())
