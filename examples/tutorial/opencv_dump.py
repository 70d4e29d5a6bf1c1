# SPDX-License-Identifier: Apache-2.0
"""opencv_dump.py MODEL.onnx INPUTS.npz DUMP.npz: every tensor that OpenCV's DNN module computes."""

import sys

import cv2
import numpy as np
import onnx

model_path, inputs_path, dump_path = sys.argv[1:]
model = onnx.shape_inference.infer_shapes(onnx.load(model_path))
shown = {value.name for value in model.graph.output}
model.graph.output.extend(value for value in model.graph.value_info if value.name not in shown)
net = cv2.dnn.readNetFromONNX(np.frombuffer(model.SerializeToString(), np.uint8))
inputs = dict(np.load(inputs_path))
for name, values in inputs.items():
    net.setInput(values, name)
names = [value.name for value in model.graph.output]
computed = zip(names, net.forward(names))
np.savez(dump_path, **inputs, **{name: values for name, values in computed if values is not None})
