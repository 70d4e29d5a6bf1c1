# SPDX-License-Identifier: Apache-2.0
"""Every network of networks.py as a model: LiteRT's dump of it, on the kernels that are asked for, is judged by
model_check, and no layer may be wrong.

    networks_test.py --bin build/release/bin --work build/release/golden_test [--only PART_OF_A_PATH]
        [--kernels optimised,xnnpack] [--packages]
"""
import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "golden"), str(HERE.parents[2] / "tools" / "python")]
import custom_operators  # noqa: E402
import networks  # noqa: E402
import packages  # noqa: E402
import quantise  # noqa: E402

# What LiteRT cannot run in any form: the operators of face meshes that only MediaPipe has.
NOT_IN_LITERT = {"face_landmark_with_attention.tflite"}
TIME_LIMIT = 900


def range_of(path):
    """(low, high) of what the integers of the first input stand for, or those that a QUANTIZE makes of it; None: it
    stays floats, drawn as always."""
    from plumb_golden.litert_file import File
    file = File(path)
    quantised = [o.outputs[0] for o in file.operators if o.kind == "QUANTIZE" and o.inputs[0] == file.inputs[0]]
    first = file.tensors[(quantised or file.inputs)[0]]
    limits = {"i8": (-128, 127), "u8": (0, 255), "i16": (-32768, 32767)}.get(first.dtype)
    if limits is None or len(first.scales) != 1:
        return None
    return tuple(first.scales[0] * (limit - first.zero_points[0]) for limit in limits)


def judge(options, network, kernels):
    """(word of the last line, counts of verdicts, the first wrong layer)."""
    from plumb_golden import litert_golden
    from plumb_golden.folder import UsageError
    dump, report = options.work / "networks_dump", options.work / "networks_report.json"
    known = custom_operators.rewritten(network.path, options.work / "networks_rewritten.tflite")
    try:
        litert_golden.run(known or network.path, dump, force=True, kernels=kernels,
                          value_range=range_of(network.path))
    except UsageError as error:
        return "not in LiteRT", {}, str(error)
    report.unlink(missing_ok=True)
    done = subprocess.run([f"{options.bin}/model_check", "-m", str(network.path), "--subject", str(dump), "--json",
                           str(report)], capture_output=True, text=True, timeout=TIME_LIMIT)
    last = ((done.stdout.strip() or done.stderr.strip()).splitlines() or [""])[-1]
    if done.returncode not in (0, 1) or not report.exists():
        return f"exit code {done.returncode}", {}, last
    run = json.loads(report.read_text())["runs"][0]
    verdicts = collections.Counter(layer["verdict"] for layer in run["layers"])
    first = next((layer for layer in run["layers"] if layer["verdict"] == "wrong"), None)
    why = last if first is None else f"{first['name']} ({first['type']}): {first['reason']}"
    return last.split(":")[0], dict(verdicts), why


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--kernels", default="optimised")
    parser.add_argument("--packages", action="store_true")
    options = parser.parse_args()
    os.environ.setdefault("PLUMB_BIN_DIR", options.bin)  # whose tools say the usual shapes
    packages.ensure(options.work / "tflite", ["ai-edge-litert==2.3.0", quantise.PACKAGE],
                    ["ai_edge_litert", "litert_quantizer"])
    everything = networks.collect(options.work / "tflite_networks", options.packages)
    if not everything:
        packages.skip("no package can be downloaded")
    failed, count, layers = [], 0, collections.Counter()
    for network in everything:
        for kernels in options.kernels.split(",") if options.only in str(network.path) else ():
            began = time.monotonic()
            word, verdicts, why = judge(options, network, kernels)
            known = network.path.name in NOT_IN_LITERT and word == "not in LiteRT"
            good = word.split()[0] in ("ALIGNED", "GREY") or known
            count += 1
            layers.update(verdicts)
            failed += [] if good else [f"{network.path.name} {kernels}"]
            print(f"{'ok  ' if good else 'FAIL'} {network.package} {network.path.name} {kernels}: {word} {verdicts} "
                  f"{time.monotonic() - began:.1f} s {'' if good else why[:300]}", flush=True)
    print(f"{count - len(failed)} of {count} runs of {len(everything)} networks are as they should be; not: "
          f"{', '.join(failed) or 'none'}; layers: {dict(layers)}")
    sys.exit(1 if failed or not count else 0)


if __name__ == "__main__":
    main()
