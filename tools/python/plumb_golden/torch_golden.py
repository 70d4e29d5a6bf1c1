# SPDX-License-Identifier: Apache-2.0
"""Every tensor that a PyTorch module computes, functional operators and operators on tensors included.

A script defines `model` (an nn.Module) and `inputs` (a tensor, a tuple, or a dict by argument name). Every ATen call is
recorded under the path of the module that makes it: 'layer1.0.conv1/convolution', a second one there
'layer1.0.conv1/convolution_1'. With the .onnx that torch.onnx.export wrote of the same module (either exporter),
tensors get their ONNX names where a module's calls and nodes of one kind are equally many; what finds no node keeps its
path and a note says so. Where the exporter folded a BatchNorm into the convolution before it, the ONNX name is the
BatchNorm's result. What the module returns are the .onnx's outputs, in order. A product of tokens or heads, which ATen
makes of matrices, gets the shape that it has behind that.
"""
import ast
import collections
import pathlib
import re
import runpy

import numpy as np

from . import inputs as network_inputs
from . import probe
from .folder import DTYPES, Folder, UsageError, seed_everything
from .repeats import PLAIN

# ATen operator: ONNX operators that the exporter writes for it.
ONNX_TYPES = {
    "convolution": ("Conv", "ConvTranspose"), "addmm": ("Gemm", "Add"), "mm": ("MatMul",), "bmm": ("MatMul",),
    "native_batch_norm": ("BatchNormalization",), "cudnn_batch_norm": ("BatchNormalization",), "relu": ("Relu",),
    "relu_": ("Relu",), "hardtanh": ("Clip",), "hardtanh_": ("Clip",), "clamp": ("Clip",), "leaky_relu": ("LeakyRelu",),
    "elu": ("Elu",), "sigmoid": ("Sigmoid",), "tanh": ("Tanh",), "hardsigmoid": ("HardSigmoid",),
    "hardswish": ("HardSwish",),
    "_softmax": ("Softmax",), "_log_softmax": ("LogSoftmax",), "max_pool2d_with_indices": ("MaxPool",),
    "avg_pool2d": ("AveragePool",), "mean": ("GlobalAveragePool", "ReduceMean"),
    "_adaptive_avg_pool2d": ("GlobalAveragePool",),
    "add": ("Add",), "add_": ("Add",), "sub": ("Sub",), "mul": ("Mul",), "mul_": ("Mul",), "div": ("Div",),
    "cat": ("Concat",),
    "exp": ("Exp",), "log": ("Log",), "sqrt": ("Sqrt",), "erf": ("Erf",), "abs": ("Abs",), "neg": ("Neg",),
    "pow": ("Pow",),
    "native_layer_norm": ("LayerNormalization",), "upsample_nearest2d": ("Resize",), "upsample_bilinear2d": ("Resize",),
}
NO_VALUES = ("empty", "detach", "alias")  # uninitialised memory, and views without a computation


def load_framework():
    try:
        import torch
        from torch.utils._python_dispatch import TorchDispatchMode
    except ImportError as error:
        raise UsageError(f"PyTorch is not installed ({error}); pip install torch, or Debian's python3-torch") from error
    return torch, TorchDispatchMode


def load_script(torch, script):
    if not pathlib.Path(script).exists():
        raise UsageError(f"there is no file '{script}'")
    if pathlib.Path(script).suffix != ".py":
        raise UsageError(f"'{script}' is no Python script: weights alone do not say how they are used (and reading a "
                         f"pickle can run its "
                         "writer's code); give a .py that defines `model` and `inputs`")
    try:
        names = runpy.run_path(str(script))
    except Exception as error:
        why = " ".join(str(error).split())[:300]
        raise UsageError(f"the script '{script}' fails: {type(error).__name__}: {why}") from error
    model, given = names.get("model"), names.get("inputs")
    if not isinstance(model, torch.nn.Module):
        raise UsageError(f"'{script}' defines no nn.Module named 'model'")
    if isinstance(given, torch.Tensor):
        given = (given,)
    if isinstance(given, (tuple, list)):
        given = {f"input_{i}" if len(given) > 1 else "input": tensor for i, tensor in enumerate(given)}
    if not isinstance(given, dict):
        raise UsageError(f"'{script}' defines no 'inputs': a tensor, a tuple of tensors, or a dict of them")
    return model, given, isinstance(names["inputs"], dict)


