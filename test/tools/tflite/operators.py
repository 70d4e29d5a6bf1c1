# SPDX-License-Identifier: Apache-2.0
"""TFLite's operators, one by one: small .tflite files with random attributes in f32 and in integers, run by LiteRT's
kernels and judged by model_check.

    operators.py --bin build/release/bin --work FOLDER [--only CONV_2D,PAD] [--types float32,int8]
        [--kernels reference,xnnpack] [--files]    --files: writes the files, runs LiteRT, and judges nothing
Each file holds all cases of one operator and type that LiteRT takes: FOLDER/CONV_2D.int8.tflite, its inputs beside it.
What LiteRT's kernels themselves compute otherwise than TFLite says is in KNOWN, with the words of the report.
"""
import argparse
import json
import os
import pathlib
import pickle
import subprocess
import sys
import zlib

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "golden"), str(HERE.parents[2] / "tools" / "python")]
import packages  # noqa: E402

TYPES = ("float32", "int8", "uint8", "int16")
# (operator, type, kernels): words that one wrong layer's reason holds. Seen in LiteRT 2.3.0.
FOLDED = "of the angle folded into [-pi / 2, pi / 2] in f32 (XNNPACK)"
DIVIDED = "integers differ"  # 0 where the dividend is one step and the quotient is not
KNOWN = {
    ("SIN", "float32", "xnnpack"): FOLDED,
    ("COS", "float32", "xnnpack"): FOLDED,
    ("DIV", "uint8", "reference"): DIVIDED,
    ("DIV", "uint8", "xnnpack"): DIVIDED,
    ("LOCAL_RESPONSE_NORMALIZATION", "float32", "reference"): "beyond rounding",  # without its window's top channel
    ("SUM", "int8", "reference"): "-1 everywhere",
}


def lite_of(content):
    from ai_edge_litert.interpreter import Interpreter, OpResolverType
    plain = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES  # the reference resolver lacks some operators
    lite = Interpreter(model_content=content, experimental_preserve_all_tensors=True,
                       experimental_op_resolver_type=plain)
    lite.allocate_tensors()
    return lite


