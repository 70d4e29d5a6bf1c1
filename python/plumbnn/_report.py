# SPDX-License-Identifier: Apache-2.0
"""What a check found: a view on the JSON that `model_check --json` writes."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from . import _html
from ._text import printable

if TYPE_CHECKING:
    import numpy as np
    import pandas

    from ._core import CheckResult


def _number(value: Any) -> float:
    """JSON has no NaN and infinities; the library writes them as strings."""
    return float(value)


class LayerReport:
    """One step of a run: a layer, or several that the device fused.

    Attributes:
        device: of the run. index, name, type: the layer's (of several the last one's).
        verdict: "aligned", "grey", "wrong" or "not tested"; reason: why, where it says more.
        cause: of a wrong or grey layer what explains it, or "".
        E, R: the largest introduced error in units of the rounding to be expected; its rms.
        introduced, inherited: max abs error of this step alone; of all before it.
        source_lines: where the nodes were written, "net.py:6 in forward: y = self.conv(x)", if the exporter said it.
        outputs: the output blobs' names. shape: of the output that decided.
        json: all that there is (doc/check.md).
    """

    def __init__(self, device: str, data: dict[str, Any]) -> None:
        self.device, self.json = device, data
        self.index: int = data["index"]
        self.name: str = data["name"]
        self.type: str = data["type"]
        self.verdict: str = data["verdict"]
        self.reason: str = data["reason"]
        self.cause: str = data["cause"]
        self.kernel: str = data["kernel"]
        self.nodes: list[str] = data["nodes"]
        self.source_lines: list[str] = data.get("source_lines", [])
        outputs = data["outputs"]
        self.outputs: list[str] = [output["blob"] for output in outputs]
        worst = max(outputs, key=_severity, default=None)
        self.shape: tuple[int, ...] = tuple(worst["shape"]) if worst else ()
        self.E: float = _number(worst["E"]) if worst else 0.0
        self.R: float = _number(worst["R"]) if worst else 0.0
        self.introduced: float = _number(worst["introduced"]["max_abs"]) if worst else 0.0
        self.inherited: float = _number(worst["inherited"]["max_abs"]) if worst else 0.0

    def __repr__(self) -> str:
        return f"<{self.device} layer {self.index} {self.name!r} ({self.type}): {self.verdict}>"


def _severity(output: dict[str, Any]) -> tuple[int, float]:
    order = ("aligned", "not tested", "grey", "wrong")
    return order.index(output["verdict"]), _number(output["E"])


class Run:
    """What one device, the subject or the golden was found to be.

    Attributes:
        device: "X86", "subject" or "golden". verdict: as a layer's.
        summary: the last sentence of its report: the first guilty layer and the command.
        layers: in execution order. first_wrong: the first guilty one, or None.
        notes: what the verdict rests on beyond the rule. judged_as: a subject's arithmetic.
        rests_on: what was compared, on which inputs, what was not and why, the smallest faults that were visible.
        probe: whether being watched changed a subject's outputs (`plumb-golden --prove-probe`), or None.
        repeats: whether the subject's runtime computes the same again (`plumb-golden --runs`), or None.
    """

    def __init__(self, result: CheckResult, place: int, data: dict[str, Any]) -> None:
        self._result, self._place, self.json = result, place, data
        self.device: str = data["device"]
        self.verdict: str = data["verdict"]
        self.summary: str = printable(data["summary"])
        self.notes: list[str] = data["notes"]
        self.rests_on: list[str] = data["rests_on"]
        self.judged_as: str = data["judged_as"]
        self.probe: dict[str, Any] | None = data["probe"]
        self.repeats: list[dict[str, Any]] | None = data["repeats"]
        self.layers = [LayerReport(self.device, layer) for layer in data["layers"]]
        wrong = (layer for layer in self.layers if layer.verdict == "wrong")
        self.first_wrong: LayerReport | None = next(wrong, None)

    @functools.cached_property
    def outputs(self) -> dict[str, np.ndarray]:
        """The network's outputs as the device computed them."""
        return {name: value for name, value, _ in self._result.outputs(self._place)}

    @functools.cached_property
    def reference(self) -> dict[str, np.ndarray | None]:
        """The same by the reference, in float64 (or the integer type); None where it has none."""
        return {name: value for name, _, value in self._result.outputs(self._place)}

    def text(self, *, all: bool = False, full: bool = False, width: int = 100) -> str:
        """The report that `model_check` prints: head, table, outputs, last sentence."""
        return self._result.text(self._place, False, all, full, width)

    def __repr__(self) -> str:
        return f"<{self.device}: {self.verdict}, {len(self.layers)} steps>"

    def _repr_html_(self) -> str:
        """For notebooks: its sentence, the steps that are not aligned, the five that come nearest to their bounds,
        the network's outputs, and what all this rests on."""
        few, worst = 20, 5
        off = [layer for layer in self.layers if layer.verdict != "aligned"]
        near = sorted((one for one in self.layers if one.verdict == "aligned"), key=lambda one: -one.E)
        rows = [_row(layer) for layer in [*off[:few], *near[:worst]]]
        outputs = [
            _output_row(name, value, self.reference.get(name)) for name, value in self.outputs.items()
        ]
        return (
            f"<p><b>{_html.escaped(self.device)}</b>: {_html.escaped(self.summary)}</p>"
            + _html.table(_HEAD, rows)
            + _html.more(len(off), few, "that are not aligned")
            + _html.table("output shape values reference", outputs)
            + "".join(f"<p>{_html.escaped(line)}</p>" for line in self.rests_on)
        )


