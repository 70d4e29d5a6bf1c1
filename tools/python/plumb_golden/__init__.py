# SPDX-License-Identifier: Apache-2.0
"""Goldens: every tensor that a model computes in its own framework, as a dump folder of Plumb's format.

    plumb-golden onnx model.onnx -o golden/ --input data=image.npy     # then: model_check -m model.onnx --golden
    golden/

Any other framework:

    import plumb_golden
    plumb_golden.start("golden/", framework="mine 1.2")
    plumb_golden.dump("conv1", array)                                   # as often as there are tensors
    plumb_golden.finish()

The format is doc/dump_format.md of the repository; numpy is all that this needs.
"""
from .folder import Folder

_open = None


def start(path, framework="", model=""):
    """Begins a dump folder; `framework` stands in reports."""
    global _open
    if _open is not None:
        _open.finish()
    _open = Folder(path, framework=framework, model=model)


def dump(name, array, layer=None, kind="", is_input=False):
    """Writes one tensor under its name in the model. Without start() the folder is plumb_golden/."""
    if _open is None:
        start("plumb_golden")
    _open.add(name, array, layer=layer, kind=kind, is_input=is_input)


def finish():
    """Writes the manifest; a folder without one is no finished dump."""
    global _open
    if _open is not None:
        _open.finish()
        _open = None