def run_alone(draw, outputs, wanted=()):
    """The range of each of the wanted tensors in a run of the network with its own inputs, in a process of its own,
    since LiteRT may crash; ValueError: it refuses the network, or did crash."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            answer = run_here(draw, outputs, wanted)
        except (ValueError, RuntimeError, AssertionError) as error:
            answer = " ".join(str(error).split())[:200]
        os.write(writing, pickle.dumps(answer))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        data = stream.read()
    _, status = os.waitpid(child, 0)
    answer = pickle.loads(data) if data else f"it crashed with status {status}"
    if isinstance(answer, str):
        raise ValueError(answer)
    return answer


def run_here(draw, outputs, wanted):
    lite = lite_of(draw.network.bytes(outputs))
    feeds = draw.drawn()
    for detail in lite.get_input_details():
        lite.set_tensor(detail["index"], feeds[detail["name"]])
    lite.invoke()
    for tensor in outputs:
        declared = list(draw.network.graph.tensors[tensor].shape)
        made = list(lite.get_tensor(tensor).shape)
        if declared != made:
            raise AssertionError(f"the case declares {declared}, LiteRT makes {made}")
    values = [lite.get_tensor(tensor) for tensor in wanted]
    return [(float(v.min(initial=0)), float(v.max(initial=0))) for v in values]


def ranges_of(case, seed):
    """The range of each tensor that has a grid, from a run in f32."""
    from draw import Draw
    draw = Draw(seed)
    outputs = case.make(draw)
    return None if outputs is None else run_alone(draw, outputs, draw.gridded)


def write(case, dtype, folder):
    """The path of a .tflite with the cases that LiteRT takes, or None; and [why not] of the others."""
    import numpy as np
    from draw import Draw
    from lite import Network
    whole, outputs, feeds, refused = Network(), [], {}, []
    count = case.count if dtype == "float32" else (case.count + 1) // 2
    for number in range(count):
        seed = [zlib.crc32(case.kind.encode()), number]
        try:
            ranges = ranges_of(case, seed) if dtype != "float32" else None
            alone = Draw(seed, dtype, ranges)
            made = case.make(alone) if dtype == "float32" or ranges is not None else None
            if made is None:
                continue
            run_alone(alone, made)
        except ValueError as error:
            refused.append(str(error))
            continue
        draw = Draw(seed, dtype, ranges, whole)
        outputs += case.make(draw)
        feeds.update(draw.drawn())
    if not outputs:
        return None, refused
    path = folder / f"{case.kind}.{dtype}.tflite"
    whole.save(path, outputs)
    np.savez(path.with_suffix(".npz"), **feeds)
    return path, refused


def judge(options, path, kernels):
    """(what is wrong, or "", and a line) of model_check with a dump of LiteRT's kernels."""
    from plumb_golden import litert_golden
    from plumb_golden.folder import UsageError
    folder, report = path.with_suffix(f".{kernels}"), path.with_suffix(".json")
    try:
        litert_golden.run(path, folder, input_files=[str(path.with_suffix(".npz"))], force=True, kernels=kernels)
    except UsageError as error:
        if "Didn't find op" in str(error):
            return "", "these kernels have no such operator"
        raise
    report.unlink(missing_ok=True)
    done = subprocess.run([f"{options.bin}/model_check", "-m", str(path), "--subject", str(folder), "--all",
                           "--min-tested", "0", "--json", str(report)], capture_output=True, text=True)
    last = ((done.stdout.strip() or done.stderr.strip()).splitlines() or [""])[-1]
    if not report.exists():
        return "refused", last
    runs = json.loads(report.read_text())["runs"]
    if not runs:
        return "no layer was judged", last
    wrong = [layer for layer in runs[0]["layers"] if layer["verdict"] in ("wrong", "grey")]
    said = [layer["reason"] for layer in wrong]
    if wrong:
        last = f"{wrong[0]['name']}: {said[0]}; {last}"
    known = KNOWN.get((*path.stem.split("."), kernels))
    if known is not None:
        found = any(known in words for words in said)
        return "" if found else f"LiteRT's own fault is not told any more: '{known}'", f"known: {last}"
    return f"{len(wrong)} wrong or grey" if wrong else "", last


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--types", default=",".join(TYPES))
    parser.add_argument("--kernels", default="reference,xnnpack")
    parser.add_argument("--files", action="store_true")
    options = parser.parse_args()
    packages.ensure(options.work / "litert", ["ai-edge-litert==2.3.0", "numpy"], ["ai_edge_litert", "numpy"])
    import cases_detection  # noqa: F401
    import cases_images  # noqa: F401
    import cases_moves  # noqa: F401
    import cases_recurrent  # noqa: F401
    import cases_segments  # noqa: F401
    import cases_states  # noqa: F401
    import cases_values  # noqa: F401
    from draw import CASES
    options.work = options.work / "tflite_operators"
    options.work.mkdir(parents=True, exist_ok=True)
    kinds, failed, files = [k for k in options.only.split(",") if k], [], 0
    for case in CASES:
        for dtype in case.dtypes if not kinds or case.kind in kinds else ():
            if dtype not in options.types.split(","):
                continue
            path, refused = write(case, dtype, options.work)
            for why in sorted(set(refused)):
                print(f"     {case.kind} {dtype}: LiteRT refuses {refused.count(why)}: {why}", flush=True)
            if path is None:
                failed.append(f"{case.kind} {dtype}: no case runs in LiteRT")
                continue
            files += 1
            for kernels in () if options.files else options.kernels.split(","):
                bad, last = judge(options, path, kernels)
                if bad:
                    failed.append(f"{case.kind} {dtype} {kernels}: {bad}")
                print(f"{'FAIL' if bad else 'ok  '} {case.kind} {dtype} {kernels}: {last[:220]}", flush=True)
    print("\n".join(failed))
    print(f"{files} files, {len(failed)} failed")
    sys.exit(1 if failed or not files else 0)


if __name__ == "__main__":
    main()
