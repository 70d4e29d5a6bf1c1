#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times X86 beside ONNX Runtime on the same .onnx files, in interleaved rounds: the least times and their ratio.

  tools/bench/against_onnxruntime.py a.onnx b.onnx   those files
  tools/bench/against_onnxruntime.py --attention 8x128x64,12x2048x64:causal,12x2048x64:rows=4
                                                     softmax(Q K^T / sqrt(size) + mask) V of so many heads, tokens and
                                                     values per head, or fewer rows of Q; K is transposed in the graph
  tools/bench/against_onnxruntime.py --dynamic       networks of test/tools/campaign at everyday sizes, quantised by
                                                     quantize_dynamic (8-bit weights); with files: of those files

The Python that runs it needs onnx and onnxruntime.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test/tools/campaign"))
SIZES = {"bert": dict(tokens=128, c=384), "gpt": dict(tokens=65, c=384), "llama": dict(tokens=48, c=384),
         "vit": dict(c=384), "mixer": dict(c=384), "whisper": dict(c=384), "lstm": {}, "crnn": {}, "resnet": {}}


def write_network(name, folder):
    import onnx
    from onnx import ValueInfoProto, helper, shape_inference
    import zoo
    import zoo_images
    import zoo_sequences
    from zoo_net import Net
    net = Net([1, list(SIZES).index(name)], "normal", 1)
    make = {"lstm": lambda n: zoo_sequences.recurrent(n, "LSTM", 4, size=256)}.get(name)
    make = make or getattr(zoo_sequences, name, None) or getattr(zoo_images, name)
    outputs = make(net, **SIZES[name])
    graph = helper.make_graph(net.nodes, name, net.inputs, [ValueInfoProto(name=o) for o in outputs], net.constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", zoo.OPSET)], ir_version=8)
    path = folder / f"{name}.onnx"
    onnx.save(shape_inference.infer_shapes(model, strict_mode=True), str(path))
    return path


def write_attention(spec, folder):
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    words = spec.split(":")
    heads, tokens, size = map(int, words[0].split("x"))
    rows = next((int(word[5:]) for word in words if word.startswith("rows=")), tokens)
    blobs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, heads, rows if n in "qy" else tokens, size])
             for n in "qkvy"]
    constants = [numpy_helper.from_array(np.float32(size ** -0.5), "scale")]
    nodes = [helper.make_node("Transpose", ["k"], ["turned"], perm=[0, 1, 3, 2]),
             helper.make_node("MatMul", ["q", "turned"], ["products"]),
             helper.make_node("Mul", ["products", "scale"], ["scores"])]
    if "causal" in words:
        mask = np.triu(np.full((1, 1, tokens, tokens), -1e4, np.float32), 1)
        constants.append(numpy_helper.from_array(mask, "mask"))
        nodes.append(helper.make_node("Add", ["scores", "mask"], ["masked"]))
    nodes += [helper.make_node("Softmax", [nodes[-1].output[0]], ["weights"], axis=-1),
              helper.make_node("MatMul", ["weights", "v"], ["y"])]
    model = helper.make_model(helper.make_graph(nodes, "attention", blobs[:3], blobs[3:], constants),
                              opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = folder / f"attention_{re.sub('[:=]', '_', spec)}.onnx"
    onnx.save(model, str(path))
    return path


def quantize(path, folder):
    from onnxruntime import quantization
    made = folder / f"{path.stem}.int8.onnx"
    quantization.quantize_dynamic(str(path), str(made), weight_type=quantization.QuantType.QInt8)
    return made


def session(path, threads, open_dim):
    import numpy as np
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 3
    made = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    rng, feeds, shapes = np.random.default_rng(1), {}, []
    for value in made.get_inputs():
        shape = [d if isinstance(d, int) and d > 0 else open_dim if i else 1 for i, d in enumerate(value.shape)]
        ids = "int" in value.type
        feeds[value.name] = rng.integers(0, 15, shape).astype(np.int64 if "64" in value.type else np.int32) if ids \
            else rng.standard_normal(shape).astype(np.float32)
        shapes += ["--shape", f"{value.name}={','.join(map(str, shape))}"]
    return made, feeds, shapes


def ort_times(made, feeds, count):
    times = []
    for _ in range(count + 2):
        start = time.perf_counter()
        made.run(None, feeds)
        times.append(1e3 * (time.perf_counter() - start))
    return min(times[2:])


def plumb_times(args, path, threads, shapes):
    command = [str(args.bin / "model_run"), "-m", str(path), "-d", "X86", "--threads", str(threads), "-wc", "2", "-ic",
               str(args.count), *shapes]
    done = subprocess.run(command, capture_output=True, text=True)
    found = re.search(r"min *= *([0-9.]+)", done.stdout)
    if found is None:
        sys.exit(f"{' '.join(command)} exited with {done.returncode}: {done.stderr.strip()[-300:]}")
    return float(found.group(1))


def measure(args, path):
    for threads in args.threads:
        made, feeds, shapes = session(path, threads, args.open_dim)
        ort, plumb = [], []
        for _ in range(args.rounds):
            ort.append(ort_times(made, feeds, args.count))
            time.sleep(0.2)  # its threads turn on for tens of milliseconds
            plumb.append(plumb_times(args, path, threads, shapes))
        print(f"| {path.stem} | {threads} | {min(ort):.2f} | {min(plumb):.2f} | {min(plumb) / min(ort):.2f} |",
              flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    parser.add_argument("--dynamic", action="store_true", help="quantize_dynamic first")
    parser.add_argument("--attention", type=lambda text: text.split(","), help="HEADSxTOKENSxSIZE, ...")
    parser.add_argument("--networks", default=",".join(SIZES), help="of the campaign's, where no file is given")
    parser.add_argument("--bin", default=ROOT / "build/release/bin", type=pathlib.Path, help="folder of model_run")
    parser.add_argument("--threads", default=[1, 2], type=lambda text: [int(t) for t in text.split(",")])
    parser.add_argument("--open-dim", default=64, type=int, help="for open dims; a batch is 1")
    parser.add_argument("--rounds", default=5, type=int)
    parser.add_argument("--count", default=20, type=int, help="timed runs a round")
    args = parser.parse_args()
    print("| network | threads | ONNX Runtime, ms | X86, ms | X86 / ONNX Runtime |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        attentions = [write_attention(spec, folder) for spec in args.attention or []]
        files = args.files or attentions or [write_network(name, folder) for name in args.networks.split(",")]
        for path in files:
            measure(args, quantize(path, folder) if args.dynamic else path)


if __name__ == "__main__":
    main()
