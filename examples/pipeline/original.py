# SPDX-License-Identifier: Apache-2.0
"""The original: a digit recogniser with Pillow. python original.py PHOTO MODEL"""
import sys

import numpy as np
from PIL import Image

import plumbnn

photo, model = sys.argv[1:]
image = plumbnn.stage("decode", Image.open(photo).convert("RGB"), file=photo)
image = plumbnn.stage("resize", image.resize((8, 8), Image.Resampling.BILINEAR), method="bilinear")
grey = plumbnn.stage("grey", image.convert("L"))
tensor = (np.asarray(grey, np.float32) - 120) / 128
plumbnn.stage("input", tensor[None, None], bias=120, scale=1 / 128)
output = plumbnn.run(model, {"input": tensor[None, None]})["prob"]
plumbnn.stage("output", output.reshape(1, 10))
print(f"original: {output.argmax()}")
