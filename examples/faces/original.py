# SPDX-License-Identifier: Apache-2.0
"""The original: a face detector (MTCNN's first two networks) with Pillow. python original.py PHOTO FOLDER_OF_NETWORKS

An image pyramid goes through pnet.onnx; what it proposes is suppressed, cut out, and judged by rnet.onnx. Each step is
written down by plumbnn.stage; `of` names the stage that a step reads where that is not the one before it.
"""
import math
import sys

import numpy as np
from PIL import Image

import plumbnn

SMALLEST, FACTOR, CELL, STRIDE = 40, 0.709, 12, 2


def suppress(rows, overlap):
    """Greedy non-maximum suppression of x1, y1, x2, y2, score; the best first."""
    rows = rows[np.argsort(-rows[:, 4], kind="stable")]
    kept = []
    for row in rows:
        def iou(other):
            low, high = np.maximum(row[:2], other[:2]), np.minimum(row[2:4], other[2:4])
            shared = np.prod(np.maximum(high - low, 0))
            return shared / (np.prod(row[2:4] - row[:2]) + np.prod(other[2:4] - other[:2]) - shared)
        if all(iou(other) <= overlap for other in kept):
            kept.append(row)
    return np.array(kept, np.float32).reshape(-1, rows.shape[1])


def square(rows):
    """The square around each box, of whole pixels."""
    centre = (rows[:, :2] + rows[:, 2:4]) / 2
    half = (rows[:, 2:4] - rows[:, :2]).max(axis=1, keepdims=True) / 2
    return np.floor(np.concatenate([centre - half, centre + half], 1) + 0.5).astype(int)


def network(path, name, tensor):
    """Trained on transposed pictures, so that height and width are exchanged."""
    return plumbnn.run(path, {name: np.ascontiguousarray(tensor.transpose(0, 2, 1, 3))})


def proposals(image, scale, level, folder):
    size = [math.ceil(side * scale) for side in image.size]
    small = plumbnn.stage(f"resize_{level}", image.resize(size, Image.Resampling.BILINEAR), of="decode")
    tensor = plumbnn.stage(f"normalise_{level}", (np.asarray(small, np.float32)[None] - 127.5) / 128)
    outputs = network(f"{folder}/pnet.onnx", "input_1", tensor)
    scores = plumbnn.stage(f"scores_{level}", outputs["softmax"][0, ..., 1].T, kind="model")
    y, x = np.nonzero(scores > 0.6)
    corner = np.stack([x, y], 1) * STRIDE
    rows = np.concatenate([corner / scale, (corner + CELL) / scale, scores[y, x][:, None]], 1).astype(np.float32)
    if len(rows) == 0:
        return rows
    plumbnn.stage(f"candidates_{level}", rows, kind="boxes", layout="HW")
    return plumbnn.stage(f"nms_{level}", suppress(rows, 0.5), layout="HW")


def main():
    photo, folder = sys.argv[1:]
    image = Image.open(photo).convert("RGB")
    plumbnn.stage("decode", image, file=photo)
    scale, rows, levels = CELL / SMALLEST, [], []
    while min(image.size) * scale >= CELL:
        levels.append(f"scores_{len(rows)}")
        rows.append(proposals(image, scale, len(rows), folder))
        scale *= FACTOR
    rows = plumbnn.stage("proposals", np.concatenate(rows), kind="boxes", layout="HW", of=levels)
    rows = plumbnn.stage("nms_all", suppress(rows, 0.7), layout="HW")
    crops = [np.asarray(image.crop(box).resize((24, 24), Image.Resampling.BILINEAR)) for box in square(rows).tolist()]
    crops = plumbnn.stage("crops", np.stack(crops), of=("decode", "nms_all"))
    tensor = plumbnn.stage("normalise", (crops.astype(np.float32) - 127.5) / 128)
    outputs = network(f"{folder}/rnet.onnx", "input_2", tensor)
    scores = plumbnn.stage("scores", outputs["softmax_1"][:, 1:], kind="model")
    sure = scores[:, 0] > 0.7
    box, move = rows[sure, :4], outputs["dense_2"][sure]
    rows = np.concatenate([box + move * np.tile(box[:, 2:] - box[:, :2], 2), scores[sure]], 1)
    plumbnn.stage("boxes", rows, layout="HW", of=("nms_all", "scores"))
    faces = plumbnn.stage("faces", suppress(rows, 0.4), kind="detections", layout="HW")
    for *corners, score in faces.tolist():
        print(f"original: face {score:.3f} at {[round(corner) for corner in corners]}")


main()
