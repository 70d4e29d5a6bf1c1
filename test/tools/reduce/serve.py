# SPDX-License-Identifier: Apache-2.0
"""A runtime with faults planted into the models that it is given, kept running: ask.py asks it.

    serve.py RUNTIME SOCKET

A fault is "Operator|mutation|kernel|group|stride", a row of ../campaign/mutations: it is planted into every node of
that operator with that kernel, in groups or not, with those strides. So it is found by what it needs, as a bug of a
runtime is, and not by a name. "none" plants nothing. "together: NAME" are faults that need two nodes. What computes the
planted model are the runtime's own kernels.
"""
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile

import numpy as np
import onnx

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "campaign"), str(HERE.parents[2] / "tools" / "python")]
import mutations  # noqa: E402
import zoo_runtimes  # noqa: E402
from mutations.model import attribute, behind, shape_of  # noqa: E402

OF_THE_FAULT = re.compile(r"_before|_fault_|_half|_turned|_warm")


def signature(model, node):
    """What a kernel is chosen by: its window, whether there are groups, its strides."""
    if node.op_type not in ("Conv", "ConvTranspose", "MaxPool", "AveragePool"):
        return "||"
    kernel = attribute(node, "kernel_shape") or next(
        (list(w.dims[2:]) for w in model.graph.initializer if len(node.input) > 1 and w.name == node.input[1]), [])
    return "|".join([",".join(map(str, kernel)), str(int(attribute(node, "group", 1) > 1)),
                     ",".join(map(str, attribute(node, "strides") or [1] * len(kernel)))])


def makers(model):
    return {name: node for node in model.graph.node for name in node.output}


def held_at_one(model):
    """A Relu that was fused into the Conv or Add before it ends at 1."""
    made, any_of = makers(model), False
    for node in [n for n in model.graph.node if n.op_type == "Relu"]:
        if node.input[0] in made and made[node.input[0]].op_type in ("Conv", "Add", "BatchNormalization"):
            any_of |= bool(behind(model, node, ("Clip", [np.float32(-1), np.float32(1)], {})))
    return any_of


def stale_buffer(model):
    """A node behind another operator writes nothing: its buffer still has what that one read."""
    made, any_of = makers(model), False
    for node in [n for n in model.graph.node if n.input and n.input[0] in made]:
        before = made[node.input[0]]
        if before.input and shape_of(model, before.input[0]) == shape_of(model, node.output[0]) \
                and node.op_type in ("Conv", "MatMul", "Relu", "Add") and before.op_type != node.op_type \
                and before.input[0] in made:
            node.op_type, any_of = "Identity", True
            del node.attribute[:], node.input[:]
            node.input.append(before.input[0])
    return any_of


def scale_fused_twice(model):
    """Where a Mul or Div by a constant stands behind a MatMul it was fused into it, and stays."""
    made, constants, any_of = makers(model), {w.name for w in model.graph.initializer}, False
    for node in [n for n in model.graph.node if n.op_type in ("Mul", "Div") and len(n.input) == 2]:
        if node.input[0] in made and made[node.input[0]].op_type == "MatMul" and node.input[1] in constants:
            any_of |= bool(behind(model, node, (node.op_type, [node.input[1]], {})))
    return any_of


TOGETHER = {"held at one": held_at_one, "stale buffer": stale_buffer, "scale fused twice": scale_fused_twice}


def plant(model, fault):
    """Whether the fault finds what it needs. The model has its shapes."""
    if fault == "none":
        return True
    if fault.startswith("together: "):
        return TOGETHER[fault[len("together: "):]](model)
    kind, name, wanted = fault.split("|", 2)
    function = next(f for n, f, _ in mutations.candidates(kind) if n == name)
    any_of = False
    for node in [n for n in model.graph.node if n.op_type == kind and signature(model, n) == wanted]:
        try:
            done = function(model, next(n for n in model.graph.node if n.name == node.name))
        except (ValueError, IndexError, TypeError, KeyError):
            continue
        if callable(done):
            return False  # one of NumPy, and of no runtime
        any_of |= bool(done)
    return any_of


def read_planted(path, fault):
    model = onnx.shape_inference.infer_shapes(onnx.load(path))
    names = [o for n in model.graph.node for o in n.output if o]
    if not plant(model, fault) and fault != "none":
        return onnx.load(path), names  # this part lacks what the fault needs, and is right
    return model, names


