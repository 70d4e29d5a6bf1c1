# SPDX-License-Identifier: Apache-2.0
"""model_convert -align: healthy conversions are proved equal; one whose weights were exchanged is not, and its first
operator is named.

    align_test.py --bin build/release/bin --work build/release/golden_test
"""
import argparse
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = HERE.parents[2] / "tools" / "python"
sys.path[:0] = [str(HERE), str(PYTHON)]
import packages  # noqa: E402


def build(path):
    import network
    import numpy as np
    from onnx import TensorProto, helper, save
    b = network.Builder()
    b.node("Conv", "conv1", ["data", b.weight("conv1_w", 8, 3, 3, 3), b.weight("conv1_b", 8, scale=0.3)],
           pads=[0, 0, 1, 1], strides=[2, 2])
    b.node("Relu", "relu1", ["conv1"])
    b.node("AveragePool", "pool", ["relu1"], kernel_shape=[3, 3], pads=[1] * 4, count_include_pad=1)
    b.node("Resize", "up", ["pool", "", b.constant("scales", np.array([1, 1, 2, 2], np.float32))], mode="linear",
           coordinate_transformation_mode="asymmetric")
    b.node("GlobalAveragePool", "mean", ["up"])
    b.node("Flatten", "flat", ["mean"])
    b.node("Softmax", "prob", ["flat"], axis=1)
    graph = helper.make_graph(b.nodes, "g", [helper.make_tensor_value_info("data", TensorProto.FLOAT, [1, 3, 17, 19])],
                              [helper.make_tensor_value_info("prob", TensorProto.FLOAT, None)], b.weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    save(model, path)


def build_branches(path):
    """y = rate == 16000 ? relu(x) : neg(x), the branches' tensors under the same names."""
    from onnx import TensorProto, helper, save

    def branch(op):
        nodes = [helper.make_node(op, ["x"], ["inner"], name="first"),
                 helper.make_node("Exp", ["inner"], ["out"], name="second")]
        return helper.make_graph(nodes, op, [], [helper.make_tensor_value_info("out", TensorProto.FLOAT, None)])
    nodes = [helper.make_node("Equal", ["rate", "wanted"], ["same"], name="equal"),
             helper.make_node("If", ["same"], ["y"], name="choose", then_branch=branch("Relu"),
                              else_branch=branch("Neg"))]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3]),
                                           helper.make_tensor_value_info("rate", TensorProto.INT64, [])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3])],
                              [helper.make_tensor("wanted", TensorProto.INT64, [], [16000])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    save(model, path)


def check_branches(tool, work):
    """The branch that is taken, seen from inside, with a constant condition and with one that is known only at run
    time."""
    model = work / "branches.onnx"
    build_branches(model)
    for rate, inside in ((16000, "choose/then/inner"), (8000, "choose/else/inner")):
        code, output = run(tool, model, "-o", work / f"rate{rate}", "--constant", f"rate={rate}", "-align", "all")
        expect(code == 0 and "proved equal" in output and f"tensor '{inside}'" in output,
               f"rate {rate} is proved equal", output)
        expect(f"align   input rate: the constant {rate}" in output, "the constant is said", output)
    code, output = run(tool, model, "-o", work / "both", "-align", "all")
    expect(code == 0 and "proved equal" in output and "tensor 'choose/else/inner'" in output,
           "both branches are proved equal", output)
    expect("If 'choose': its condition is known only when the network runs" in output, "both branches are said", output)


def check_random(tool, work):
    """A random node's output is a network input; ONNX Runtime gets the same values in the node's place."""
    from onnx import TensorProto, helper, save
    model = work / "random.onnx"
    nodes = [helper.make_node("RandomNormalLike", ["x"], ["noise"], "draw"),
             helper.make_node("Mul", ["x", "noise"], ["scaled"], "scale"),
             helper.make_node("Tanh", ["scaled"], ["y"], "squash")]
    dims = [1, 3, 8, 8]
    graph = helper.make_graph(nodes, "random", [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, dims)])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(model))
    code, output = run(tool, model, "-o", work / "random", "-align", "all", "-d", "X86")
    expect(code == 0 and "proved equal" in output and "tensor 'scaled'" in output, "random values are shared", output)
    expect("AL11: node 'draw'" in output, "the random node is said", output)
    check = tool.with_name("model_check")
    code, output = run(check, "-m", model, "-d", "X86", "--golden", "onnxruntime")
    expect(code == 0 and "0 wrong" in output, "--golden onnxruntime draws nothing of its own", output)


def run(tool, *arguments):
    env = dict(os.environ, PLUMB_PYTHON=sys.executable, PYTHONPATH=str(PYTHON))
    done = subprocess.run([str(tool), *map(str, arguments)], capture_output=True, text=True, env=env)
    return done.returncode, done.stdout + done.stderr


def expect(condition, what, output):
    if not condition:
        sys.exit(f"FAILED: {what}\n{output}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--work", required=True)
    a = parser.parse_args()
    packages.ensure(pathlib.Path(a.work) / "venv-onnx", ["onnx", "onnxruntime", "numpy"],
                    ["onnx", "onnxruntime", "numpy"])
    work = pathlib.Path(a.work) / "align"
    work.mkdir(parents=True, exist_ok=True)
    model, tool = work / "small.onnx", pathlib.Path(a.bin) / "model_convert"
    build(model)
    code, output = run(tool, model, "-o", work / "a", "-align", "-d", "X86", "--align-inputs", 2)
    expect(code == 0 and "proved equal" in output, "a healthy conversion is proved equal", output)
    for warning in ("warning AL01: node 'up'", "warning AL06: node 'pool'", "warning AL07: node 'conv1'"):
        expect(warning in output, f"'{warning}' is printed", output)
    code, output = run(tool, model, "-o", work / "b", "-q", "-align", "all")
    expect(code == 0 and "tensor 'conv1'" in output, "-align all prints every layer", output)
    code, output = run(tool, model, "-o", work / "c", "-q", "--random-weights", "-align")
    expect(code == 1 and "NOT equal" in output, "other weights are found", output)
    expect("the first operator that differs: layer 1 'conv1' (Convolution" in output, "the first operator is named",
           output)
    check_branches(tool, work)
    check_random(tool, work)
    print("proved equal; a difference is found and named")


main()
