# SPDX-License-Identifier: Apache-2.0
"""Names out of files, folders, tables and the command line that would draw on a terminal: through every tool, in every
place where one is printed, and none of it arrives as it is. python3 hostile_text_test.py --bin BIN"""

import argparse
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

parser = argparse.ArgumentParser()
parser.add_argument("--bin", required=True)
GIVEN = parser.parse_args()

TOOLS = ("blob_diff", "device_check", "device_info", "model_bisect", "model_check", "model_convert", "model_info",
         "model_reduce", "model_run", "stage_diff")
FORGED = "ALIGNED: FORGED (exit 0)"
# What names hold: clearing the screen, our own colours, a title, C1, reversed writing, lines of their own; a quotation
# mark that ends ours; bytes that are no UTF-8.
EVIL = {
    "escape": "e\x1b[2J\x1b[32m\x1b]0;t\x07\r\u202e\u2066\u200b\u2028\u009b2J\n%s\r\n%s\ufeff" % (FORGED, FORGED),
    "quote": "q' x'\n%s\n'" % FORGED,
}
BYTES = dict(
    {name: text.encode() for name, text in EVIL.items()},
    bytes=b"y\xff\xc0\x9b2J\xed\xa0\x80\n" + FORGED.encode(),
)

HIDDEN = [(0x00, 0x1F), (0x7F, 0x9F), (0xAD, 0xAD), (0x61C, 0x61C), (0x180E, 0x180E), (0x200B, 0x200F)]
HIDDEN += [(0x2028, 0x202E), (0x2060, 0x206F), (0xFEFF, 0xFEFF), (0xFFF9, 0xFFFB), (0xE0000, 0xE0FFF)]


def problem(output):
    """What is wrong with what was printed without colours; "" when nothing is."""
    try:
        text = output.decode()
    except UnicodeDecodeError as error:
        return "no UTF-8: %r" % output[max(0, error.start - 20) : error.start + 20]
    for at, letter in enumerate(text):
        if letter != "\n" and any(low <= ord(letter) <= high for low, high in HIDDEN):
            return "raw: %r" % text[max(0, at - 20) : at + 20]
    for line in text.split("\n"):
        if line.startswith(FORGED[:9] + "FORGED"):
            return "a forged line: %r" % line
    return ""


def number(value):
    parts = b""
    while value > 0x7F:
        parts += bytes([value & 0x7F | 0x80])
        value >>= 7
    return parts + bytes([value])


def field(key, value):
    """One of protobuf's: a number, or bytes."""
    if isinstance(value, int):
        return number(key << 3) + number(value)
    return number(key << 3 | 2) + number(len(value)) + value


def value_info(name, dims):
    shape = b"".join(field(1, field(1, dim) if isinstance(dim, int) else field(2, dim)) for dim in dims)
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))


def node(op, inputs, outputs, name, domain=b"", more=b""):
    parts = b"".join(field(1, one) for one in inputs) + b"".join(field(2, one) for one in outputs)
    return field(1, parts + field(3, name) + field(4, op) + field(7, domain) + more)


def onnx(nodes, evil=b"", dims=(1, 4), output=b"z", more=b""):
    graph = nodes + field(2, b"g" + evil) + more
    graph += field(11, value_info(b"x", dims)) + field(12, value_info(output, dims))
    return field(1, 8) + field(2, b"p" + evil) + field(7, graph) + field(8, field(1, b"") + field(2, 13))


def two(evil=b""):
    """x -> Relu -> Abs -> z"""
    last = b"z" + evil
    nodes = node(b"Relu", [b"x"], [b"y" + evil], b"r" + evil) + node(b"Abs", [b"y" + evil], [last], b"a" + evil)
    return onnx(nodes, evil, output=last)


