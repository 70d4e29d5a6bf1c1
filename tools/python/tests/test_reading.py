# SPDX-License-Identifier: Apache-2.0
"""plumb-golden read and coreai: databases as ONNX Runtime's source describes them and ETDumps behind a stand-in of
ExecuTorch's package become dump folders that model_check judges; Core AI's folder is written and read again.

Needs numpy; $PLUMB_BIN_DIR and $PLUMB_TEST_DATA for the judgement.
"""
import contextlib
import io
import json
import pathlib
import random
import sqlite3
import struct
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock

import numpy_python  # noqa: F401  (a Python that has numpy)
import numpy as np
from tools import BIN, MODEL, NEEDS_TOOLS, naive_dump

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from plumb_golden import etdump, ort_database  # noqa: E402
from plumb_golden.cli import main  # noqa: E402
from plumb_golden.foreign import read_tensors  # noqa: E402

TYPES = {"float32": 1, "int64": 7}


def call(*words):
    """(exit code, standard output and error)."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            code = main([str(word) for word in words])
        except SystemExit as stop:
            code = stop.code
    return code, out.getvalue()


def varint(value):
    data = b""
    while value >= 128:
        data, value = data + bytes([value & 127 | 128]), value >> 7
    return data + bytes([value])


def proto(name, array):
    """A serialised TensorProto: dims, data_type, name, raw_data."""
    data = b"".join(b"\x08" + varint(dim) for dim in array.shape) + b"\x10" + varint(TYPES[str(array.dtype)])
    for field, content in ((8, name.encode()), (9, array.tobytes())):
        data += varint(field << 3 | 2) + varint(len(content)) + content
    return data


def database(path, tensors, steps=1):
    """As onnxruntime/core/framework/debug_node_inputs_outputs_utils.cc creates it.

    tensors: {name: (array, producer)}
    """
    with contextlib.closing(sqlite3.connect(path)) as made:
        made.execute("Create table if not exists Tensors ( Step int not null, Name text not null, Value TensorProto, "
                     "DeviceType text, TracedProducer NodeArg, TracedConsumers NodeArgList, primary key (Step, Name));")
        made.execute("Create table if not exists Nodes ( ExecutionCounter int, Name text primary key not null, OpType "
                     "text not null, ExecutionProvider text );")
        for step in range(1, steps + 1):
            for name, (array, producer) in tensors.items():
                value = proto(name, array + (step > 1) * array.dtype.type(1))
                made.execute("insert into Tensors values (?, ?, ?, 'CPU', ?, '')", (step, name, value, producer))
                if producer:
                    made.execute("insert or ignore into Nodes values (?, ?, ?, 'CPUExecutionProvider')",
                                 (0, producer.rpartition(":")[0], "Any"))
        made.commit()


class InFolder(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.TemporaryDirectory()
        self.addCleanup(self.work.cleanup)
        self.path = pathlib.Path(self.work.name)

    def healthy(self):
        """{blob: array} of faults.tnnproto as NAIVE computes it; its inputs first."""
        folder = self.path / "naive"
        if not folder.exists():
            naive_dump(folder)
        written = read_tensors(folder)
        files = json.loads((folder / "manifest.json").read_text())["files"]
        outs = {file["blob"] for file in files if file["direction"] == "out"}
        return {name: (array, f"{name}:0" if name in outs else "") for name, array in written.items()}

    def judge(self, subject):
        done = subprocess.run([f"{BIN}/model_check", "-m", MODEL, "--subject", subject], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def refused(self, sentence, *words):
        code, out = call(*words)
        self.assertEqual(code, 2, out)
        self.assertIn(sentence, out)


class DatabaseTest(InFolder):
    @NEEDS_TOOLS
    def test_healthy_is_aligned_and_a_fault_is_named(self):
        tensors = self.healthy()
        guilty = next(name for name, (array, producer) in tensors.items() if producer and array.dtype == np.float32)
        for fault, code, text in ((0, 0, "0 wrong, 0 not tested"), (5, 1, f"wrong at '{guilty}'")):
            made = {name: (array.copy(), producer) for name, (array, producer) in tensors.items()}
            made[guilty][0].reshape(-1)[3] += fault
            database(self.path / f"{fault}.db", made)
            self.assertEqual(call("read", self.path / f"{fault}.db", "-o", self.path / f"dump{fault}")[0], 0)
            found, out = self.judge(self.path / f"dump{fault}")
            self.assertEqual(found, code, out)
            self.assertIn(text, out)
            self.assertIn("dump of onnxruntime (ONNX Runtime's debug node dump)", out)
        found, out = self.judge(self.path / "0.db")  # as it is: the command is named
        self.assertEqual(found, 2, out)
        self.assertIn(f"plumb-golden read {self.path}/0.db -o dump", " ".join(out.split()))

    def test_the_first_of_several_runs_is_taken(self):
        database(self.path / "t.db", {"x": (np.ones(3, np.float32), "")}, steps=2)
        code, out = call("read", self.path / "t.db", "-o", self.path / "dump")
        self.assertEqual(code, 0, out)
        self.assertIn("the database has the runs 1 to 2; taken is 1", out)
        np.testing.assert_array_equal(read_tensors(self.path / "dump")["x"], np.ones(3))

    def test_hostile_databases_are_one_sentence(self):
        file, out = self.path / "t.db", self.path / "dump"
        file.write_bytes(b"SQLite format 3\0" + bytes(84))
        self.refused("is no database that ONNX Runtime's debug node dump wrote", "read", file, "-o", out)
        file.write_bytes(b"nothing of the kind")
        self.refused("is neither an SQLite database of ONNX Runtime nor an ETDump", "read", file, "-o", out)
        self.refused("there is no file or folder", "read", self.path / "no.db", "-o", out)
        file.unlink()
        database(file, {})
        self.refused("holds no tensor", "read", file, "-o", out)
        rng = random.Random(1)
        file.unlink()
        database(file, {"x": (np.arange(60, dtype=np.float32).reshape(3, 20), ""), "i": (np.arange(4), "n:0")})
        whole, value = file.read_bytes(), proto("x", np.arange(60, dtype=np.float32))
        codes = set()
        for case in range(150):
            changed = bytearray(whole)
            start = whole.find(value[-200:]) if case % 2 else 100
            for _ in range(rng.choice([1, 3, 30])):
                changed[rng.randrange(start if start > 0 else 100, len(changed))] = rng.choice([0, 1, 127, 255])
            file.write_bytes(bytes(changed[:rng.choice([len(changed), len(changed) // 2])]))
            code, text = call("read", file, "-o", out, "--force")
            codes.add(code)
            self.assertIn(code, (0, 2), text)
        self.assertEqual(codes, {0, 2})
        for cut in range(1, len(value)):
            with self.assertRaises(Exception) as raised:
                ort_database.parse_tensor(value[:cut], "x")
            self.assertEqual(type(raised.exception).__name__, "UsageError", cut)


class Value:
    """Of torch: detach, cpu, numpy, dtype."""

    def __init__(self, array):
        self.array, self.dtype = array, array.dtype

    def detach(self):
        return self

    def cpu(self):
        return self

    def numpy(self):
        return self.array


def stand_in(events, nodes):
    """executorch.devtools with an Inspector of these events; nodes: [(name, debug handle, torch.export's name)]."""
    made = [types.SimpleNamespace(name=name, meta={"debug_handle": handle, "from_node": [
        types.SimpleNamespace(name=own, from_node=None)]}) for name, handle, own in nodes]

    class Inspector:
        def __init__(self, etdump_path, etrecord, debug_buffer_path):
            if pathlib.Path(etrecord).read_bytes() != b"record":
                raise RuntimeError("Invalid etrecord file passed in.")
            program = types.SimpleNamespace(graph=types.SimpleNamespace(nodes=made))
            self._etrecord = types.SimpleNamespace(edge_dialect_program=program)
            self.event_blocks = [types.SimpleNamespace(events=[
                types.SimpleNamespace(name="Method::init", debug_handles=1, debug_data=[])])]
            self.event_blocks.append(types.SimpleNamespace(events=[
                types.SimpleNamespace(name=name, debug_handles=handles, debug_data=[Value(v) for v in values])
                for name, handles, values in events]))

    return {"executorch": types.ModuleType("executorch"),
            "executorch.devtools": types.SimpleNamespace(Inspector=Inspector)}


class EtDumpTest(InFolder):
    def setUp(self):
        super().setUp()
        self.file = self.path / "net.etdp"
        self.file.write_bytes(struct.pack("<II", 100, 8) + b"ED00" + bytes(88))
        (self.path / "etrecord.bin").write_bytes(b"record")
        (self.path / "debug_output.bin").write_bytes(b"values")

    def test_values_are_named_as_torch_export_names_them(self):
        one, two, turned = (np.full((2, 3), i, np.float32) for i in (1, 2, 3))
        modules = stand_in(
            [("native_call_convolution.out", 1, [one]), ("OPERATOR_CALL", 1, [one]),
             ("native_call_permute_copy.out", 6, [turned]), ("native_call_addmm.out", [6], [two]),
             ("native_call_split.out", 7, [one, two]), ("native_call_x.out", 99, [one])],
            [("aten_convolution_default", 1, "conv2d"), ("aten_permute_copy_default", 6, "linear"),
             ("aten_addmm_default", 6, "linear"), ("aten_split", 7, "split")])
        with unittest.mock.patch.dict(sys.modules, modules):
            code, out = call("read", self.file, "-o", self.path / "dump")
        self.assertEqual(code, 0, out)
        self.assertIn("2 tensors of ExecuTorch's ETDump", out)
        self.assertIn("left out: 1 of operators with several outputs", out)
        read = read_tensors(self.path / "dump")
        self.assertEqual(sorted(read), ["conv2d", "linear"])
        np.testing.assert_array_equal(read["linear"], two)

    def test_a_delegate_is_what_it_returned(self):
        read, returned = np.ones((1, 3), np.float32), np.full((1, 2), 5, np.float32)
        modules = stand_in([("DELEGATE_CALL", [1, 2], [read, returned])],
                           [("aten_convolution_default", 1, "conv2d"), ("aten_softmax", 2, "softmax")])
        with unittest.mock.patch.dict(sys.modules, modules):
            code, out = call("read", self.file, "-o", self.path / "dump")
            self.assertEqual(code, 0, out)
        self.assertEqual(sorted(read_tensors(self.path / "dump")), ["softmax"])
        np.testing.assert_array_equal(read_tensors(self.path / "dump")["softmax"], returned)
        modules = stand_in([("native_call_split.out", 1, [read, read])], [("aten_split", 1, "split")])
        with unittest.mock.patch.dict(sys.modules, modules):
            self.refused("holds values of operators with several outputs alone (split)", "read", self.file, "-o",
                         self.path / "other")

    def test_what_is_missing_is_one_sentence(self):
        with unittest.mock.patch.dict(sys.modules, {"executorch": None, "executorch.devtools": None}):
            self.refused("needs ExecuTorch's own package in this Python (pip install executorch)", "read", self.file,
                         "-o", self.path / "dump")
        with unittest.mock.patch.dict(sys.modules, stand_in([], [])):
            self.refused("holds no tensor values: run with a debug buffer", "read", self.file, "-o", self.path / "dump")
            (self.path / "etrecord.bin").write_bytes(b"other")
            self.refused("ExecuTorch's Inspector cannot read", "read", self.file, "-o", self.path / "dump")
        (self.path / "etrecord.bin").unlink()
        self.refused("needs the ETRecord, which names its tensors: give it with --etrecord", "read", self.file, "-o",
                     self.path / "dump")
        self.refused("there is no file '/no/where' (--etrecord)", "read", self.file, "-o", self.path / "dump",
                     "--etrecord", "/no/where")

    def test_a_node_of_a_node_is_followed_to_its_origin(self):
        inner = types.SimpleNamespace(name="gelu", from_node=[])
        node = types.SimpleNamespace(name="aten_mul", meta={"from_node": [
            types.SimpleNamespace(name="mul_1", from_node=[inner])]})
        self.assertEqual(etdump.origin(node), "gelu")


class CoreAiTest(InFolder):
    @NEEDS_TOOLS
    def test_what_is_written_is_read_again(self):
        self.healthy()
        target = self.path / "net.aimodelintermediates"
        code, out = call("coreai", self.path / "naive", "-o", target)
        self.assertEqual(code, 0, out)
        metadata = json.loads((target / "metadata.json").read_text())
        self.assertEqual(len(metadata["outputs"]), 1)
        self.assertTrue(all(entry["node_op"] == "placeholder" for entry in metadata["inputs"].values()))
        entry = next(iter(metadata["intermediates"].values()))
        self.assertEqual(sorted(entry), ["data_file", "node_name", "node_op", "node_target", "numel", "shape",
                                         "torch_dtype"])
        self.assertEqual(list(np.load(target / entry["data_file"]).shape), entry["shape"])
        found, text = self.judge(target)
        self.assertEqual(found, 0, text)
        self.assertIn("0 wrong, 0 not tested", text)
        self.refused("is not empty; --force replaces", "coreai", self.path / "naive", "-o", target)

    def test_names_and_sources_that_cannot_be(self):
        np.save(self.path / "x.npy", np.ones(3, np.float32))
        self.refused("-o names NAME.aimodelintermediates", "coreai", self.path / "x.npy", "-o", self.path / "out")
        self.refused("there is no file or folder", "coreai", self.path / "y.npy")
        self.refused("what is to be read? plumb-golden coreai DUMP", "coreai")


if __name__ == "__main__":
    unittest.main()