def refuse_training(model):
    training = [f"{path or 'model'} ({type(module).__name__})" for path,
                module in model.named_modules() if module.training]
    if training:
        shown = ", ".join(training[:8]) + (f" and {len(training) - 8} more" if len(training) > 8 else "")
        raise UsageError(f"these modules are in training mode: {shown}; call model.eval(), or say --train-mode if that "
                         f"is meant")


def as_array(tensor):
    """bf16, which numpy lacks, as f32."""
    tensor = tensor.detach().cpu()
    return (tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor).numpy()


class Call:
    """One ATen call: its tensors are copies; `reads` are the calls that made its inputs, `weight` is a
    convolution's."""

    def __init__(self, path, kind, tensors, reads, weight):
        self.path, self.kind, self.tensors, self.reads, self.weight = path, kind, tensors, reads, weight


class Recorder:
    """Calls in order."""

    def __init__(self, torch, mode_class, model):
        self.calls, self.paths, self.makers, self.alive = [], [], {}, []
        recorder = self

        class Mode(mode_class):
            def __torch_dispatch__(self, function, types, args=(), kwargs=None):
                result = function(*args, **(kwargs or {}))
                kind = str(function).split(".")[1] if "." in str(function) else str(function)
                results = result if isinstance(result, (tuple, list)) else [result]
                tensors = [r for r in results if isinstance(r, torch.Tensor) and r.numel() > 0]
                if tensors and not kind.startswith(NO_VALUES):
                    recorder.add(kind, [a for a in args if isinstance(a, torch.Tensor)], tensors)
                return result

        self.mode, self.handles = Mode(), []
        for path, module in model.named_modules():
            self.handles.append(module.register_forward_pre_hook(lambda m, i, path=path: self.paths.append(path)))
            self.handles.append(module.register_forward_hook(lambda m, i, o: (self.paths.pop(), None)[1]))

    def add(self, kind, arguments, results):
        weight = as_array(arguments[1]) if kind == "convolution" else None
        copies = [t.detach().to("cpu", copy=True) for t in results]  # later calls may work in place
        reads = [self.makers[id(a)] for a in arguments if id(a) in self.makers]
        self.makers.update((id(t), len(self.calls)) for t in results)
        self.alive.extend(results)  # a freed tensor's id would name another one
        self.calls.append(Call(self.paths[-1] if self.paths else "", kind, copies, reads, weight))

    def close(self):
        for handle in self.handles:
            handle.remove()
        self.alive.clear()


def module_path(node):
    """Of the dynamo exporter's metadata, "['', 'layer1', 'layer1.conv1', 'conv2d']" -> 'layer1.conv1'; else of the
    node's name, '/layer1/layer1.0/conv1/Conv' -> 'layer1.0.conv1': a part that begins with the path so far stands for
    all of it."""
    for entry in getattr(node, "metadata_props", []):
        if entry.key == "pkg.torch.onnx.name_scopes":
            return (["", *ast.literal_eval(entry.value)])[-2]
    path = ""
    for part in node.name.strip("/").split("/")[:-1]:
        path = part if not path or part.startswith(path + ".") else f"{path}.{part}"
    return path


