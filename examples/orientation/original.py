# SPDX-License-Identifier: Apache-2.0
"""The original: which side of a photographed page is up, with Pillow. python original.py PHOTO NETWORK.onnx

The classifier takes 224 x 224 pixels and says by how many degrees the page is turned. Each step is written down by
plumbnn.stage.
"""
import sys

import numpy as np
from PIL import Image, ImageOps

import plumbnn

SHORT, SIDE = 256, 224
MEAN, STD = np.float32([0.485, 0.456, 0.406]), np.float32([0.229, 0.224, 0.225])


def main():
    photo, network = sys.argv[1:]
    image = ImageOps.exif_transpose(Image.open(photo)).convert("RGB")  # as the phone was held
    plumbnn.stage("decode", image, file=photo)
    scale = SHORT / min(image.size)
    size = [round(side * scale) for side in image.size]
    image = plumbnn.stage("resize", image.resize(size, Image.Resampling.BILINEAR))
    left, top = (size[0] - SIDE) // 2, (size[1] - SIDE) // 2
    image = plumbnn.stage("crop", np.asarray(image)[top:top + SIDE, left:left + SIDE])
    tensor = plumbnn.stage("normalise", (image.astype(np.float32) / 255 - MEAN) / STD)
    tensor = plumbnn.stage("input", tensor.transpose(2, 0, 1)[None], layout="NCHW")
    scores = plumbnn.stage("scores", plumbnn.run(network, {"x": tensor})["fetch_name_0"], kind="model")
    print(f"original: turned by {scores.argmax() * 90} degrees")


main()
