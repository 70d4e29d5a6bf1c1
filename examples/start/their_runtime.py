# SPDX-License-Identifier: Apache-2.0
"""their_runtime.py MODEL IMAGE.npy FOLDER: another runtime, in NumPy, with a mistake in one of its kernels.

It stands for a phone's engine, an NPU or one's own code (doc/start.md): all that Plumb sees of it is
FOLDER, where it leaves what every layer computed as <tensor>.npy.
"""

import pathlib
import sys

import numpy as np
import plumbnn


def windows(x, size, stride):
    view = np.lib.stride_tricks.sliding_window_view(x, (size, size), axis=(2, 3))
    return view[:, :, ::stride, ::stride]


def convolution(layer, x):
    pad = int(layer.parameters["pad_h"])
    # The mistake: the border is padded with its own values, and the graph says zeros.
    mode = "edge" if layer.name == "conv3" else "constant"
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)), mode=mode)
    weight, bias = layer.weights["weight"], layer.weights["bias"]
    return np.einsum("nchwij,ocij->nohw", windows(x, weight.shape[2], 1), weight) + bias[:, None, None]


def compute(layer, x):
    if layer.type == "Convolution":
        return convolution(layer, x)
    if layer.type == "ReLU":
        return np.maximum(x, 0)
    if layer.type == "BatchNormCxx":
        return x * layer.weights["scale"][:, None, None] + layer.weights["bias"][:, None, None]
    if layer.type == "Pooling":
        return windows(x, 2, 2).max(axis=(4, 5))
    if layer.type == "InnerProduct":
        return x.reshape(1, -1) @ layer.weights["weight"].T + layer.weights["bias"]
    if layer.type == "Softmax":
        powers = np.exp(x - x.max())
        return powers / powers.sum()
    sys.exit(f"this runtime has no {layer.type}")


def main(model, image, folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {"input": np.load(image).astype(np.float32)}
    for layer in plumbnn.load(model).layers:
        tensors[layer.outputs[0]] = compute(layer, tensors[layer.inputs[0]]).astype(np.float32)
    for name, value in tensors.items():
        np.save(folder / f"{name}.npy", value)
    answer = tensors["prob"].ravel()
    print(f"this is a {answer.argmax()} ({100 * answer.max():.1f} %)")


if __name__ == "__main__":
    main(*sys.argv[1:])
