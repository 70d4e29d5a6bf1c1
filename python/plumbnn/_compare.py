# SPDX-License-Identifier: Apache-2.0
"""Comparing dumps, and proving conversions."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from . import _core, _given, _html
from ._arrays import all_ready
from ._given import Path
from ._model import Model, Source, as_model


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

    def _repr_html_(self) -> str:
        """For notebooks: the sentence, the pairs that differ and the five that differ most of the rest."""
        few, worst = 20, 5
        wrong = [pair for pair in self.pairs if pair["verdict"] == "wrong"]
        rest = [pair for pair in self.pairs if pair["verdict"] != "wrong"]
        rest.sort(key=lambda pair: -float(pair.get("max_abs") or 0))
        rows = [_pair_row(pair) for pair in [*wrong[:few], *rest[:worst]]]
        table = _html.table("pair shape max_abs max_rel verdict reason", rows)
        return _html.headline(self.verdict, self.summary) + table + _html.more(len(wrong), few, "differ")


def _pair_row(pair: dict[str, Any]) -> list[Any]:
    name = pair.get("blob") or pair.get("name") or ""
    numbers = [float(pair.get(key) or 0) for key in ("max_abs", "max_rel")]
    verdict = _html.Raw(_html.colored(str(pair["verdict"])))
    shape = dict(pair.get("a") or {}).get("shape", "")
    return [name, shape, *numbers, verdict, pair.get("reason") or ""]


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
    return DiffReport(_core.diff(_given.path_of(a, "a"), _given.path_of(b, "b"), arguments))


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
    """Whether a converted model computes what the original does in ONNX Runtime or LiteRT.

    `steps`: of networks of integers, which every runtime rounds in its own way. Where a device is
    not equal, the original's steps ("original") are judged one by one, and those of each device but
    NAIVE: dicts with device, aligned, grey, wrong and first_wrong. `equal` then says that all are
    aligned.
    """

    original: str
    devices: list[AlignedDevice]
    equal: bool
    steps: list[dict[str, Any]]

    def _repr_html_(self) -> str:
        """For notebooks: each device's outputs, and the first operator that differs."""
        rows = [
            [one.device, output["name"], list(output["shape"]), float(output["max_abs"]),
             _html.Raw(_html.colored("aligned" if output["equal"] else "wrong")), output["problem"]]
            for one in self.devices
            for output in one.outputs
        ]
        firsts = [
            [one.device, one.first_different["layer"], one.first_different["type"], one.first_different["name"]]
            for one in self.devices
            if one.first_different is not None
        ]
        head = "proved equal: " if self.equal else "NOT equal: "
        return (
            _html.headline("aligned" if self.equal else "wrong", head + self.original)
            + _html.table("device output shape max_abs equal problem", rows)
            + _html.table("device first_different type tensor", firsts)
        )


def align(
    original: Path,
    converted: Source | Model | None = None,
    devices: str | Sequence[str] = ("NAIVE",),
    inputs: Any = None,
    *,
    tolerance: float = 1e-4,
    every_layer: bool = False,
    seed: int = 1,
) -> Alignment:
    """Runs the original, an .onnx in ONNX Runtime or a .tflite in LiteRT, and the converted model on devices.

    Args:
        converted: None: the original as Plumb imports it.
        inputs: arrays by network input; None: drawn by `seed`.
        tolerance: the share of a tensor's largest value that may differ.
        every_layer: compare layer by layer also where the outputs are equal.

    Raises:
        Error: InvalidArgument when onnx and onnxruntime, or ai_edge_litert, are missing in this
            Python (or in the one that PLUMB_PYTHON names); those of `load` and `Network`.
    """
    python = os.environ.get("PLUMB_PYTHON") or sys.executable
    model = as_model(original if converted is None else converted)
    names = _given.device_names(devices)
    arrays = all_ready(_given.by_name(inputs, lambda: list(model.inputs)))
    described, found, equal, steps = _core.align(
        _given.path_of(original, "original"), model._graph, names, arrays, seed, tolerance, every_layer, python
    )
    return Alignment(described, [_aligned_device(device) for device in found], equal, steps)


def _aligned_device(device: dict[str, Any]) -> AlignedDevice:
    place = device.pop("first_different")
    first = device["layers"][place] if place >= 0 else None
    return AlignedDevice(first_different=first, **device)