class HostileText(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="plumb_hostile_")
        self.addCleanup(shutil.rmtree, self.folder)
        self.environment = dict(os.environ, COLUMNS="1000", HOME=self.folder, XDG_CACHE_HOME=self.folder)
        self.model = self.write("honest.onnx", two())

    def write(self, name, data):
        path = os.path.join(os.fsencode(self.folder), name if isinstance(name, bytes) else name.encode())
        with open(path, "wb") as file:
            file.write(data)
        return path

    def run_tool(self, tool, *arguments, shows=True, **environment):
        """`shows`: the name comes up in what is printed, so that something was tested."""
        run = subprocess.run(
            [GIVEN.bin + "/" + tool, *arguments],
            env=dict(self.environment, **environment),
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=120,
        )
        said = "%s %r: %s" % (tool, arguments, run.stdout.decode(errors="backslashreplace"))
        self.assertIn(run.returncode, (0, 1, 2, 3), said)
        self.assertEqual(problem(run.stdout), "", said)
        if shows:
            self.assertIn(b"FORGED", run.stdout, said)
        return run

    def test_the_search_finds_what_it_is_for(self):
        self.assertEqual(problem("layer 'a\\x1B[2J' é 🦆\n  list\n".encode()), "")
        for evil in BYTES.values():
            self.assertNotEqual(problem(b"layer '" + evil + b"'"), "")

    def test_names_in_a_model(self):
        for name, evil in BYTES.items():
            model = self.write("%s.onnx" % name, two(evil))
            self.run_tool("model_info", "-m", model, "-d", "NAIVE", "--full", "-v")
            for more in (("--full", "-v"), ("-q", "--layers", b"r" + evil)):
                self.run_tool("model_check", "-m", model, "-d", "NAIVE", *more, shows="-q" not in more)
            self.run_tool("model_run", "-m", model, "-d", "NAIVE", "--profile", "-v")
            self.run_tool("model_convert", "-m", model, "-o", "converted", shows=False)
            self.run_tool("model_check", "-m", model, "-d", "NAIVE", PLUMB_LOG="debug")

    def test_what_a_model_gets_wrong(self):
        for evil in BYTES.values():
            tensor = field(1, 3) + field(2, 1) + field(8, b"w" + evil) + field(9, struct.pack("<2f", 1, 2))
            for wrong in (
                onnx(node(b"Re" + evil, [b"x"], [b"z"], b"n")),
                onnx(node(b"Relu", [b"x"], [b"z"], b"n", domain=b"d" + evil)),
                onnx(node(b"Relu", [b"not" + evil], [b"z"], b"n" + evil)),
                onnx(node(b"Add", [b"x", b"w" + evil], [b"z"], b"n" + evil), more=field(5, tensor)),
            ):
                model = self.write("wrong.onnx", wrong)
                self.assertEqual(self.run_tool("model_info", "-m", model, "-d", "NAIVE").returncode, 2)
            self.assertEqual(self.run_tool("model_convert", "-m", model, "-o", "converted").returncode, 2)
            open_dim = self.write("open.onnx", onnx(node(b"Relu", [b"x"], [b"z"], b"n"), dims=(b"N" + evil, 4)))
            self.run_tool("model_info", "-m", open_dim, "-d", "NAIVE", shows=False)

    def test_names_of_files(self):
        for name, evil in BYTES.items():
            name = b"f" + evil.replace(b"/", b"")
            model = self.write(name + b".onnx", two())
            self.run_tool("model_info", "-m", model, "-d", "NAIVE")
            self.run_tool("model_check", "-m", model, "-d", "NAIVE")
            self.run_tool("model_run", "-m", model, "-d", "NAIVE")
            self.run_tool("model_convert", "-m", model, "-o", b"o" + evil)
            for words in (
                ("-m", name + b".gone.onnx"),
                ("-m", self.model, "-i", name),
                ("-m", self.model, "--json", name + b"/x"),
                ("-m", self.model, "-d", "NAIVE", "--baseline", name),
                ("-m", self.model, "--golden", name),
                ("-m", self.model, "--subject", name),
            ):
                self.assertEqual(self.run_tool("model_check", *words).returncode, 2)
            self.assertEqual(self.run_tool("blob_diff", name, name + b"2").returncode, 2)
            self.write(name + b".npz", b"PK\x03\x04 no archive")
            self.assertEqual(self.run_tool("blob_diff", name + b".npz", name + b".npz").returncode, 2)

    def test_words_of_the_command_line_and_the_environment(self):
        for evil in BYTES.values():
            for option in ("-d", "--layers", "--shape", "--constant", "--min-tested", "--color"):
                self.assertEqual(self.run_tool("model_check", "-m", self.model, option, evil).returncode, 2)
            for tool in TOOLS:
                self.assertEqual(self.run_tool(tool, b"--" + evil).returncode, 2)
            for variable in ("PLUMB_MAX_CPU_ISA", "PLUMB_LOG", "DUMP_BLOB_FORMAT"):
                self.run_tool("model_run", "-m", self.model, "-d", "NAIVE", shows=False, **{variable: evil})

    def dump(self, name):
        folder = os.path.join(self.folder, name)
        dumping = {"DUMP_OUTPUT_BLOB": "1", "DUMP_INPUT_BLOB": "1", "DUMP_BLOB_FORMAT": "npy", "DUMP_BLOB_DIR": folder}
        self.run_tool("model_run", "-m", self.model, "-d", "NAIVE", shows=False, **dumping)
        with open(folder + "/manifest.json", encoding="utf-8") as file:
            return folder, json.load(file)

    def forge(self, folder, manifest):
        with open(folder + "/manifest.json", "wb") as file:
            file.write(manifest if isinstance(manifest, bytes) else json.dumps(manifest).encode())

    def test_manifests_of_dumps(self):
        folder, manifest = self.dump("dump")
        other, _ = self.dump("other")
        for evil in EVIL.values():
            forged = json.loads(json.dumps(manifest))
            for entry in forged["files"]:
                for key, value in list(entry.items()):
                    if isinstance(value, str) and key not in ("file", "dtype", "direction", "layout"):
                        entry[key] = value + evil
            for key, value in list(forged.items()):
                if isinstance(value, str) and key not in ("format",):
                    forged[key] = value + evil
            self.forge(folder, forged)
            for words in (("--subject", folder), ("-m", self.model, "--subject", folder),
                          ("-m", self.model, "-d", "NAIVE", "--golden", folder)):
                self.run_tool("model_check", *words, shows=False)
            self.run_tool("blob_diff", folder, other)
            for key in ("file", "dtype"):
                forged = json.loads(json.dumps(manifest))
                forged["files"][0][key] = evil
                self.forge(folder, forged)
                self.run_tool("model_check", "-m", self.model, "--subject", folder, shows=False)
        for text in (b'{"format": "\xff\x1b[2J\n%s', b'{"a\x1b[2J\n%s": ]', b"\x1b[2J\n%s\n"):
            self.forge(folder, text % FORGED.encode())
            for call in (("model_check", "-m", self.model, "--subject", folder), ("blob_diff", folder, other)):
                self.assertEqual(self.run_tool(*call, shows=False).returncode, 2)

    def test_tensors_tables_and_baselines(self):
        folder, _ = self.dump("dump")
        for name, evil in BYTES.items():
            header = b"{'descr': '" + evil.replace(b"'", b"")[:39] + b"', 'fortran_order': False, 'shape': (1, 4), }\n"
            header = struct.pack("<H", len(header)) + header
            array = self.write("%s.npy" % name, b"\x93NUMPY\x01\x00" + header + bytes(16))
            self.run_tool("model_check", "-m", self.model, "-d", "NAIVE", "-i", array, shows=False)
            table = self.write("names.csv", b"theirs,ours\n" + evil.replace(b"\n", b" ") + b",y\n")
            self.run_tool("model_check", "-m", self.model, "--subject", folder, "--names", table, shows=False)
            baseline = self.write("baseline.json", b'{"format": "' + evil + b'", "' + evil + b'": 1}')
            self.run_tool("model_check", "-m", self.model, "-d", "NAIVE", "--baseline", baseline, shows=False)
            text = self.write("values.txt", b"1 2 " + evil)
            self.run_tool("model_check", "-m", self.model, "-d", "NAIVE", "-i", text, shows=False)
            head = b'"1 2 1 4206624772 ,"\n"x 4 1 1 2 4 0 ,"\n" x y ,"\n"y ,"\n" 1 ,"\n"'
            proto = self.write("p.tnnproto", head + evil + b'"\n')
            self.assertEqual(self.run_tool("model_info", "-m", proto, "-d", "NAIVE", shows=False).returncode, 2)

    def test_reports_on_standard_output_are_exact(self):
        model = self.write("line.onnx", two(BYTES["escape"]))
        run = subprocess.run(
            [GIVEN.bin + "/model_info", "-m", model, "-d", "NAIVE", "--json", "-"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment, check=True,
        )
        self.assertIn("r" + EVIL["escape"], [layer["name"] for layer in json.loads(run.stdout)["layers"]])
        self.assertEqual(problem(run.stderr), "")


if __name__ == "__main__":
    sys.argv = sys.argv[:1]
    unittest.main(verbosity=2)
