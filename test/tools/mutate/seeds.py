# SPDX-License-Identifier: Apache-2.0
"""What is mutated: small models, manifests and tensor files of every kind that the tools read."""
import io
import json
import pathlib
import struct
import subprocess
import zipfile

import wire

ONNX_DATA = pathlib.Path("/usr/share/libonnx-testdata/data")


# --- ONNX, written by hand: a convolution network, and one of shape arithmetic and control flow
def value_info(name, dims, dtype=1):
    shape = b"".join(wire.text(1, wire.number(1, dim)) for dim in dims)
    return wire.text(1, name) + wire.text(2, wire.text(1, wire.number(1, dtype) + wire.text(2, shape)))


def floats(name, dims, count):
    data = struct.pack(f"<{count}f", *(0.25 * (i % 7 - 3) for i in range(count)))
    return b"".join(wire.number(1, dim) for dim in dims) + wire.number(2, 1) + wire.text(8, name) + wire.text(9, data)


def ints(name, values):
    data = struct.pack(f"<{len(values)}q", *values)
    return wire.number(1, len(values)) + wire.number(2, 7) + wire.text(8, name) + wire.text(9, data)


def node(op, inputs, outputs, name, **attributes):
    body = b"".join(wire.text(1, i) for i in inputs) + b"".join(wire.text(2, o) for o in outputs)
    body += wire.text(3, name) + wire.text(4, op)
    for key, value in attributes.items():
        if isinstance(value, list):
            attribute = b"".join(wire.number(8, v) for v in value) + wire.number(20, 7)
        elif isinstance(value, bytes):
            attribute = wire.text(4, value) + wire.number(20, 3)
        else:
            attribute = wire.number(3, value) + wire.number(20, 2)
        body += wire.text(5, wire.text(1, key) + attribute)
    return body


def graph(nodes, constants, inputs, outputs):
    body = b"".join(wire.text(1, n) for n in nodes) + wire.text(2, "g") + b"".join(wire.text(5, c) for c in constants)
    return body + b"".join(wire.text(11, i) for i in inputs) + b"".join(wire.text(12, o) for o in outputs)


def model(body, opset=17):
    return wire.number(1, 8) + wire.text(7, body) + wire.text(8, wire.number(2, opset))


