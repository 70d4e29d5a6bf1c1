# SPDX-License-Identifier: Apache-2.0
"""plumbnn.torch.ConvSame beside LiteRT's CONV_2D and DEPTHWISE_CONV_2D: every kernel, stride, dilation and size of a
sweep, SAME and VALID. It prints how many there were and the largest difference.

    PYTHONPATH=build/release/python same_test.py --work build/release/golden_test
"""
import argparse
import itertools
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "golden")]
import lite  # noqa: E402
import packages  # noqa: E402

KERNELS = [(1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (1, 7), (3, 2)]
STRIDES = [(1, 1), (2, 2), (3, 3), (2, 1)]
DILATIONS = [(1, 1), (2, 2), (1, 3)]
SIZES = [(7, 7), (8, 8), (9, 12), (13, 10)]


def in_litert(x, weights, stride, dilation, padding, depthwise):
    """What LiteRT's plain kernels make of an NHWC image; None where it refuses the operator."""
    import numpy as np
    from ai_edge_litert.interpreter import Interpreter, OpResolverType
    network = lite.Network()
    image = network.input(x.shape)
    reads = [image, network.constant("w", weights),
             network.constant("b", np.zeros(weights.shape[-1] if depthwise else weights.shape[0], np.float32))]
    options = dict(padding=0 if padding == "SAME" else 1, strideH=stride[0], strideW=stride[1],
                   dilationHFactor=dilation[0], dilationWFactor=dilation[1])
    kind = "DEPTHWISE_CONV_2D" if depthwise else "CONV_2D"
    if depthwise:
        options["depthMultiplier"] = 1
    out = network.op(kind, reads, out_shape(x, weights, stride, dilation, padding), options=options)
    interpreter = Interpreter(model_content=network.bytes([out]), num_threads=1,
                              experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])


def out_shape(x, weights, stride, dilation, padding):
    def positions(size, kernel, step, spread):
        extent = (kernel - 1) * spread + 1
        return -(-size // step) if padding == "SAME" else (size - extent) // step + 1
    channels = weights.shape[-1] if weights.shape[0] == 1 and weights.shape[-1] == x.shape[-1] else weights.shape[0]
    return [1, *[positions(x.shape[i + 1], weights.shape[i + 1], stride[i], dilation[i]) for i in (0, 1)], channels]


def in_torch(x, weights, stride, dilation, padding, depthwise):
    import numpy as np
    import torch
    from plumbnn.torch import ConvSame
    channels = x.shape[-1]
    turned = weights.transpose(3, 0, 1, 2) if depthwise else weights.transpose(0, 3, 1, 2)
    conv = ConvSame(channels, len(turned), weights.shape[1:3], stride, dilation, channels if depthwise else 1, False,
                    padding)
    conv.load_state_dict({"weight": torch.from_numpy(np.ascontiguousarray(turned))})
    with torch.no_grad():
        return conv(torch.from_numpy(np.ascontiguousarray(x.transpose(0, 3, 1, 2)))).numpy().transpose(0, 2, 3, 1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    options = parser.parse_args()
    packages.ensure(options.work / "same_venv", ["torch", "ai-edge-litert", "numpy"],
                    ["torch", "ai_edge_litert", "numpy"])
    import numpy as np
    random = np.random.default_rng(1)
    count, worst, failures = 0, 0.0, 0
    for case in itertools.product(KERNELS, STRIDES, DILATIONS, SIZES, ("SAME", "VALID"), (False, True)):
        kernel, stride, dilation, size, padding, depthwise = case
        fits = all((k - 1) * d + 1 <= n for k, d, n in zip(kernel, dilation, size))
        if (padding == "VALID" and not fits) or (depthwise and stride[0] != stride[1]):
            continue  # LiteRT's depthwise kernel takes one stride for both
        x = random.uniform(-1, 1, (1, *size, 3)).astype(np.float32)
        weights = random.uniform(-1, 1, (1 if depthwise else 2, *kernel, 3)).astype(np.float32)
        wanted = in_litert(x, weights, stride, dilation, padding, depthwise)
        found = in_torch(x, weights, stride, dilation, padding, depthwise)
        count += 1
        difference = float(np.abs(found - wanted).max()) if found.shape == wanted.shape else float("inf")
        worst = max(worst, difference)
        if not difference <= 1e-5:
            failures += 1
            print(f"FAILED: {case}: {found.shape} {wanted.shape} {difference}", file=sys.stderr)
    print(f"{count} convolutions as LiteRT computes them, largest difference {worst:.2g}")
    return 1 if failures or count < 900 else 0


if __name__ == "__main__":
    sys.exit(main())
