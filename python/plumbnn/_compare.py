"""Comparing dumps, and proving conversions."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from . import _core
from ._arrays import all_ready
from ._model import Model, Path, as_model


class DiffReport:
    """What two dumps differ in.

    Attributes:
        verdict: "aligned", "wrong" or "not tested" (nothing could be compared).
        summary: the first difference, or that all that was compared is aligned.
        pairs: one dict per pair of tensors, as in the JSON of `blob_diff --json`.
        first_wrong: the first pair that differs, or None.
    """

    def __init__(self, report: _core.DiffReport) -> None:
        self._report = report
        self.json: dict[str, Any] = json.loads(report.json())
        self.verdict: str = self.json["verdict"]
        self.summary: str = report.summary()
        self.pairs: list[dict[str, Any]] = self.json["pairs"]
        wrong = (pair for pair in self.pairs if pair["verdict"] == "wrong")
        self.first_wrong: dict[str, Any] | None = next(wrong, None)

    def to_json(self) -> str:
        """What `blob_diff --json` writes."""
        return self._report.json()

    def to_csv(self) -> str:
        """What `blob_diff --csv` writes."""
        return self._report.csv()

    def text(self, *, all: bool = False, width: int = 100) -> str:
        """What `blob_diff` prints; `all`: every pair."""
        return self._report.text(False, all, width)

    def __repr__(self) -> str:
        return f"<plumbnn diff: {self.summary}>"


def diff(
    a: Path,
    b: Path,
    *,
    rule: str = "default",
    atol: float | None = None,
    rtol: float | None = None,
    names: Mapping[str, str] | None = None,
    pair_by_order: bool = False,
) -> DiffReport:
    """Compares two dump folders or tensor files, blob by blob; `b` counts as right.

    Args:
        rule: "default" (|a-b| <= 1e-5 of the largest |b| + 1e-3 |b|), "allclose" (numpy's),
            "tnn" or "cosine"; atol, rtol: its tolerances.
        names: name in `a` -> name in `b`, where they differ.

    Raises:
        Error: NotFound, IoError, CorruptModel; InvalidArgument. A difference is no error.
    """
    arguments = _core.DiffArguments()
    arguments.rule, arguments.atol, arguments.rtol = rule, atol, rtol
    arguments.names, arguments.pair_by_order = dict(names or {}), pair_by_order
    return DiffReport(_core.diff(os.fspath(a), os.fspath(b), arguments))


@dataclasses.dataclass(frozen=True)
class AlignedDevice:
    """The converted model on one device beside the original.

    `outputs` and `layers` are dicts: name, shape, equal, problem, max_abs, relative; layers also
    have layer, index, type, kernel, nodes. `layers` is empty where the outputs are equal.
    """

    device: str
    equal: bool
    unpaired: int
    outputs: list[dict[str, Any]]
    layers: list[dict[str, Any]]
    first_different: dict[str, Any] | None


@dataclasses.dataclass(frozen=True)
class Alignment:
    """Whether a converted model computes what the original does in ONNX Runtime."""

    original: str
    devices: list[AlignedDevice]

    @property
    def equal(self) -> bool:
        return all(device.equal for device in self.devices)


def align(
    original: Path,
    converted: Path | Model | None = None,
    devices: Sequence[str] = ("NAIVE",),
    inputs: Mapping[str, Any] | None = None,
    *,
    tolerance: float = 1e-4,
    every_layer: bool = False,
    seed: int = 1,
) -> Alignment:
    """Runs the original .onnx in ONNX Runtime and the converted model on devices; compares them.

    Args:
        converted: None: the original as Plumb imports it.
        inputs: arrays by network input; None: drawn by `seed`.
        tolerance: the share of a tensor's largest value that may differ.
        every_layer: compare layer by layer also where the outputs are equal.

    Raises:
        Error: InvalidArgument when onnx or onnxruntime is missing in this Python (or in the one
            that PLUMB_PYTHON names); those of `load` and `Network`.
    """
    python = os.environ.get("PLUMB_PYTHON") or sys.executable
    model = as_model(original if converted is None else converted)
    names = [device.upper() for device in devices]
    arrays = all_ready(inputs or {})
    described, found = _core.align(
        os.fspath(original), model._graph, names, arrays, seed, tolerance, every_layer, python
    )
    return Alignment(described, [_aligned_device(device) for device in found])


def _aligned_device(device: dict[str, Any]) -> AlignedDevice:
    place = device.pop("first_different")
    first = device["layers"][place] if place >= 0 else None
    return AlignedDevice(first_different=first, **device)
