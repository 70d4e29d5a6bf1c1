# SPDX-License-Identifier: Apache-2.0
"""What MNN, pnnx and LiteRT really compute, by the names that their graphs have: the truth of names_test.py."""
import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np

PYTHON = pathlib.Path(__file__).resolve().parents[3] / "tools" / "python"


def own_graph(command, model, shapes, target):
    """plumb-golden mnn|ncnn --graph; why it cannot, or ""."""
    given = [f"{name}={','.join(map(str, dims))}" for name, dims in shapes.items() if dims]
    words = [word for shape in given for word in ("--shape", shape)]
    done = subprocess.run([sys.executable, "-m", "plumb_golden", command, str(model), *words, "--graph", str(target),
                           "--force", "-q"], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(PYTHON)})
    return "" if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


def of_mnn(model, feeds, work):
    import MNN
    from plumb_golden import mnn_subject
    work.mkdir(parents=True, exist_ok=True)
    file, graph = mnn_subject.convert(model, work, None)
    session = mnn_subject.Session(MNN, file, graph["tensorName"])
    session.run({name: feeds[name] for name in session.ports})
    values = {}
    for name in graph["tensorName"]:
        with contextlib.suppress(Exception):  # constants that the session has dropped
            values[name] = session.read(name)
    return values


def of_pnnx(model, feeds, work):
    """The module that pnnx writes beside its graph: each variable v_7 of its forward is tensor 7."""
    import torch
    from plumb_golden import ncnn_subject
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    _, _, pnnx = ncnn_subject.load_frameworks()
    ncnn_subject.convert(pnnx, model, feeds, work)
    code = (work / "net_pnnx.py").read_text(encoding="utf-8")
    code = re.sub(r"(?m)^        return (v_.*)$", "        return locals()", code, count=1)
    code = re.sub(r"self\.[\w;]*;[\w;]*", lambda name: name[0].replace(";", "_"), code)  # of an ONNX name, as it is

    def pad(x, pads):
        pairs = zip(pads[:x.ndim][::-1], pads[x.ndim:][::-1])
        return torch.nn.functional.pad(x, [number for pair in pairs for number in pair])
    # What pnnx leaves as ONNX has it.
    space = {"Pad": pad, "ReduceMin": lambda x, axes, keepdims: torch.amin(x, axes, bool(keepdims)),
             "ReduceMax": lambda x, axes, keepdims: torch.amax(x, axes, bool(keepdims))}
    exec(compile(code, "net_pnnx.py", "exec"), space)
    with torch.no_grad():
        made = space["Model"]().eval()(*(torch.from_numpy(value) for value in feeds.values()))
    return {name[2:]: value.detach().numpy() for name, value in made.items()
            if name.startswith("v_") and isinstance(value, torch.Tensor)}


def channels_last(value, shape):
    turned = value.transpose(0, 2, 3, 1) if value.ndim == 4 else value
    return np.ascontiguousarray(turned if turned.shape == tuple(shape) else value)


def of_litert(model, feeds):
    """Each tensor; the second and later bearers of a name with # and their index."""
    from ai_edge_litert import interpreter as litert
    network = litert.Interpreter(
        str(model), experimental_preserve_all_tensors=True,
        experimental_op_resolver_type=litert.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
    ports = network.get_input_details()
    given = [channels_last(value, port["shape"]) for port, value in zip(ports, feeds.values())]
    for port, value in zip(ports, given):
        network.resize_tensor_input(port["index"], value.shape)
    network.allocate_tensors()
    for port, value in zip(ports, given):
        network.set_tensor(port["index"], value)
    network.invoke()
    values = {}
    for tensor in network.get_tensor_details():
        name = tensor["name"]
        with contextlib.suppress(ValueError):  # of a kernel's own scratch memory
            values[f"{name}#{tensor['index']}" if name in values else name] = network.get_tensor(tensor["index"])
    return values


