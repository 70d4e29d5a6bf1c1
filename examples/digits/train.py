#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the digits example; writes digits.tnnproto, digits.tnnmodel, images/*.png and expected.csv beside this file.

    python3 -m venv venv && venv/bin/pip install numpy scikit-learn
    venv/bin/python train.py

A small convolutional network in plain numpy on scikit-learn's 8x8 digits: 1437 images to train, 360 held back. It takes
under a minute on one core. The seed is fixed; the last digits of the weights depend on numpy's BLAS.
"""
import csv
import pathlib
import struct
import zlib

import numpy as np
from sklearn.datasets import load_digits

HERE = pathlib.Path(__file__).parent
# A pixel of the PNG is 15 times scikit-learn's value (0 .. 16); the network sees (pixel - BIAS) * SCALE, exact in f32.
BIAS, SCALE = 120.0, 0.0078125
EPOCHS, BATCH, EPS, MAGIC = 40, 64, 1e-5, 0xFABC0004


def windows(x):
    """[n,c,h,w] with pad 1 -> the 3x3 neighbourhoods, [n,h,w,c*9]."""
    n, c, h, w = x.shape
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    view = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    return np.ascontiguousarray(view.transpose(0, 2, 3, 1, 4, 5)).reshape(n, h, w, c * 9)


class Conv:
    """3x3, stride 1, pad 1, with bias."""

    def __init__(self, rng, cin, cout):
        weight = rng.normal(0, np.sqrt(2 / (9 * cin)), (cout, cin, 3, 3))
        self.params = [weight.astype(np.float32), np.zeros(cout, np.float32)]

    def forward(self, x, train):
        self.columns = windows(x)
        weight, bias = self.params
        return (self.columns @ weight.reshape(len(weight), -1).T + bias).transpose(0, 3, 1, 2)

    def backward(self, grad):
        weight = self.params[0]
        rows = grad.transpose(0, 2, 3, 1).reshape(-1, len(weight))
        self.grads = [(rows.T @ self.columns.reshape(len(rows), -1)).reshape(weight.shape), rows.sum(0)]
        turned = weight[:, :, ::-1, ::-1].transpose(1, 0, 2, 3).reshape(weight.shape[1], -1)
        return (windows(grad) @ turned.T).transpose(0, 3, 1, 2)


class BatchNorm:
    def __init__(self, channels):
        self.params = [np.ones(channels, np.float32), np.zeros(channels, np.float32)]
        self.mean, self.var = np.zeros(channels, np.float32), np.ones(channels, np.float32)

    def folded(self):
        """k and b of y = k * x + b, which is all that inference needs."""
        k = self.params[0] / np.sqrt(self.var + EPS)
        return k.astype(np.float32), (self.params[1] - self.mean * k).astype(np.float32)

    def forward(self, x, train):
        if not train:
            k, b = self.folded()
            return x * k[:, None, None] + b[:, None, None]
        mean, var = x.mean((0, 2, 3)), x.var((0, 2, 3))
        self.mean += 0.1 * (mean - self.mean)
        self.var += 0.1 * (var - self.var)
        self.std = np.sqrt(var + EPS)[:, None, None]
        self.normal = (x - mean[:, None, None]) / self.std
        return self.normal * self.params[0][:, None, None] + self.params[1][:, None, None]

    def backward(self, grad):
        self.grads = [(grad * self.normal).sum((0, 2, 3)), grad.sum((0, 2, 3))]
        count = grad.size // grad.shape[1]
        centred = grad - (self.grads[1] / count)[:, None, None] - self.normal * (self.grads[0] / count)[:, None, None]
        return centred * self.params[0][:, None, None] / self.std


class Relu:
    params = []

    def forward(self, x, train):
        self.positive = x > 0
        return x * self.positive

    def backward(self, grad):
        return grad * self.positive


class MaxPool:
    """2x2, stride 2."""
    params = []

    def forward(self, x, train):
        n, c, h, w = x.shape
        blocks = x.reshape(n, c, h // 2, 2, w // 2, 2)
        out = blocks.max((3, 5))
        hit = blocks == out[:, :, :, None, :, None]
        self.share = hit / hit.sum((3, 5), keepdims=True)
        return out

    def backward(self, grad):
        n, c, h, w = grad.shape
        return (self.share * grad[:, :, :, None, :, None]).reshape(n, c, 2 * h, 2 * w).astype(np.float32)


class Dense:
    def __init__(self, rng, inputs, outputs):
        weight = rng.normal(0, np.sqrt(1 / inputs), (outputs, inputs))
        self.params = [weight.astype(np.float32), np.zeros(outputs, np.float32)]

    def forward(self, x, train):
        self.shape, self.x = x.shape, x.reshape(len(x), -1)
        return self.x @ self.params[0].T + self.params[1]

    def backward(self, grad):
        self.grads = [grad.T @ self.x, grad.sum(0)]
        return (grad @ self.params[0]).reshape(self.shape)


def run(layers, x, train=False):
    for layer in layers:
        x = layer.forward(x, train)
    return x


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def train(layers, images, labels, rng):
    trained = [layer for layer in layers if layer.params]
    moments = [[(np.zeros_like(p), np.zeros_like(p)) for p in layer.params] for layer in trained]
    step = 0
    for epoch in range(EPOCHS):
        rate = 2e-3 * 0.5 * (1 + np.cos(np.pi * epoch / EPOCHS))
        order = rng.permutation(len(images))
        for start in range(0, len(order), BATCH):
            pick = order[start:start + BATCH]
            grad = softmax(run(layers, images[pick], True))
            grad[np.arange(len(pick)), labels[pick]] -= 1
            grad = (grad / len(pick)).astype(np.float32)
            for layer in reversed(layers):
                grad = layer.backward(grad)
            step += 1
            for layer, pairs in zip(trained, moments):
                for param, g, (m, v) in zip(layer.params, layer.grads, pairs):
                    m += 0.1 * (g - m)
                    v += 0.001 * (g * g - v)
                    param -= rate * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)


PROTO = [  # type, name, input, output, parameters (the order of TNN's text format)
    "Convolution conv1 1 1 input conv1 1 1 16 3 3 1 1 1 1 1 -1 1 1 0",
    "ReLU relu1 1 1 conv1 relu1",
    "Convolution conv2 1 1 relu1 conv2 1 16 32 3 3 1 1 1 1 1 -1 1 1 0",
    "BatchNormCxx bn2 1 1 conv2 bn2",
    "ReLU relu2 1 1 bn2 relu2",
    "Pooling pool2 1 1 relu2 pool2 0 2 2 2 2 0 0 -1 -1 -1 0 0 0 0",
    "Convolution conv3 1 1 pool2 conv3 1 32 48 3 3 1 1 1 1 1 -1 1 1 0",
    "ReLU relu3 1 1 conv3 relu3",
    "InnerProduct fc4 1 1 relu3 fc4 10 1 0 1",
    "Softmax prob 1 1 fc4 prob 1",
]


def write_proto():
    blobs = sorted({"input"} | {line.split()[5] for line in PROTO})
    head = [f"1 {len(blobs)} 1 {MAGIC}", "input 4 1 1 8 8 0", " " + " ".join(blobs), "prob", f" {len(PROTO)}"]
    text = "".join(f'"{line} ,"\n' for line in head + PROTO)
    (HERE / "digits.tnnproto").write_text(text, newline="\n")


def string(text):
    return struct.pack("<i", len(text)) + text.encode()


def raw(array):
    return struct.pack("<Iiii", MAGIC, 0, array.nbytes, array.ndim) + struct.pack(f"<{array.ndim}i", *array.shape) + \
        array.astype("<f4").tobytes()


def write_model(named):
    out = struct.pack("<Ii", MAGIC, len(named))
    for kind, type_name, name, layer in named:
        out += struct.pack("<i", kind) + string(type_name) + string(name)
        if type_name == "Convolution":
            out += string(name) + struct.pack("<i", 1) + raw(layer.params[0]) + raw(layer.params[1])
        elif type_name == "InnerProduct":
            out += string(name) + raw(layer.params[0]) + raw(layer.params[1])
        else:
            k, b = layer.folded()
            out += raw(k) + raw(b)
    (HERE / "digits.tnnmodel").write_bytes(out)


def write_png(path, pixels):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    header = struct.pack(">IIBBBBB", pixels.shape[1], pixels.shape[0], 8, 0, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + body)


def write_examples(pixels, labels, probabilities):
    """The first held-back image of each digit, whether the network gets it right or not."""
    (HERE / "images").mkdir(exist_ok=True)
    with open(HERE / "expected.csv", "w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["image", "digit", "predicted", "probability"])
        for digit in range(10):
            i = int(np.argmax(labels == digit))
            write_png(HERE / "images" / f"digit_{digit}.png", pixels[i])
            best = probabilities[i].argmax()
            rows.writerow([f"images/digit_{digit}.png", digit, best, f"{probabilities[i][best]:.6f}"])


def main():
    rng = np.random.default_rng(2026)
    data = load_digits()
    pixels = (data.images * 15).astype(np.uint8)
    images = ((pixels.astype(np.float32) - np.float32(BIAS)) * np.float32(SCALE))[:, None]
    order = rng.permutation(len(images))
    held, kept = order[:360], order[360:]
    conv1, conv2, bn2, conv3 = Conv(rng, 1, 16), Conv(rng, 16, 32), BatchNorm(32), Conv(rng, 32, 48)
    fc4 = Dense(rng, 48 * 16, 10)
    layers = [conv1, Relu(), conv2, bn2, Relu(), MaxPool(), conv3, Relu(), fc4]
    train(layers, images[kept], data.target[kept], rng)

    write_proto()
    write_model([(1, "Convolution", "conv1", conv1), (1, "Convolution", "conv2", conv2),
                 (2, "BatchNormCxx", "bn2", bn2), (1, "Convolution", "conv3", conv3), (19, "InnerProduct", "fc4", fc4)])
    probabilities = softmax(run(layers, images))
    for name, part in (("training", kept), ("held-back", held)):
        right = int((probabilities[part].argmax(1) == data.target[part]).sum())
        print(f"{name} images: {right} of {len(part)} right ({100 * right / len(part):.2f} %)")
    write_examples(pixels[held], data.target[held], probabilities[held])


if __name__ == "__main__":
    main()
