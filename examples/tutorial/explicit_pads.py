# SPDX-License-Identifier: Apache-2.0
"""explicit_pads.py MODEL.onnx MENDED.onnx NODE PADS: the node with these pads in place of auto_pad."""

import sys

import onnx

model_path, mended_path, name, pads = sys.argv[1:]
model = onnx.load(model_path)
node = next(node for node in model.graph.node if node.name == name)
kept = [attribute for attribute in node.attribute if attribute.name != "auto_pad"]
del node.attribute[:]
node.attribute.extend([*kept, onnx.helper.make_attribute("pads", [int(pad) for pad in pads.split(",")])])
onnx.save(model, mended_path)
