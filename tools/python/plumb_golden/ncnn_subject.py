"""The tensors of an ONNX model as ncnn computes them on the CPU, after pnnx's conversion and fusions.

pnnx gives blobs new names (numbers), so both graphs are walked together: an ncnn layer belongs to the ONNX node of its type
that reads the same tensors and has weights of the same shape, plus the normalisation and activation that pnnx folded into
it. A layer that finds no such node is left out with a note, and so is what reads it; nothing is paired by its values.
ncnn's Mat has no batch dimension: batch 1 only. f32; ncnn uses Winograd for 3x3 unless told not to.
"""
import pathlib
import shutil
import subprocess
import sysconfig
import tempfile

import numpy as np

from . import inputs as network_inputs
from .folder import Folder, UsageError, seed_everything

# ncnn's type: ONNX operators that it may stand for.
TYPES = {
    "Convolution": ("Conv",), "ConvolutionDepthWise": ("Conv",), "Deconvolution": ("ConvTranspose",),
    "InnerProduct": ("Gemm", "MatMul"), "Gemm": ("Gemm", "MatMul"), "MatMul": ("MatMul",),
    "Pooling": ("MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "ReduceMean"),
    "Concat": ("Concat",), "Softmax": ("Softmax",), "ReLU": ("Relu", "LeakyRelu"), "Clip": ("Clip",), "Sigmoid": ("Sigmoid",),
    "TanH": ("Tanh",), "HardSwish": ("HardSwish",), "HardSigmoid": ("HardSigmoid",), "Swish": ("Mul",), "ELU": ("Elu",),
    "BatchNorm": ("BatchNormalization",), "Scale": ("Mul",), "PReLU": ("PRelu",), "LRN": ("LRN",),
    "BinaryOp": ("Add", "Sub", "Mul", "Div", "Max", "Min", "Pow"), "Eltwise": ("Add", "Mul", "Max"),
    "Reshape": ("Reshape", "Flatten", "Squeeze", "Unsqueeze"), "Flatten": ("Flatten", "Reshape"), "Permute": ("Transpose",),
    "Padding": ("Pad",), "Interp": ("Resize", "Upsample"),
}
FOLDED = ("BatchNormalization", "Mul", "Add")  # with constants, into the weights before them
ACTIVATIONS = ("Relu", "LeakyRelu", "Clip", "Sigmoid", "HardSwish", "Mish")
ACTIVATION_KEY = {"Convolution": 9, "ConvolutionDepthWise": 9, "Deconvolution": 9, "InnerProduct": 9}
RESHAPES = ("Flatten", "Reshape", "Squeeze")  # ncnn's fully connected layer flattens by itself
NOTHING = ("Identity", "Dropout", "Cast")


def load_frameworks():
    try:
        import ncnn
        import onnx
    except ImportError as error:
        raise UsageError(f"ncnn or onnx is not installed ({error}); pip install ncnn pnnx onnx") from error
    pnnx = pathlib.Path(sysconfig.get_paths()["purelib"]) / "pnnx" / "pnnx"
    if not pnnx.exists():
        raise UsageError("pnnx, which converts for ncnn, is not installed; pip install pnnx")
    return ncnn, onnx, pnnx


class OnnxWalk:
    """Finds the ONNX node behind each ncnn layer."""

    def __init__(self, onnx, model):
        graph = onnx.shape_inference.infer_shapes(onnx.load(str(model))).graph
        self.shapes = {value.name: [d.dim_value or -1 for d in value.type.tensor_type.shape.dim]
                       for value in [*graph.input, *graph.value_info, *graph.output]}
        self.weights = {t.name: list(t.dims) for t in graph.initializer}
        self.inputs = [i.name for i in graph.input if i.name not in self.weights]
        self.nodes, self.same, self.used = [], {}, set()
        for node in graph.node:
            if node.op_type in NOTHING:
                self.same[node.output[0]] = self.root(node.input[0])
            elif node.op_type != "Constant":
                self.nodes.append(node)

    def root(self, name):
        return self.same.get(name, name)

    def data(self, node):
        return [self.root(name) for name in node.input if name and name not in self.weights]

    def readers(self, name):
        return [node for node in self.nodes if name in self.data(node)]

    def fits(self, layer, node):
        if node.op_type not in TYPES.get(layer["type"], ()):
            return False
        shape = next((self.weights[name] for name in node.input if name in self.weights), [])
        if node.op_type == "Conv" and len(shape) == 4:
            params = layer["params"]
            width = int(params.get(1, 1))
            return [shape[0], shape[3], shape[2]] == [int(params[0]), width, int(params.get(11, width))]
        return True

    def find(self, layer, tensors):
        """The tensor that the layer's first output holds, or None."""
        for node in self.readers(tensors[0]):
            if node.output[0] in self.used:
                continue
            if self.fits(layer, node) and sorted(self.data(node)) == sorted(tensors):
                self.used.add(node.output[0])
                return self.folded(layer, node.output[0])
            if layer["type"] == "InnerProduct" and node.op_type in RESHAPES:
                found = self.find(layer, [node.output[0]])
                if found is not None:
                    return found
        return None

    def folded(self, layer, tensor):
        """Past what pnnx folded into the layer."""
        activation = int(layer["params"].get(ACTIVATION_KEY.get(layer["type"], -1), 0)) != 0
        while True:
            readers = self.readers(tensor)
            if len(readers) != 1 or len(self.data(readers[0])) != 1 or readers[0].output[0] in self.used:
                return tensor
            kind = readers[0].op_type
            if layer["folds"] and kind in FOLDED:
                pass
            elif activation and kind in ACTIVATIONS:
                activation = False
            else:
                return tensor
            tensor = readers[0].output[0]
            self.used.add(tensor)


def read_param(path):
    """The layers of an ncnn .param file."""
    layers = []
    for line in path.read_text(encoding="utf-8").splitlines()[2:]:
        words = line.split()
        inputs, outputs = int(words[2]), int(words[3])
        params = {}
        for word in words[4 + inputs + outputs:]:
            key, _, value = word.partition("=")
            if key.lstrip("-").isdigit() and "," not in value and int(key) >= 0:
                params[int(key)] = float(value) if "." in value or "e" in value else int(value)
        layers.append({"type": words[0], "name": words[1], "inputs": words[4:4 + inputs],
                       "outputs": words[4 + inputs:4 + inputs + outputs], "params": params})
    normalises = any(layer["type"] in ("BatchNorm", "Scale") for layer in layers)
    for layer in layers:
        layer["folds"] = layer["type"] in ACTIVATION_KEY and not normalises
    return layers


def pair(walk, layers, notes):
    """{ncnn blob: (ONNX tensor, layer)} of what could be paired."""
    tensors, pairs, inputs = {}, {}, iter(walk.inputs)
    for layer in layers:
        if layer["type"] == "Input":
            tensors[layer["outputs"][0]] = next(inputs)
            continue
        if layer["type"] == "Split":
            tensors.update({blob: tensors.get(layer["inputs"][0]) for blob in layer["outputs"]})
            continue
        reads = [tensors.get(blob) for blob in layer["inputs"]]
        found = walk.find(layer, reads) if reads and None not in reads else None
        tensors[layer["outputs"][0]] = found
        if found is None:
            notes.append(f"layer '{layer['name']}' ({layer['type']}) finds no node of the model; left out")
        else:
            pairs[layer["outputs"][0]] = (found, layer)
    return pairs


def run(model, folder, input_files=(), shapes=None, specs=(), seed=1, value_range=(-1.0, 1.0)):
    """Writes the dump folder; returns the Folder."""
    ncnn, onnx, pnnx = load_frameworks()
    determinism = seed_everything(seed)
    model = pathlib.Path(model)
    if not model.exists():
        raise UsageError(f"there is no file '{model}'")
    out = Folder(folder, framework="ncnn", model=model, device=f"ncnn {ncnn.__version__}, CPU, f32",
                 source={"ncnn": ncnn.__version__, "determinism": determinism})
    walk = OnnxWalk(onnx, model)
    feeds = network_inputs.from_files(input_files, walk.inputs, specs)
    rng = np.random.default_rng(seed)
    for name in walk.inputs:
        if name not in feeds:
            feeds[name] = network_inputs.generated(name, "float32", (shapes or {}).get(name, walk.shapes[name]), rng, *value_range)
        if feeds[name].ndim < 2 or feeds[name].shape[0] != 1:
            raise UsageError(f"input '{name}' has the shape {list(feeds[name].shape)}; ncnn takes batch 1 only")
        out.add(name, feeds[name], is_input=True)
    with tempfile.TemporaryDirectory(prefix="plumb_golden_") as work:
        local = pathlib.Path(work) / "net.onnx"
        shutil.copy(model, local)
        done = subprocess.run([str(pnnx), str(local), "fp16=0"], cwd=work, capture_output=True, text=True)
        param = pathlib.Path(work) / "net.ncnn.param"
        if done.returncode != 0 or not param.exists():
            raise UsageError(f"pnnx cannot convert '{model}': {(done.stderr or done.stdout).strip()[-300:]}")
        layers = read_param(param)
        net = ncnn.Net()
        for option in ("use_fp16_packed", "use_fp16_storage", "use_fp16_arithmetic", "use_bf16_storage"):
            setattr(net.opt, option, False)
        net.opt.num_threads = 1
        net.load_param(str(param))
        net.load_model(str(param.with_suffix(".bin")))
    extract(ncnn, net, layers, walk, feeds, out)
    out.finish()
    return out


def extract(ncnn, net, layers, walk, feeds, out):
    net.opt.lightmode = False  # else a blob is gone once it was read
    extractor = net.create_extractor()
    for layer, name in zip((layer for layer in layers if layer["type"] == "Input"), walk.inputs):
        extractor.input(layer["outputs"][0], ncnn.Mat(np.ascontiguousarray(feeds[name][0], np.float32)).clone())
    for blob, (tensor, layer) in pair(walk, layers, out.notes).items():
        code, values = extractor.extract(blob)
        if code != 0:
            raise UsageError(f"ncnn cannot compute blob '{blob}' of layer '{layer['name']}' (code {code})")
        values = np.array(values)[None]
        shape = walk.shapes.get(tensor, [])
        if -1 not in shape and int(np.prod(shape)) == values.size:
            values = values.reshape(shape)  # ncnn drops dimensions of 1
        out.add(tensor, values, layer=layer["name"], kind=layer["type"])