class Export:
    """What the .onnx says: its inputs, its nodes by module and kind, its weights."""

    def __init__(self, path):
        try:
            import onnx
            from onnx import numpy_helper
        except ImportError as error:
            raise UsageError(f"--onnx needs the package onnx ({error}); pip install onnx") from error
        graph = onnx.load(str(path)).graph
        self.outputs = [o.name for o in graph.output]
        self.weights = {t.name: t for t in graph.initializer}
        self.read = numpy_helper.to_array
        self.inputs = [i.name for i in graph.input if i.name not in self.weights]
        self.nodes = collections.defaultdict(list)
        for node in graph.node:
            self.nodes[(module_path(node), node.op_type)].append(node)

    def weight(self, node):
        return self.read(self.weights[node.input[1]]) if len(node.input) > 1 and node.input[1] in self.weights else None

    def input_names(self, given, notes):
        """{name in the script: name in the .onnx}, by position where they differ."""
        if len(self.inputs) != len(given):
            notes.append(f"the module has {len(given)} inputs, the .onnx {len(self.inputs)}: they keep their own names")
            return {name: name for name in given}
        return {name: name for name in given} if set(self.inputs) == set(given) else dict(zip(given, self.inputs))


def folded_into(calls, number):
    """The BatchNorm that alone reads what this call made, or None."""
    readers = [n for n, call in enumerate(calls) if number in call.reads]
    return readers[0] if len(readers) == 1 and "batch_norm" in calls[readers[0]].kind else None


def nodes_of(export, paths):
    """{(module, kind): nodes}. A module that is called again is 'act_1' in the names of the second call's nodes."""
    nodes = collections.defaultdict(list)
    for (path, kind), found in export.nodes.items():
        first = re.sub(r"_\d+$", "", path)
        nodes[(first if path not in paths and first in paths else path, kind)] += found
    return nodes


def onnx_names(calls, export, notes):
    """{call number: ONNX tensor name} by module and kind, in order."""
    groups, all_nodes = collections.defaultdict(list), nodes_of(export, {call.path for call in calls})
    for number, call in enumerate(calls):
        types = [t for t in ONNX_TYPES.get(call.kind, ()) if (call.path, t) in all_nodes]
        if types:
            groups[(call.path, types[0])].append(number)
    names, folded = {}, 0
    for key, numbers in groups.items():
        nodes = all_nodes[key]
        if len(numbers) != len(nodes):
            notes.append(f"module '{key[0]}' makes {len(numbers)} calls that are {key[1]}, the .onnx has {len(nodes)}: "
                         "they keep their own names")
            continue
        for number, node in zip(numbers, nodes):
            stored = export.weight(node)
            given = calls[number].weight
            if given is not None and stored is not None and not np.array_equal(given, stored):
                number = folded_into(calls, number)
                folded += number is not None
                if number is None:
                    notes.append(f"'{node.output[0]}' has other weights in the .onnx than in the module: it keeps its "
                                 f"own name")
                    continue
            names[number] = node.output[0]
    if folded:
        notes.append(f"{folded} BatchNorms are folded into the .onnx's convolutions: their results bear those names")
    return names


def run(model, folder, input_files=(), shapes=None, specs=(), seed=1, value_range=None, train_mode=False, onnx=None,
        force=False, prove_probe=False, how=PLAIN):
    """Writes the dump folder; returns the Folder."""
    torch, mode_class = load_framework()
    determinism = seed_everything(seed)
    module, given, by_name = load_script(torch, model)
    if not train_mode:
        refuse_training(module)
    notes = []
    export = Export(onnx) if onnx else None
    shown = export.input_names(given, notes) if export else {name: name for name in given}
    own = {name: key for key, name in shown.items()}
    files = network_inputs.from_files(input_files, list(own), specs)
    given.update({own[name]: torch.from_numpy(np.ascontiguousarray(array)).to(given[own[name]].dtype) for name,
                  array in files.items()})
    given = batched(torch, given, how)
    threads = torch.get_num_threads()
    torch.set_num_threads(how.threads or threads)
    seed_everything(seed)
    out = Folder(folder, framework="torch", model=model, device=f"PyTorch {torch.__version__}",
                 source={"torch": torch.__version__, "train_mode": train_mode, "determinism": determinism}, force=force)
    same_input = {name: tensor.clone() for name, tensor in given.items()}  # a module may work in place
    for _ in range(how.warm):
        before = {name: tensor.clone() for name, tensor in given.items()}
        with torch.no_grad():
            module(**before) if by_name else module(*before.values())
    seed_everything(seed)
    recorder, returned = Recorder(torch, mode_class, module), None
    try:
        with torch.no_grad(), recorder.mode:
            returned = module(**given) if by_name else module(*given.values())
    finally:
        recorder.close()
        torch.set_num_threads(threads)
    out.notes.extend(notes)
    for name, tensor in same_input.items():
        out.add(shown[name], as_array(tensor), is_input=True)
    names = onnx_names(recorder.calls, export, out.notes) if export else {}
    write(out, recorder.calls, names)
    if export:
        write_outputs(out, list(tensors_in(torch, returned)), export)
    if prove_probe:
        seed_everything(seed)
        with torch.no_grad():
            again = module(**same_input) if by_name else module(*same_input.values())
        prove(out, list(tensors_in(torch, again)), list(tensors_in(torch, returned)), export)
    out.finish()
    return out


