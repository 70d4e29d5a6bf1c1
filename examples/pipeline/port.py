# SPDX-License-Identifier: Apache-2.0
"""The port: the same with OpenCV, as somebody wrote it for the phone. python port.py PHOTO MODEL [--mended]

Three lines of it are wrong. stage_diff names each; --mended runs the lines as it mends them.
"""
import sys

import cv2
import numpy as np
from PIL import Image

import plumbnn

photo, model = sys.argv[1:3]
mended = "--mended" in sys.argv
image = plumbnn.stage("decode", cv2.imread(photo), color="BGR", library=cv2, file=photo)
if mended:
    image = np.asarray(Image.fromarray(image).resize((8, 8), Image.Resampling.BILINEAR))
else:
    image = cv2.resize(image, (8, 8))  # no antialias
plumbnn.stage("resize", image, color="BGR", library=cv2)
if mended:
    grey = np.asarray(Image.fromarray(image[..., ::-1]).convert("L"))
else:
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)  # of BGR
plumbnn.stage("grey", grey, library=cv2)
tensor = (grey.astype(np.float32) - (120 if mended else 127.5)) / 128
plumbnn.stage("input", tensor[None, None])
output = plumbnn.run(model, {"input": tensor[None, None]})["prob"]
plumbnn.stage("output", output.reshape(1, 10))
print(f"port: {output.argmax()}")
