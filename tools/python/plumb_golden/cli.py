# SPDX-License-Identifier: Apache-2.0
"""plumb-golden: runs a model in its own framework and writes every tensor as a dump folder.

Exit codes: 0 done, 2 bad usage or input, 4 a failure inside the framework or here.
"""
import argparse
import contextlib
import difflib
import importlib
import json
import os
import pathlib
import signal
import sys
import threading
import traceback

from . import inputs, printable, probe, repeats
from .files import write_report
from .folder import VERSION, UsageError, check_free

RAW = (".dat", ".bmrt", ".bin", ".raw")


def number_range(text):
    try:
        low, high = (float(x) for x in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected LO,HI, found '{text}'") from None
    if not low <= high < float("inf") or low == float("-inf"):
        raise argparse.ArgumentTypeError(f"expected two finite numbers in order, found '{text}'")
    return low, high


def seed_number(text):
    if not text.isdigit() or int(text) >= 2**64:
        raise argparse.ArgumentTypeError(f"expected a number from 0 to 2^64 - 1, found '{text}'")
    return int(text)


def count(text):
    if not text.isdigit() or not 1 <= int(text) <= 1000:
        raise argparse.ArgumentTypeError(f"expected a number from 1 to 1000, found '{text}'")
    return int(text)


def say(text, stream):
    """The one way to the terminal: what files call something is escaped."""
    shown = printable.message(text)
    encoding = getattr(stream, "encoding", None) or "utf-8"
    print(shown.encode(encoding, "backslashreplace").decode(encoding), file=stream, flush=True)


class Parser(argparse.ArgumentParser):
    """Long options are never abbreviated; an unknown one gets the nearest known."""

    def __init__(self, **arguments):
        super().__init__(allow_abbrev=False, **arguments)

    def words(self):
        own = list(self._option_string_actions)
        return own + [word for command in getattr(self, "commands", {}).values()
                      for word in command._option_string_actions]

    def error(self, message):
        for word in message.split():
            if message.startswith("unrecognized arguments") and word.startswith("-"):
                near = difflib.get_close_matches(word.partition("=")[0], self.words(), 1)
                message = f"unknown option '{word}'" + (f"; did you mean '{near[0]}'?" if near else "")
                break
        if message.startswith("argument COMMAND: invalid choice: "):
            word = message.split("'")[1]
            near = difflib.get_close_matches(word, COMMANDS, 1)
            hint = f"did you mean '{near[0]}'?" if near else f"known: {', '.join(COMMANDS)}"
            message = f"there is no framework '{word}'; {hint}"
        say(f"error: {message} (plumb-golden --help)", sys.stderr)
        sys.exit(2)


def add_common(parser, reads):
    parser.add_argument("model", metavar=reads, nargs="?", help="the model (also -m)")
    parser.add_argument("-m", "--model", dest="model_option", metavar=reads, help=argparse.SUPPRESS)
    parser.add_argument("-o", "--output", default="plumb_golden", help="the dump folder (default: %(default)s)")
    parser.add_argument("--force", action="store_true", help="replace a dump that is in that folder")
    parser.add_argument("-i", "--input", action="append", default=[], metavar="[NAME=]FILE",
                        help=".npz .npy .txt (TNN) .json (Polygraphy) .dat, or a folder; may repeat; default: drawn "
                             "from --seed as model_run does")
    parser.add_argument("--shape", action="append", default=[], metavar="NAME=1,3,224,224", help="of a drawn input")
    parser.add_argument("--tensors", action="append", default=[], metavar="NAME=1,3,224,224",
                        help="what a raw file given with -i holds")
    parser.add_argument("--seed", type=seed_number, default=1,
                        help="of Python, numpy, torch and drawn inputs (default: 1)")
    parser.add_argument("--input-range", "--range", dest="range", type=number_range, metavar="LO,HI",
                        help="of drawn inputs (default: -1,1; integers: what the graph allows)")
    parser.add_argument("--prove-probe", action="store_true",
                        help="run the model once more with nothing exposed but its outputs, and write into the dump "
                             "whether these are the same")
    parser.add_argument("--runs", type=count, default=0, metavar="N",
                        help="run it N times more, in fresh sessions and as later runs of one in turn, and write into "
                             "the dump whether every tensor stays the same")
    parser.add_argument("--threads", type=count, metavar="N", help="the same with N threads")
    parser.add_argument("--batch", type=count, default=1, metavar="N",
                        help="the same with the input N times in one batch")
    parser.add_argument("--json", metavar="FILE", help="what was written and left out, as JSON; - is standard output")
    parser.add_argument("-q", "--quiet", action="store_true", help="no notes; the last line alone")


# command: (module, what it reads, what it is).
FRAMEWORKS = {
    "onnx": ("onnx_golden", "MODEL.onnx", "an .onnx in ONNX Runtime"),
    "litert": ("litert_golden", "MODEL.tflite", "a .tflite in LiteRT"),
    "torch": ("torch_golden", "SCRIPT.py", "an nn.Module in PyTorch: a script that defines `model` and `inputs`"),
    "openvino": ("openvino_subject", "MODEL.onnx", "an .onnx or .xml in OpenVINO"),
    "mnn": ("mnn_subject", "MODEL.onnx", "an .onnx in MNN, after its converter"),
    "ncnn": ("ncnn_subject", "MODEL.onnx", "an .onnx in ncnn, after pnnx"),
}

# Whose own graph --graph writes: command: module.
OWN_GRAPHS = {"mnn": "mnn_graph", "ncnn": "pnnx_graph"}

# What runs no model: command: (what it reads, what it is, the default of -o).
CONVERTERS = {
    "read": ("FILE", "a dump of another tool that needs Python (ONNX Runtime's SQLite database, ETDump) as a dump "
                     "folder", "plumb_golden"),
    "coreai": ("DUMP", "a dump as Core AI's .aimodelintermediates", "main.aimodelintermediates"),
}

PROBE = "note in a dump that a program wrote (plumb_dump.h) whether its outputs are the same when nobody watches"
COMMANDS = [*FRAMEWORKS, *CONVERTERS, "probe"]


def add_probe(parser):
    parser.add_argument("model", metavar="DUMP", help="the dump folder; its manifest.json gets the answer")
    parser.add_argument("outputs", metavar="OUTPUTS.npz",
                        help="the network's outputs of the same program on the same input with dumping off, each under "
                             "the name of its blob (numpy.savez(\"outputs.npz\", prob=prob))")
    parser.add_argument("--how", default="dumping off", metavar="WORDS",
                        help="how that run was made, for the report (default: %(default)s)")
    parser.add_argument("--json", metavar="FILE", help="the answer, as JSON; - is standard output")
    parser.add_argument("-q", "--quiet", action="store_true", help="no notes; the last line alone")


def add_converter(parser, reads, output):
    parser.add_argument("model", metavar=reads, nargs="?", help="what is read")
    parser.add_argument("-o", "--output", default=output, help="the folder (default: %(default)s)")
    parser.add_argument("--force", action="store_true", help="replace what is in that folder")
    parser.add_argument("--json", metavar="FILE", help="what was written and left out, as JSON; - is standard output")
    parser.add_argument("-q", "--quiet", action="store_true", help="no notes; the last line alone")


def make_parser():
    parser = Parser(prog="plumb-golden", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", action="version", version=f"plumb-golden {VERSION}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=Parser)
    parser.commands = commands.choices
    for name, (_, reads, text) in FRAMEWORKS.items():
        add_common(commands.add_parser(name, help=text, description=text), reads)
    for name, (reads, text, output) in CONVERTERS.items():
        add_converter(commands.add_parser(name, help=text, description=text), reads, output)
    add_probe(commands.add_parser("probe", help=PROBE, description=PROBE))
    commands.choices["read"].add_argument("--etrecord", metavar="FILE",
                                          help="of an ETDump; default: etrecord.bin beside it")
    commands.choices["read"].add_argument("--debug-buffer", metavar="FILE",
                                          help="of an ETDump; default: debug_output.bin beside it")
    commands.choices["onnx"].add_argument(
        "--optimized", nargs="?", const="all", default=False, choices=["basic", "extended", "all"],
        help="run ONNX Runtime's own optimised graph, fused tensors gone; all (the default level) is what it really "
             "computes")
    commands.choices["onnx"].add_argument(
        "--constant", action="append", default=[], dest="constants", metavar="NAME=VALUES|FILE",
        help="the value of an input that Plumb was told to take as a constant (the same option there); may repeat")
    for name in ("ncnn", "openvino"):
        commands.choices[name].add_argument("--precision", default="f32", choices=["f32", "f16", "bf16"],
                                            help="in which blobs are stored, or products computed, where this CPU can "
                                                 "(default: %(default)s)")
    for name, whose in (("mnn", "MNN's"), ("ncnn", "pnnx's")):
        commands.choices[name].add_argument("--graph", metavar="FILE.onnx",
                                            help=f"write {whose} graph under its own names, for blob_diff "
                                                 "--suggest-names, and no dump")
    add_litert(commands.choices["litert"])
    commands.choices["mnn"].add_argument("--weight-bits", type=int, choices=[4, 8],
                                         help="let MNN's converter quantise the weights (its --weightQuantBits)")
    commands.choices["torch"].add_argument("--train-mode", action="store_true",
                                           help="allow modules in training mode (active Dropout, batch statistics)")
    commands.choices["torch"].add_argument("--onnx", metavar="EXPORTED.onnx",
                                           help="name the tensors as this export of the module does")
    return parser


def add_litert(parser):
    parser.add_argument("--list", action="store_true",
                        help="print every tensor's index, shape, type, scale, zero point and name, and run nothing")
    parser.add_argument("--kernels", default="optimised", choices=["optimised", "reference", "xnnpack"],
                        help="LiteRT's own, its plain reference ones, or XNNPACK's, each operator for itself (default: "
                             "%(default)s)")
    parser.add_argument("--signature", metavar="NAME",
                        help="of a file with several: whose subgraph is run (default: the first subgraph)")
    parser.add_argument("--as-deployed", action="store_true",
                        help="run the network with its default delegates, once for each tensor, which becomes the "
                             "file's output; nothing else of the file is changed")
    for action in parser._actions:
        if "--tensors" in action.option_strings:
            action.metavar = "35,40"
            action.help = "only the tensors of these indices; or NAME=1,3,224,224: what a raw file given with -i holds"


def take_indices(options):
    """Moves what --tensors says of indices to options.indices."""
    lists = [text for text in options.tensors if text.replace(",", "").isdigit()]
    options.tensors = [text for text in options.tensors if text not in lists]
    options.indices = [int(index) for text in lists for index in text.split(",") if index]


def check(options):
    """What can be known to be wrong before the work."""
    options.model = options.model or options.model_option
    if options.model is None:
        raise UsageError(f"which model? plumb-golden {options.command} {FRAMEWORKS[options.command][1]}")
    if options.model_option not in (None, options.model):
        raise UsageError(f"two models were given: '{options.model}' and '{options.model_option}'")
    if not pathlib.Path(options.model).exists():
        raise UsageError(f"there is no file '{options.model}'")
    check_report(options)
    if hasattr(options, "as_deployed"):
        take_indices(options)
        if options.as_deployed and options.kernels != "optimised":
            raise UsageError("--as-deployed runs the default delegates, --kernels others; give one of them")
        if options.list:
            return
    if options.tensors and not any(pathlib.Path(text.rpartition("=")[2]).suffix in RAW for text in options.input):
        raise UsageError(f"--tensors says what a raw file ({' '.join(RAW)}) holds, and none is given with -i")
    if getattr(options, "graph", None) is None:
        check_free(options.output, options.force)
    else:
        check_graph(options)


def check_graph(options):
    """UsageError for what --graph, which runs nothing for a dump, would pass over."""
    idle = {"--prove-probe": options.prove_probe, "--runs": options.runs, "--threads": options.threads,
            "--batch": options.batch != 1, "--weight-bits": getattr(options, "weight_bits", None),
            "--precision": getattr(options, "precision", "f32") != "f32"}
    for option, given in idle.items():
        if given:
            raise UsageError(f"{option} does nothing with --graph, which writes no dump")
    if pathlib.Path(options.graph).exists() and not options.force:
        raise UsageError(f"there is a '{options.graph}' already; --force replaces it")


def check_report(options):
    """UsageError when --json names what cannot be written."""
    path = options.json
    if path in (None, "-"):
        return
    folder = pathlib.Path(path).absolute().parent
    if pathlib.Path(path).is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
        why = "it is a folder" if pathlib.Path(path).is_dir() else f"there is no folder '{folder}' that can be written"
        options.json = None
        raise UsageError(f"--json: cannot write '{path}': {why}")


def convert(options):
    reads, _, _ = CONVERTERS[options.command]
    if options.model is None:
        raise UsageError(f"what is to be read? plumb-golden {options.command} {reads}")
    if not pathlib.Path(options.model).exists():
        raise UsageError(f"there is no file or folder '{options.model}'")
    check_report(options)
    check_free(options.output, options.force)
    with own_output(options.quiet):
        if options.command == "coreai":
            return importlib.import_module(".coreai_folder", __package__).convert(
                options.model, options.output, force=options.force)
        return importlib.import_module(".reading", __package__).read(
            options.model, options.output, force=options.force, etrecord=options.etrecord,
            debug_buffer=options.debug_buffer)


def run(options):
    if options.command in CONVERTERS:
        return convert(options)
    if options.command == "probe":
        return probe.note(options.model, options.outputs, options.how)
    check(options)
    if getattr(options, "list", False):
        return importlib.import_module(".litert_file", __package__).listing(options.model, options.signature)
    arguments = dict(input_files=options.input, shapes=inputs.parse_shapes(options.shape),
                     specs=inputs.parse_specs(options.tensors),
                     seed=options.seed, value_range=options.range, force=options.force,
                     prove_probe=options.prove_probe)
    if getattr(options, "graph", None):
        return write_graph(options, arguments)
    for own in ("optimized", "train_mode", "onnx", "constants", "precision", "weight_bits",
                "indices", "as_deployed", "kernels", "signature"):
        if hasattr(options, own):
            arguments[own] = getattr(options, own)
    with own_output(options.quiet):
        framework = importlib.import_module(f".{FRAMEWORKS[options.command][0]}", __package__)
        folder = framework.run(options.model, options.output, **arguments)
        arguments.update(prove_probe=False, force=False)
        repeats.prove(folder, lambda path, how: framework.run(options.model, path, how=how, **arguments), options.runs,
                      options.threads, options.batch)
        return folder


def write_graph(options, arguments):
    """The names of the tensors in the file."""
    for given in ("force", "prove_probe"):
        del arguments[given]
    with own_output(options.quiet):
        module = importlib.import_module(f".{OWN_GRAPHS[options.command]}", __package__)
        return module.own_graph(options.model, **arguments).save(options.graph)


@contextlib.contextmanager
def own_output(quiet):
    """Keeps standard output for this program: what frameworks print there goes to standard error, or nowhere."""
    sys.stdout.flush()
    saved, target = os.dup(1), os.open(os.devnull, os.O_WRONLY) if quiet else os.dup(2)
    os.dup2(target, 1)
    os.close(target)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(saved, 1)
        os.close(saved)


def write_json(options, code, folder=None, error=""):
    path, options.json = options.json, None  # once: what failed is not tried again for its own error
    if path is None:
        return
    report = {"tool": f"plumb_golden {VERSION}", "command": options.command, "model": options.model, "exit_code": code,
              "error": error}
    if folder is not None:
        report.update(folder=str(folder.path), device=folder.device, tensors=[f["blob"] for f in folder.files],
                      left_out=folder.lost, notes=folder.notes, probe=folder.probe, repeats=folder.repeats)
    hand_out(path, report)


def hand_out(path, report):
    text = json.dumps(report, indent=1)
    if path == "-":
        print(text, flush=True)
    else:
        write_report(path, text + "\n")


def fail(options, code, message):
    say(f"error: {message}", sys.stderr)
    try:
        write_json(options, code, error=message)
    except OSError as error:
        say(f"error: {system_sentence(error)}", sys.stderr)
    return code


def system_sentence(error):
    where = f"'{error.filename}'" if error.filename else "a file or standard output"
    return f"cannot read or write {where}: {error.strerror or error}"


def tell_graph(options, names):
    if options.json is not None:
        hand_out(options.json, {"tool": f"plumb_golden {VERSION}", "command": options.command, "model": options.model,
                                "exit_code": 0, "error": "", "graph": options.graph, "tensors": sorted(names)})
    if options.json != "-":
        say(f"{options.graph}: {len(names)} tensors", sys.stdout)


def tell_list(options, rows):
    for line in importlib.import_module(".litert_file", __package__).table(rows):
        if options.json != "-":
            say(line, sys.stdout)
    if options.json is not None:
        hand_out(options.json, rows)


def tell(options, folder):
    """The notes, the last line and the JSON of a run that went well."""
    notes = [*folder.notes, *([probe.sentence(folder.probe)] if folder.probe is not None else []),
             *map(repeats.sentence, folder.repeats)]
    for note in [] if options.quiet else notes:
        say(f"note: {note}", sys.stderr)
    shapes = " ".join(f"{name}={','.join(map(str, dims))}" for name, dims in inputs.chosen.items())
    last = folder.summary() + (f"; shapes chosen: {shapes}" if shapes else "")
    say(last, sys.stderr if options.json == "-" else sys.stdout)
    write_json(options, 0, folder)


def end_by_signals():
    """SIGTERM and SIGHUP unwind the stack, so that folders of temporary files go."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if threading.current_thread() is threading.main_thread() and signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, lambda number, _: sys.exit(128 + number))


def main(arguments=None):
    end_by_signals()
    options = make_parser().parse_args(arguments)
    inputs.chosen.clear()
    try:
        done = run(options)
        (tell_list if isinstance(done, list) else tell_graph if isinstance(done, set) else tell)(options, done)
        return 0
    except UsageError as error:
        return fail(options, 2, str(error))
    except MemoryError as error:
        why = str(error) or "ulimit -v, or the machine is full"
        return fail(options, 2, f"no memory for '{options.model}' ({why})")
    except OSError as error:
        silence_full_output()
        return fail(options, 4, system_sentence(error))
    except Exception as error:  # a framework's own classes: one sentence, and where it was
        where = traceback.extract_tb(error.__traceback__)[-1]
        text = " ".join(str(error).split())[:500]
        return fail(options, 4, f"{options.command} failed on '{options.model}': {type(error).__name__}: {text} "
                                f"({pathlib.Path(where.filename).name}:{where.lineno})")


def silence_full_output():
    """What could not be written stays in Python's buffer, and would be tried, and complained about, once more at its
    end."""
    try:
        sys.stdout.flush()
    except OSError:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