class Report:
    """All that one `check` found out.

    Attributes:
        verdict: "aligned", "grey", "wrong", "not tested" or "error"; exit_code: `model_check`'s.
        summary: the last line of `model_check`.
    """

    def __init__(self, result: CheckResult, save: Callable[[], list[str]]) -> None:
        self._result, self._save = result, save
        self.verdict: str
        self.exit_code: int
        self.summary: str
        self.verdict, self.exit_code, self.summary = result.conclusion()

    @functools.cached_property
    def _text(self) -> str:
        return self._result.json()

    @functools.cached_property
    def json(self) -> dict[str, Any]:
        """All that there is, as `to_json` has it."""
        data: dict[str, Any] = json.loads(self._text)
        return data

    @functools.cached_property
    def runs(self) -> list[Run]:
        """One per golden, subject and device, in this order."""
        return [Run(self._result, i, data) for i, data in enumerate(self.json["runs"])]

    @property
    def skipped(self) -> dict[str, str]:
        """The devices of "ALL" that lack a kernel, with the reason."""
        devices = self.json["devices"]
        return {one["device"]: one["error"] for one in devices if one["state"] == "skipped"}

    @property
    def aligned(self) -> bool:
        """Whether everything was compared that had to be, and nothing is wrong."""
        return self.exit_code == 0

    @property
    def verdicts(self) -> dict[str, str]:
        """By device ("X86", "subject", "golden")."""
        return {run.device: run.verdict for run in self.runs}

    @property
    def layers(self) -> list[LayerReport]:
        """The steps of all runs."""
        return [layer for run in self.runs for layer in run.layers]

    @property
    def outputs(self) -> dict[str, dict[str, np.ndarray]]:
        """The network's outputs by device and name."""
        return {run.device: run.outputs for run in self.runs}

    @property
    def first_wrong(self) -> LayerReport | None:
        """The first guilty layer of the first run that has one, or None.

        None alone does not say that all is well: nothing may have been compared (`aligned`).
        """
        found = (run.first_wrong for run in self.runs if run.first_wrong is not None)
        return next(found, None)

    def __getitem__(self, device: str) -> Run:
        for run in self.runs:
            if run.device == device:
                return run
        raise KeyError(f"'{device}' is none of {', '.join(self.verdicts) or 'no runs'}")

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    def save_inputs(self) -> list[str]:
        """Writes the arrays that were given where the commands in this report read them.

        Returns the files: .npz in the temporary folder. `assert_aligned` does it by itself.
        """
        return self._save()

    def to_json(self) -> str:
        """What `model_check --json` writes for the same run (doc/check.schema.json)."""
        return self._text

    def to_csv(self) -> str:
        """What `model_check --csv` writes: one row per layer output."""
        return self._result.csv()

    def to_html(self) -> str:
        """The page that `model_check --html` writes. With `check(..., pictures=True)` it shows where and how each
        layer is off, too."""
        return self._result.html()

    def to_sarif(self) -> str:
        """What `model_check --sarif` writes."""
        return self._result.sarif()

    def to_pandas(self) -> pandas.DataFrame:
        """One row per step, with what `LayerReport` has. Needs pandas."""
        import pandas

        columns = "device index name type shape introduced inherited E R verdict cause".split()
        rows = [[getattr(layer, name) for name in columns] for layer in self.layers]
        return pandas.DataFrame(rows, columns=columns)

    def text(self, *, all: bool = False, full: bool = False, width: int = 100) -> str:
        """The reports that `model_check` prints, and its last line."""
        parts = [run.text(all=all, full=full, width=width) for run in self.runs]
        return "\n".join([*parts, self.summary])

    def __str__(self) -> str:
        return "\n".join([*(run.summary for run in self.runs), self.summary])

    def __repr__(self) -> str:
        return f"<plumbnn report: {self.summary}>"

    def _repr_html_(self) -> str:
        """For notebooks: the last line, and what each run has to show."""
        return _html.headline(self.verdict, self.summary) + "".join(run._repr_html_() for run in self.runs)


_HEAD = "index layer type shape introduced inherited E R verdict cause"


def _row(layer: LayerReport) -> list[Any]:
    texts = [layer.index, layer.name, layer.type, list(layer.shape)]
    numbers = [layer.introduced, layer.inherited, layer.E, layer.R]
    why = layer.cause or layer.reason
    return [*texts, *numbers, _html.Raw(_html.colored(layer.verdict)), why]


def _output_row(name: str, output: np.ndarray, reference: np.ndarray | None) -> list[Any]:
    def span(array: np.ndarray) -> str:
        return f"{array.min():.6g} to {array.max():.6g}" if array.size else "empty"

    return [name, list(output.shape), span(output), "" if reference is None else span(reference)]