def onnx_models():
    conv = graph(
        [node("Conv", ["x", "w"], ["c"], "conv", kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2], group=1),
         node("Relu", ["c"], ["r"], "relu"), node("MaxPool", ["r"], ["p"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
         node("ConvTranspose", ["p", "t"], ["d"], "deconv", strides=[2, 2]),
         node("Resize", ["d", "", "s"], ["z"], "resize"), node("Flatten", ["z"], ["f"], "flatten", axis=1),
         node("MatMul", ["f", "m"], ["g"], "fc"), node("Softmax", ["g"], ["y"], "prob", axis=-1)],
        [floats("w", [4, 2, 3, 3], 72), floats("t", [4, 3, 2, 2], 48), floats("s", [4], 4), floats("m", [48, 5], 240)],
        [value_info("x", [1, 2, 8, 8])], [value_info("y", [1, 5])])
    scale = struct.pack("<4f", 1, 1, 1, 1)
    conv = conv.replace(wire.text(9, struct.pack("<4f", *(0.25 * (i % 7 - 3) for i in range(4)))), wire.text(9, scale))
    shapes = graph(
        [node("Shape", ["x"], ["s"], "shape"), node("Gather", ["s", "i"], ["n"], "gather", axis=0),
         node("Concat", ["n", "k"], ["t"], "concat", axis=0), node("ConstantOfShape", ["t"], ["z"], "zeros"),
         node("Expand", ["x", "t"], ["e"], "expand"), node("Add", ["e", "z"], ["a"], "add"),
         node("Tile", ["a", "r"], ["b"], "tile"), node("Pad", ["b", "p"], ["q"], "pad"),
         node("Slice", ["q", "b0", "e0"], ["c"], "slice"), node("CumSum", ["c", "ax"], ["u"], "cumsum"),
         node("TopK", ["u", "top"], ["v", "w"], "topk"), node("ReduceSum", ["v"], ["y"], "sum", keepdims=0)],
        [ints("i", [0]), ints("k", [4]), ints("r", [2, 1]), ints("p", [0, 1, 0, 1]), ints("b0", [0, 0]),
         ints("e0", [2, 5]), ints("ax", [1]), ints("top", [2])],
        [value_info("x", [3, 1])], [value_info("y", [])])
    body = graph([node("Add", ["h", "xi"], ["ho"], "step"), node("Identity", ["ho"], ["yo"], "out")], [],
                 [value_info("h", [2]), value_info("xi", [2])], [value_info("ho", [2]), value_info("yo", [2])])
    scan_node = node("Scan", ["h0", "x"], ["hn", "y"], "scan", num_scan_inputs=1)
    attribute = wire.text(1, "body") + wire.text(6, body) + wire.number(20, 5)
    scan_node += wire.text(5, attribute)
    scan = graph([scan_node, node("Einsum", ["y", "y"], ["z"], "einsum", equation=b"ij,kj->ik"),
                  node("LSTM", ["q", "lw", "lr"], ["", "o"], "lstm", hidden_size=2),
                  node("Mean", ["o", "o"], ["out"], "mean")],
                 [floats("lw", [1, 8, 2], 16), floats("lr", [1, 8, 2], 16)],
                 [value_info("h0", [2]), value_info("x", [3, 2]), value_info("q", [2, 1, 2])],
                 [value_info("z", [3, 3]), value_info("out", [1, 1, 2])])
    return {"made_conv.onnx": model(conv), "made_shapes.onnx": model(shapes), "made_scan.onnx": model(scan)}


# --- tensors
def npy(descr, shape, data):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


def tensors():
    values = struct.pack("<64f", *(i / 64 for i in range(64)))
    array = npy("<f4", [1, 1, 8, 8], values)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("input.npy", array)
        archive.writestr("more.npy", npy("<i8", [3], struct.pack("<3q", 1, 2, 3)))
    stored = io.BytesIO()
    with zipfile.ZipFile(stored, "w") as archive:
        archive.writestr("input.npy", array)
    text = "1\ninput 4 1 1 8 8 0\n" + "".join(f"{i / 64}\n" for i in range(64))
    return {"a.npy": array, "deflated.npz": packed.getvalue(), "stored.npz": stored.getvalue(),
            "tnn.txt": text.encode(),
            "values.txt": "".join(f"{i / 64}\n" for i in range(64)).encode(), "raw.bin": values}


# --- what other tools write (source/interop/foreign_formats.h): a folder each, of the digits network's input and conv1
def coreai(values):
    return {"data/conv1.npy": npy("<f4", [1, 16, 8, 8], values), "metadata.json": json.dumps(
        {"inputs": {}, "outputs": {}, "intermediates": {"conv1": {
            "node_name": "conv1", "data_file": "data/conv1.npy", "shape": [1, 16, 8, 8],
            "torch_dtype": "torch.float32"}}}).encode()}


def tensorproto(values):
    dims = b"".join(wire.number(1, dim) for dim in (1, 16, 8, 8))
    return {"conv1.tensorproto": dims + wire.number(2, 1) + wire.text(8, "conv1") + wire.text(9, values)}


def openvino(values):
    head = b"IEB0\0\1\4\4" + struct.pack("<7I", 1, 16, 8, 8, 0, 0, 0) + b"\xff\0\0\0"
    return {"#1_Convolution_conv1_out0.ieb": head + struct.pack("<4Q", 72, len(values), 0, 0) + values}


def msprobe(values):
    saved = io.BytesIO()
    with zipfile.ZipFile(saved, "w") as archive:
        archive.writestr("x/data.pkl", b"never looked into")
        archive.writestr("x/data/0", values)
    name = "Module.conv1.Conv2d.forward.0.output.0.pt"
    return {"dump_tensor_data/" + name: saved.getvalue(), "dump.json": json.dumps(
        {"task": "tensor", "data": {"Module.conv1.Conv2d.forward.0": {"input_args": [], "output": [
            {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [1, 16, 8, 8], "data_name": name}]}}}).encode()}


def qnn(values):
    return {"Result_0/conv1_native.raw": values[:1024], "net_net.json": json.dumps({"graph": {"tensors": {"conv1": {
        "id": 1, "data_type": 1032, "dims": [1, 8, 8, 16], "permute_order_to_src": [0, 3, 1, 2],
        "quant_params": {"scale_offset": {"bitwidth": 8, "scale": 0.5, "offset": -3}}}}}}).encode(),
        "model.encodings": json.dumps({"activation_encodings": {"conv1": [
            {"bitwidth": 8, "scale": 0.5, "offset": -3, "is_symmetric": "False"}]}}).encode()}


def foreign(work):
    """The files, as (folder of the set, file in it)."""
    values = struct.pack("<1024f", *(i / 1024 for i in range(1024)))
    found = []
    for make in (coreai, tensorproto, openvino, msprobe, qnn):
        folder = work / "foreign" / (make.__name__ + (".aimodelintermediates" if make is coreai else ""))
        for name, data in make(values).items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
            found.append((folder, name))
    return found


# --- what options name, and a dump that carries its own graph
def option_files():
    entry = {"verdict": "aligned", "E": 0.5, "R": "nan"}
    layers = {f"{i:05d} {name}": entry for i, name in enumerate(("conv1", "bn1"))}
    baseline = {"format": "plumb-baseline", "version": 1, "checks": {"digits.tnnproto": {"NAIVE": layers}}}
    return {"baseline.json": json.dumps(baseline).encode(),
            "names.csv": b'conv1,conv1\n"relu1","relu1"\r\n# no\nprob,prob\n',
            "plain.txt": b" ".join(b"%d.5" % i for i in range(64))}


def graphs(corpus, work):
    """Manifests as ggml_hook.h writes them, each beside the files of every size that they name."""
    found = []
    for path in sorted(corpus.glob("*.json")):
        folder = work / "graphs" / path.stem
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "manifest.json").write_bytes(path.read_bytes())
        for size in (4, 8, 16, 18, 20, 32, 34, 48, 64, 68, 96, 128, 144, 192, 256, 512):
            (folder / f"b{size}.raw").write_bytes(bytes(i // 8 if i % 8 == 0 else 0 for i in range(size)))
        found.append(folder / "manifest.json")
    return found


def collect(repository, binaries, work, full):
    """{kind: [files]}; of foreign (folder, file)."""
    work.mkdir(parents=True, exist_ok=True)
    found = {"onnx": [], "tnnproto": [], "tnnmodel": [], "tensor": [], "manifest": [], "foreign": foreign(work)}
    for name, data in onnx_models().items():
        (work / name).write_bytes(data)
        found["onnx"].append(work / name)
    names = sorted(ONNX_DATA.glob("*/*/model.onnx"))
    small = [path for path in names if path.stat().st_size < 30000]
    found["onnx"] += small if full else small[::25]
    found["tflite"] = sorted((repository / "test/fuzz/corpus/tflite").glob("*.tflite"))
    digits = repository / "examples/digits"
    found["tnnproto"] = [digits / "digits.tnnproto"]
    networks = sorted((repository / "test/data/networks").glob("*.tnnproto"))
    found["tnnproto"] += networks if full else []
    found["tnnmodel"] = [digits / "digits.tnnmodel"]
    for name, data in tensors().items():
        (work / name).write_bytes(data)
        found["tensor"].append(work / name)
    corpus = repository / "test/fuzz/corpus"
    for path in (corpus / "image/rgb.png", corpus / "image/rgb.jpg", corpus / "image/rgb.bmp", corpus / "zstd/npy.zst"):
        (work / path.name.replace("npy.zst", "packed.npy.zst")).write_bytes(path.read_bytes())
        found["tensor"].append(work / path.name.replace("npy.zst", "packed.npy.zst"))
    found["option"] = []
    outputs = (corpus / "polygraphy/outputs.json").read_bytes()
    for name, data in {**option_files(), "outputs.json": outputs}.items():
        (work / name).write_bytes(data)
        found["option"].append(work / name)
    found["graph"] = graphs(corpus / "dump_graph", work)
    dump = work / "dump"
    if not (dump / "manifest.json").exists():
        subprocess.run([binaries / "model_run", "-m", digits / "digits.tnnproto", "-d", "NAIVE"], check=True,
                       capture_output=True,
                       env={"DUMP_OUTPUT_BLOB": "1", "DUMP_INPUT_BLOB": "1", "DUMP_BLOB_DIR": str(dump),
                            "PATH": "/usr/bin:/bin"})
    json.loads((dump / "manifest.json").read_text())
    found["manifest"] = [dump / "manifest.json"]
    return found
