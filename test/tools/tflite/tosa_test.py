# SPDX-License-Identifier: Apache-2.0
"""A second opinion on integers that nobody here wrote: Arm's tosa_reference_model (tosa-tools of PyPI), fed by
tosa-converter-for-tflite. On each quantised network of networks.py that converts, its outputs are compared with
LiteRT's reference kernels', on full-range integers.

    tosa_test.py --bin build/release/bin --work build/release/golden_test [--only PART_OF_A_PATH]

Prints a line for each network. An output that is off by more than STEPS without a known reason, or a graph that the
model refuses, fails. A known reason holds for one operator of one file: what it reads must be the same, what it writes
must differ as KNOWN says. What comes behind it is not compared.
"""
import argparse
import collections
import pathlib
import subprocess
import sys

try:
    import numpy as np
except ImportError:  # packages.ensure() starts a Python that has it
    np = None

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "golden"), str(HERE.parents[2] / "tools" / "python")]
import networks  # noqa: E402
import packages  # noqa: E402

STEPS, RUNS = 4, 8
CRASHES = 20  # of tosa-converter-for-tflite 2026.2.0, which ends with a segmentation fault every other time
Known = collections.namedtuple("Known", "place kind how why")  # how: WRAPS, RANDOM, or off by so many steps at most

# The first operator that differs, by file (doc/lab/tflite.md).
WRAPS = "TOSA's cast of a QUANTIZE wraps below its range"
RANDOM = "TOSA's integers of this convolution are others in each run"
SOFTMAX = "TOSA's SOFTMAX of 16 bits is another one"
KNOWN = {
    "anomaly_detection.tflite": Known(0, "QUANTIZE", WRAPS, WRAPS),
    "embedding_model.int8.tflite": Known(4, "QUANTIZE", WRAPS, WRAPS),
    "embedding_model.int16x8.tflite": Known(6, "CONV_2D", RANDOM, RANDOM),
    "keyword_spotting_on_off_v3.float32.int8.tflite": Known(0, "CONV_2D", RANDOM, RANDOM),
    "keyword_spotting_on_off_v3.float32.int16x8.tflite": Known(0, "CONV_2D", RANDOM, RANDOM),
    "keyword_spotting_pacman_v3.float32.int16x8.tflite": Known(89, "SOFTMAX", 6238, SOFTMAX),
    "rock_paper_scissors.float32.int16x8.tflite": Known(9, "SOFTMAX", 3703, SOFTMAX),
    "image_example1.float32.int16x8.tflite": Known(7, "SOFTMAX", 10, SOFTMAX),
}
TIME_LIMIT = 300
PACKAGES = ["tosa-tools", "tosa-converter-for-tflite", "ai-edge-litert", "litert-quantizer", "numpy"]


def last_line(text):
    return ([line for line in text.strip().splitlines() if line.strip()] or [""])[-1][:120]


def with_fixed_shapes(path, work):
    """A copy whose tensors have the shapes that the file gives, and leave none open."""
    import flatbuffers
    from ai_edge_litert import schema_py_generated as schema
    model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(path.read_bytes()))
    for graph in model.subgraphs:
        for tensor in graph.tensors:
            tensor.shapeSignature = None
    builder = flatbuffers.Builder(1 << 20)
    builder.Finish(model.Pack(builder), b"TFL3")
    copy = work / "network.tflite"
    copy.write_bytes(builder.Output())
    return copy


def convert(path, work):
    """The TOSA graph's bytes, or why there is none."""
    programs = pathlib.Path(sys.executable).parent
    graph = work / "network.tosa"
    graph.unlink(missing_ok=True)
    fixed = with_fixed_shapes(path, work)
    for command in ([programs / "tosa-converter-for-tflite", fixed, "--bytecode", "-o", work / "network.mlirbc"],
                    [programs / "tosa-opt", "--tosa-serialize", f"--tosa-flatbuffer-filename={graph}",
                     work / "network.mlirbc", "-o", "/dev/null"]):
        for _ in range(CRASHES):
            done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=TIME_LIMIT)
            if done.returncode >= 0:
                break
        if done.returncode != 0:
            return None, f"{command[0].name}: {last_line(done.stderr) or f'it ended with {done.returncode}'}"
    return (graph.read_bytes(), "") if graph.exists() else (None, "tosa-opt wrote no graph")


def of_litert(path):
    """(inputs, outputs) of LiteRT's reference kernels."""
    from ai_edge_litert import interpreter
    lite = interpreter.Interpreter(model_path=str(path),
                                   experimental_op_resolver_type=interpreter.OpResolverType.BUILTIN_REF)
    lite.allocate_tensors()
    generator, feeds = np.random.default_rng(1), []
    for detail in lite.get_input_details():
        dtype = np.dtype(detail["dtype"])
        if dtype.kind in "iu":
            limits = np.iinfo(dtype)
            values = generator.integers(limits.min, limits.max + 1, detail["shape"])
        else:
            values = generator.uniform(-1, 1, detail["shape"])
        feeds.append(values.astype(dtype))
        lite.set_tensor(detail["index"], feeds[-1])
    lite.invoke()
    return feeds, [lite.get_tensor(detail["index"]) for detail in lite.get_output_details()]