def onnxruntime(model, arrays):
    import onnxruntime as ort
    ort.set_default_logger_severity(4)
    whole = zoo_runtimes.exposed(model)
    settings = ort.SessionOptions()
    settings.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    settings.intra_op_num_threads = 1
    session = ort.InferenceSession(whole.SerializeToString(), settings, providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_outputs()]
    return dict(zip(names, session.run(names, arrays)))


def golden(recipe):
    """A recipe of plumb-golden."""
    def run(model, arrays):
        import importlib
        from plumb_golden import foreign
        module = importlib.import_module(f"plumb_golden.{recipe}_subject")
        with tempfile.TemporaryDirectory() as folder:
            path, given = pathlib.Path(folder) / "net.onnx", pathlib.Path(folder) / "given.npz"
            onnx.save(model, path)
            np.savez(given, **arrays)
            module.run(str(path), f"{folder}/dump", [str(given)])
            return foreign.read_tensors(f"{folder}/dump")
    return run


def ncnn(model, arrays):
    """Its blobs out0, out1 ... are the outputs in their order: every tensor is one."""
    import ncnn as runtime
    converter = pathlib.Path(sysconfig.get_paths()["purelib"]) / "pnnx" / "pnnx"  # importing pnnx brings PyTorch
    whole = zoo_runtimes.exposed(model)
    shapes = [f"{[*x.shape]}{x.dtype.kind}{8 * x.dtype.itemsize}".replace(" ", "") for x in arrays.values()]
    with tempfile.TemporaryDirectory() as folder:
        onnx.save(whole, f"{folder}/net.onnx")
        subprocess.run([str(converter), "net.onnx", "fp16=0", "inputshape=" + ",".join(shapes)], cwd=folder,
                       capture_output=True)
        network = runtime.Net()
        network.opt.num_threads = 1
        for option in ("use_fp16_packed", "use_fp16_storage", "use_fp16_arithmetic"):
            setattr(network.opt, option, False)
        if network.load_param(f"{folder}/net.ncnn.param") != 0 or network.load_model(f"{folder}/net.ncnn.bin") != 0:
            raise RuntimeError("ncnn cannot load what pnnx wrote")
    run, made = network.create_extractor(), {}
    for i, x in enumerate(arrays.values()):
        kept = x[0].astype(f"{x.dtype.kind}4")  # alive while it is cloned
        run.input(f"in{i}", runtime.Mat(kept).clone())
    for i, value in enumerate(whole.graph.output):
        code, mat = run.extract(f"out{i}")
        shape = [d.dim_value for d in value.type.tensor_type.shape.dim]
        if code == 0 and np.array(mat).size == np.prod(shape):  # ncnn drops the batch
            made[value.name] = np.array(mat).reshape(shape)
    return made


def torch(model, arrays):
    import onnx2torch
    import torch as runtime
    runtime.set_num_threads(1)
    whole = zoo_runtimes.exposed(model)
    order = [value.name for value in whole.graph.input if value.name in arrays]
    with runtime.no_grad():
        made = onnx2torch.convert(whole).eval()(*(runtime.from_numpy(arrays[name]) for name in order))
    made = made if isinstance(made, (list, tuple)) else [made]
    return dict(zip(zoo_runtimes.names_of(whole), (one.numpy() for one in made)))


RUNTIMES = {"onnxruntime": onnxruntime, "openvino": golden("openvino"), "mnn": golden("mnn"), "ncnn": ncnn,
            "torch": torch, "tract": zoo_runtimes.tract, "opencv": zoo_runtimes.opencv}


def dump(runtime, fault, path, inputs, folder):
    model, names = read_planted(path, fault)
    with np.load(inputs) as file:
        arrays = dict(file)
    made = RUNTIMES[runtime](model, arrays)
    kept = {name: np.asarray(made[name]) for name in names if name in made and not OF_THE_FAULT.search(name)}
    np.savez(pathlib.Path(folder) / "tensors.npz", **{**arrays, **kept})


def serve(runtime, server):
    while True:
        line, _ = server.accept()
        with line:
            try:
                dump(runtime, *line.makefile().readline().rstrip("\n").split("\0"))
                line.sendall(b"done")
            except Exception as error:  # of whatever class the runtime has
                line.sendall(" ".join(str(error).split())[-200:].encode() or b"failed")


def main():
    runtime, path = sys.argv[1:]
    with socket.socket(socket.AF_UNIX) as server, tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        server.bind(path)
        server.listen()
        while True:  # one that crashes is started again
            child = os.fork()
            if child == 0:
                serve(runtime, server)
            signal.signal(signal.SIGTERM, lambda *_, child=child: (os.kill(child, signal.SIGKILL), sys.exit()))
            os.waitpid(child, 0)


if __name__ == "__main__":
    main()
