"""plumb-golden: runs a model in its own framework and writes every tensor as a dump folder."""
import argparse
import importlib
import sys

from . import inputs
from .folder import VERSION, UsageError


def number_range(text):
    low, high = (float(x) for x in text.split(","))
    return low, high


def add_common(parser, default):
    parser.add_argument("-o", "--output", default=default, help="the dump folder (default: %(default)s)")
    parser.add_argument("-i", "--input", action="append", default=[], metavar="[NAME=]FILE",
                        help=".npz .npy .txt (TNN) .json (Polygraphy) .dat, or a folder; may repeat; default: drawn from --seed")
    parser.add_argument("--shape", action="append", default=[], metavar="NAME=1,3,224,224", help="of a drawn input")
    parser.add_argument("--tensors", action="append", default=[], metavar="NAME=1,3,224,224", help="what a file of values only holds")
    parser.add_argument("--seed", type=int, default=1, help="of Python, numpy, torch and drawn inputs (default: 1)")
    parser.add_argument("--range", type=number_range, default=(-1.0, 1.0), metavar="LO,HI", help="of drawn inputs (default: -1,1)")


# command: (module, what it reads, what it is).
FRAMEWORKS = {
    "onnx": ("onnx_golden", "MODEL.onnx", "an .onnx in ONNX Runtime"),
    "litert": ("litert_golden", "MODEL.tflite", "a .tflite in LiteRT"),
    "torch": ("torch_golden", "SCRIPT.py", "an nn.Module in PyTorch: a script that defines `model` and `inputs`"),
    "openvino": ("openvino_subject", "MODEL.onnx", "an .onnx or .xml in OpenVINO"),
    "mnn": ("mnn_subject", "MODEL.onnx", "an .onnx in MNN, after its converter"),
    "ncnn": ("ncnn_subject", "MODEL.onnx", "an .onnx in ncnn, after pnnx"),
}


def make_parser():
    parser = argparse.ArgumentParser(prog="plumb-golden", description=__doc__)
    parser.add_argument("--version", action="version", version=f"plumb-golden {VERSION}")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, (_, reads, text) in FRAMEWORKS.items():
        command = commands.add_parser(name, help=text, description=text)
        command.add_argument("model", metavar=reads)
        add_common(command, "plumb_golden")
    commands.choices["onnx"].add_argument(
        "--optimized", nargs="?", const="all", default=False, choices=["basic", "extended", "all"],
        help="run ONNX Runtime's own optimised graph, fused tensors gone; all (the default level) is what it really computes")
    commands.choices["onnx"].add_argument(
        "--constant", action="append", default=[], dest="constants", metavar="NAME=VALUES|FILE",
        help="the value of an input that Plumb was told to take as a constant (the same option there); may repeat")
    commands.choices["torch"].add_argument("--train-mode", action="store_true",
                                           help="allow modules in training mode (active Dropout, batch statistics)")
    commands.choices["torch"].add_argument("--onnx", metavar="EXPORTED.onnx", help="name the tensors as this export of the module does")
    return parser


def run(options):
    arguments = dict(input_files=options.input, shapes=inputs.parse_shapes(options.shape), specs=inputs.parse_specs(options.tensors),
                     seed=options.seed, value_range=options.range)
    for own in ("optimized", "train_mode", "onnx", "constants"):
        if hasattr(options, own):
            arguments[own] = getattr(options, own)
    framework = importlib.import_module(f".{FRAMEWORKS[options.command][0]}", __package__)
    return framework.run(options.model, options.output, **arguments)


def main(arguments=None):
    options = make_parser().parse_args(arguments)
    try:
        folder = run(options)
    except UsageError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for note in folder.notes:
        print(f"note: {note}", file=sys.stderr)
    print(f"{len(folder.files)} tensors of {folder.device} in {folder.path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