def of_tosa(graph, feeds):
    """[output], by a program of its own: the model prints much, and asks a debugger, where it refuses a graph."""
    import tosa_reference_model
    found, status = tosa_reference_model.run(graph, feeds)
    if status.name != "TOSA_VALID":
        raise RuntimeError(status.name)
    return [np.frombuffer(np.asarray(output).tobytes(), np.uint8) for output in found]


def run_tosa(graph, feeds, work):
    """[bytes of each output], or None."""
    (work / "graph.tosa").write_bytes(graph)
    np.savez(work / "feeds.npz", *feeds)
    (work / "found.npz").unlink(missing_ok=True)
    code = f"import tosa_test as t; t.in_child({str(work)!r})"
    subprocess.run([sys.executable, "-c", code], cwd=HERE, capture_output=True, timeout=TIME_LIMIT)
    if not (work / "found.npz").exists():
        return None
    with np.load(work / "found.npz") as found:
        return [found[f"arr_{i}"] for i in range(len(found.files))]


def in_child(work):
    work = pathlib.Path(work)
    with np.load(work / "feeds.npz") as given:
        feeds = [given[f"arr_{i}"] for i in range(len(given.files))]
    np.savez(work / "found.npz", *of_tosa((work / "graph.tosa").read_bytes(), feeds))


def both(path, work):
    """([LiteRT's output], [TOSA's], ""), or (None, None, why not)."""
    graph, why = convert(path, work)
    if graph is None:
        return None, None, why
    feeds, wanted = of_litert(path)
    found = run_tosa(graph, feeds, work)
    if found is None or len(found) != len(wanted):
        return wanted, None, "the reference model does not take the graph"
    return wanted, [np.frombuffer(other.tobytes(), one.dtype).reshape(one.shape)
                    for one, other in zip(wanted, found)], ""


def judge(path, work):
    """(kind, sentence): "same", "close", "other", "refused", "not converted"."""
    wanted, found, why = both(path, work)
    if found is None:
        return "not converted" if wanted is None else "refused", why
    differing = total = worst = 0
    for one, mine in zip(wanted, found):
        steps = np.abs(one.astype(np.float64) - mine.astype(np.float64))
        differing, total, worst = differing + int((steps > 0).sum()), total + one.size, max(worst, float(steps.max()))
    kind = "same" if differing == 0 else "close" if worst <= STEPS else "other"
    return kind, f"{differing} of {total} values differ, by {worst:g} at most"


def is_known(known, path, work):
    """Why the operator is not what makes the outputs differ, or ""."""
    from plumb_golden import litert_file
    file = litert_file.File(path)
    operator = file.operators[known.place] if known.place < len(file.operators) else None
    if operator is None or operator.kind != known.kind:
        return f"operator {known.place} is no {known.kind}"
    cut = work / "cut.tflite"
    for tensor in operator.inputs:
        if tensor not in file.written:
            continue
        cut.write_bytes(file.exposing(tensor))
        kind, sentence = judge(cut, work)
        if kind not in ("same", "close"):
            return f"what the {known.kind} reads differs, too: {sentence}"
    cut.write_bytes(file.exposing(operator.outputs[0]))
    wanted, found, why = both(cut, work)
    if found is None:
        return why
    one, mine = wanted[0], found[0]
    steps = np.abs(one.astype(np.int64) - mine.astype(np.int64))
    if not steps.any():
        return f"the {known.kind} is the same"
    if known.how == WRAPS and (one[steps > STEPS] != np.iinfo(one.dtype).min).any():
        return f"the {known.kind} differs where LiteRT's did not saturate"
    if known.how == RANDOM and all(np.array_equal(both(cut, work)[1][0], mine) for _ in range(RUNS)):
        return f"TOSA's integers of the {known.kind} are the same again"
    if isinstance(known.how, int) and steps.max() > known.how:
        return f"the {known.kind} differs by {steps.max()}"
    return ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    options.work = options.work.resolve()  # the model runs in another folder
    packages.ensure(options.work / "tosa", PACKAGES, ["tosa_reference_model", "tosa_converter_for_tflite",
                                                      "ai_edge_litert", "litert_quantizer", "numpy"])
    work = options.work / "tosa_work"
    work.mkdir(parents=True, exist_ok=True)
    shipped = networks.of_packages(options.work / "tflite_networks")
    counts = collections.Counter()
    for network in [*shipped, *networks.made_here(options.work / "tflite_networks", shipped)]:
        if options.only not in str(network.path):
            continue
        feeds_integers = network.way in ("int8", "uint8", "int16x8") or network.way == "as shipped"
        if not feeds_integers:
            continue
        try:
            kind, sentence = judge(network.path, work)
        except (RuntimeError, ValueError, subprocess.TimeoutExpired) as error:
            kind, sentence = "not in LiteRT", last_line(str(error))
        known = KNOWN.get(network.path.name)
        if kind == "other" and known is not None:
            otherwise = is_known(known, network.path, work)
            kind = "other" if otherwise else "known"
            sentence += f": {otherwise or known.why}"
        counts[kind] += 1
        print(f"{kind:14} {network.path.name}: {sentence}", flush=True)
    print(", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())))
    return 1 if counts["other"] + counts["refused"] > 0 or counts["same"] == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