def batched(torch, given, how):
    return {name: torch.from_numpy(array) for name, array in
            how.batched({name: tensor.numpy() for name, tensor in given.items()}).items()} if how.batch > 1 else given


def tensors_in(torch, returned):
    if isinstance(returned, torch.Tensor):
        yield returned
    elif isinstance(returned, (tuple, list)):
        for part in returned:
            yield from tensors_in(torch, part)
    elif isinstance(returned, dict):
        yield from tensors_in(torch, list(returned.values()))


def prove(out, unwatched, watched, export):
    """What the module returns, without and with the recorder. Without the .onnx nothing says which tensor of the dump
    that is, so it is written under a name of its own."""
    names = export.outputs if export and len(export.outputs) == len(watched) else [
        f"returned_{i}" for i in range(len(watched))]
    for name, tensor in zip(names, watched):
        if name not in out.names:
            out.add(name, as_array(tensor), layer=name, kind="output")
    probe.prove(out, "no recorder", {name: as_array(tensor) for name, tensor in zip(names, unwatched)})


def write_outputs(out, returned, export):
    if len(returned) != len(export.outputs):
        out.notes.append(f"the module returns {len(returned)} tensors, the .onnx has {len(export.outputs)} outputs: "
                         "what no call bears the name of is left out")
        return
    for name, tensor in zip(export.outputs, returned):
        array = as_array(tensor)
        if name not in out.names and str(array.dtype) in DTYPES:
            out.add(name, array, layer=name, kind="output")


def whole_product(calls, number):
    """The result of a product, in the shape that the next call gives it: ATen flattens what stands before matrices."""
    call, after = calls[number], calls[number + 1] if number + 1 < len(calls) else None
    is_view = after is not None and after.kind in ("view", "_unsafe_view", "_reshape_alias") and number in after.reads
    grows = is_view and after.tensors[0].dim() > call.tensors[0].dim()
    return after.tensors[0] if call.kind in ("mm", "addmm", "bmm") and grows else call.tensors[0]


def write(out, calls, names):
    used = collections.Counter()
    for number, call in enumerate(calls):
        path, kind, tensors = call.path, call.kind, call.tensors
        plain = f"{path}/{kind}" if path else kind
        used[plain] += 1
        own = plain if used[plain] == 1 else f"{plain}_{used[plain] - 1}"
        for slot, tensor in enumerate(tensors[:1] if number in names else tensors):
            name = names.get(number, own if slot == 0 else f"{own}:{slot}")
            array = as_array(whole_product(calls, number) if number in names else tensor)
            if str(array.dtype) not in DTYPES or name in out.names:
                out.notes.append(f"'{name}' has the dtype {array.dtype} or an earlier bearer of its name; left out")
                continue
            out.add(name, array, layer=path or kind, kind=kind, index=number, slot=slot)
