# SPDX-License-Identifier: Apache-2.0
"""Plumb: runs a neural network layer by layer, and says which operator is wrong, and why.

    import plumbnn

    report = plumbnn.check("net.onnx", devices=["X86"], inputs={"x": array})
    print(report)                     # the verdict; the first guilty layer, where there is one
    report.first_wrong                # its name, type, error, cause

Errors are `plumbnn.Error`. Functions compute without the GIL; Ctrl-C ends them between two
layers. doc/python.md shows more.
"""

from __future__ import annotations

from . import _core
from ._check import assert_aligned, check
from ._compare import AlignedDevice, Alignment, DiffReport, align, diff
from ._device import DeviceReport, MachineReport, device_check
from ._errors import Error, MisalignedError
from ._judge import Judged, Judgement, Tolerance, assert_close, judge, tolerance
from ._many import ManyReport, check_many
from ._model import Conversion, Model, convert, devices, load
from ._network import Network, dump, run
from ._reduce import ReduceReport, reduce
from ._report import LayerReport, Report, Run
from ._stage import StageReport, sample, stage, stage_diff, stage_match, stages_wanted
from ._sweep import SweepReport, SweepRow, sweep
from ._tensors import tensors
from ._trace import TraceFinding, TraceReport, trace_check
from ._types import Device, FileTensor, Layer, Observer, Port, Signature, Step, TensorInfo

__version__: str = _core.version()

__all__ = [
    "AlignedDevice",
    "Alignment",
    "Conversion",
    "Device",
    "DeviceReport",
    "DiffReport",
    "Error",
    "FileTensor",
    "Judged",
    "Judgement",
    "Layer",
    "LayerReport",
    "MachineReport",
    "ManyReport",
    "MisalignedError",
    "Model",
    "Network",
    "Observer",
    "Port",
    "ReduceReport",
    "Report",
    "Run",
    "Signature",
    "StageReport",
    "Step",
    "SweepReport",
    "SweepRow",
    "TensorInfo",
    "Tolerance",
    "TraceFinding",
    "TraceReport",
    "align",
    "assert_aligned",
    "assert_close",
    "check",
    "check_many",
    "convert",
    "device_check",
    "devices",
    "diff",
    "dump",
    "judge",
    "load",
    "reduce",
    "run",
    "sample",
    "stage",
    "stage_diff",
    "stage_match",
    "stages_wanted",
    "sweep",
    "tensors",
    "tolerance",
    "trace_check",
]
