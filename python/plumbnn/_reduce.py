# SPDX-License-Identifier: Apache-2.0
"""From a wrong check to the smallest model that still shows it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from . import _core, _given, _html
from ._arrays import all_ready
from ._given import Path
from ._model import Shapes, arguments_of
from ._network import OPTIONS, DeviceOptions, device_arguments

if TYPE_CHECKING:
    from typing_extensions import Unpack


class ReduceReport:
    """What was wrong, and what it was reduced to.

    Attributes:
        wrong_steps: how many steps of the whole model are wrong.
        cases: a dict per wrong step that was taken: layer, type, cause, folder ("": no part of the
            model shows it), layers, nodes, needed_before, needed_behind, inputs, E, in_time.
        tries: a dict per try: layer, tried, wrong, outcome, seconds.
    """

    def __init__(self, report: _core.ReduceReport) -> None:
        self._report = report
        self.wrong_steps: int = report.wrong_steps
        lines = [json.loads(line) for line in report.lines().splitlines()]
        self.cases: list[dict[str, Any]] = [line for line in lines if "reduced" in line]
        self.tries: list[dict[str, Any]] = [line for line in lines if "tried" in line]

    def text(self, *, width: int = 100) -> str:
        """What `model_reduce` prints."""
        return self._report.text(width)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<plumbnn reduce: {self.text().splitlines()[-1]}>"

    def _repr_html_(self) -> str:
        rows = [[one["layer"], one["type"], one["layers"], one["inputs"], one["folder"]] for one in self.cases]
        last = self.text().splitlines()[-1]
        return f"<p>{_html.escaped(last)}</p>" + _html.table("layer type layers inputs folder", rows)


def reduce(
    model: Path,
    output: Path,
    *,
    device: str | None = None,
    run: str | None = None,
    inputs: Mapping[str, Any] | None = None,
    weights: Path | None = None,
    shapes: Shapes | None = None,
    seed: int = 1,
    max_cases: int = 3,
    seconds: float = 60,
    show: str | None = None,
    **device_options: Unpack[DeviceOptions],
) -> ReduceReport:
    """Judges the model on a device, or as a command computes it, and reduces each wrong step.

    Args:
        output: a folder; case-1, case-2 ... are made in it (doc/reduce.md).
        device: of ours: "X86". Or run: a shell's command with {model}, {dump} and {inputs}.
        inputs: arrays by network input; drawn by `seed` where there are none.
        max_cases: how many wrong steps; of other operators or causes first. seconds: for each.
        show: the runtime that a case's show.py judges, "openvino" (doc/reduce.md).
        device_options: precision, threads, device_index, fallback, unfuse, direct (see `Network`).

    Raises:
        Error: those of `load`; InvalidArgument for a command that fails on the whole model.
    """
    _given.known(device_options, OPTIONS)
    arguments = _core.ReduceArguments()
    arguments.model = arguments_of(_given.path_of(model), weights, shapes, None, seed)
    arguments.device = "" if device is None else _given.one_device(device)
    arguments.command = "" if run is None else _given.text_of(run, "run")
    arguments.folder = _given.path_of(output, "output")
    arguments.show = "" if show is None else _given.text_of(show, "show")
    arguments.options = device_arguments(**device_options)
    arguments.inputs = all_ready(dict(inputs or {}))
    arguments.max_cases, arguments.seconds = _given.whole(max_cases, "max_cases"), float(seconds)
    return ReduceReport(_core.reduce(arguments))
