# SPDX-License-Identifier: Apache-2.0
"""Stages: what a program does to an image before the network, and to the outputs after it."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import numpy as np

from . import _core, _given, _html
from ._arrays import ready, to_numpy
from ._errors import Error
from ._given import Path


def stages_wanted() -> bool:
    """Whether DUMP_STAGE_DIR asks for stages: for values that must first be fetched."""
    return bool(os.environ.get("DUMP_STAGE_DIR"))


def stage(
    name: str,
    values: Any,
    *,
    kind: str = "",
    layout: str = "",
    color: str = "",
    library: Any = None,
    **parameters: Any,
) -> Any:
    """Writes values down as the next stage of this sample where DUMP_STAGE_DIR names a folder; returns `values`.

    Args:
        name: "decode", "resize", "normalise", ...; the same on both sides.
        values: a numpy array, a PIL image, a torch tensor, or anything that numpy or DLPack reads; a text.
        kind: what the stage does, where its name does not say it.
        layout: "HWC", "CHW", "NHWC", "NCHW"; by default what the shape says.
        color: "RGB", "BGR", "GRAY", ...; by default a PIL image's mode.
        library: the module (`cv2`) or the words ("OpenCV 4.6.0") that computed it.
        parameters: texts, numbers and lists of them: method="bilinear", size=(224, 224). `of` names the stage
            or stages whose values this one reads, where that is not the one before it (levels of a pyramid).

    Raises:
        Error: InvalidArgument (a parameter or values of another kind), IoError.
    """
    if not stages_wanted():
        return values
    arguments = _core.StageArguments()
    arguments.name = _given.text_of(name, "stage")
    arguments.kind, arguments.layout = kind, layout
    arguments.color = color or _color_of(values)
    arguments.library = _library_words(library, values)
    arguments.parameters = [(key, _parameter(key, value)) for key, value in parameters.items()]
    array, bf16 = ready(name, _plain(values))
    _core.stage(arguments, array, bf16)
    return values


def sample(name: Path) -> None:
    """The next stages are those of another sample. Without it one begins when its first stage comes again."""
    if stages_wanted():
        _core.begin_sample(_given.path_of(name, "sample"))


def _plain(values: Any) -> Any:
    """An array of what numpy does not read as numbers: an image, a text (its UTF-8)."""
    if isinstance(values, str):
        return np.array(list(values.encode()), np.uint8)
    return np.asarray(values) if _is_pil(values) else values


def _is_pil(values: Any) -> bool:
    return type(values).__module__.partition(".")[0] == "PIL"


def _color_of(values: Any) -> str:
    modes = {"RGB": "RGB", "RGBA": "RGBA", "L": "GRAY", "CMYK": "CMYK"}
    return modes.get(values.mode, "") if _is_pil(values) else ""


def _library_words(library: Any, values: Any) -> str:
    """The name and the version of a module; of a PIL image Pillow's and its decoder's."""
    if isinstance(library, str):
        return library
    if library is None and not _is_pil(values):
        return ""
    module: Any = library if library is not None else sys.modules["PIL"]
    names = {"PIL": "Pillow", "cv2": "OpenCV"}
    words = f"{names.get(module.__name__, module.__name__)} {getattr(module, '__version__', '')}".strip()
    features = sys.modules.get("PIL.features")
    if module.__name__ == "PIL" and features is not None:
        turbo = features.version("libjpeg_turbo")
        words += f", libjpeg-turbo {turbo}" if turbo else ""
    return words


def _parameter(key: str, value: Any) -> str | list[float]:
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value) if isinstance(os.fspath(value), str) else str(value)
    if isinstance(value, (list, tuple)) and value and all(isinstance(one, str) for one in value):
        return ", ".join(value)
    try:
        numbers = np.asarray(value, dtype=np.float64).ravel()
    except (TypeError, ValueError):
        if getattr(value, "name", None) is not None:  # an enumeration: Image.Resampling.BILINEAR
            return str(value.name)
        raise Error(
            "InvalidArgument", f"stage: {key}: expected a text or numbers, found {_given.kind(value)}"
        ) from None
    return [float(number) for number in numbers]


class StageReport:
    """How the stages of two programs differ.

    Attributes:
        verdict: "aligned", "different" or "not tested".
        summary: the first guilty stage and its cause, or that all is aligned.
        samples: one dict per sample, as in the JSON of `stage_diff --json`.
        first_guilty: the first stage that introduces a difference, or None.
    """

    def __init__(self, report: _core.StageReport) -> None:
        self._report = report
        self.json: dict[str, Any] = json.loads(report.json())
        self.verdict: str = self.json["verdict"]
        self.summary: str = report.summary()
        self.samples: list[dict[str, Any]] = self.json["samples"]
        guilty = (one["stages"][one["first_guilty"]] for one in self.samples if one["first_guilty"] is not None)
        self.first_guilty: dict[str, Any] | None = next(guilty, None)

    def to_json(self) -> str:
        """What `stage_diff --json` writes."""
        return self._report.json()

    def text(self, *, width: int = 100) -> str:
        """What `stage_diff` prints."""
        return self._report.text(width)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<plumbnn stage_diff: {self.summary.strip()}>"

    def _repr_html_(self) -> str:
        """For notebooks: the sentence, and one row per stage."""
        rows = [
            [one["original"], row["stage"], row["verdict"], row["max_abs"], row["cause"], row["mend"]]
            for one in self.samples
            for row in one["stages"]
        ]
        verdict = "aligned" if self.verdict == "aligned" else "wrong"
        return _html.headline(verdict, self.summary) + _html.table("sample stage verdict max_abs cause mend", rows)


def stage_diff(original: Path, port: Path, *, model: Path | None = None, tolerance: float = 1e-3) -> StageReport:
    """Compares the stages that two programs wrote down; `original` counts as right.

    Args:
        model: the network between the stages: runs on the mended input.
        tolerance: of the network's outputs, the share of the largest value that may differ.

    Raises:
        Error: NotFound, IoError, CorruptModel; InvalidArgument. A difference is no error.
    """
    paths = _given.path_of(original, "original"), _given.path_of(port, "port")
    network = "" if model is None else _given.path_of(model, "model")
    return StageReport(_core.stage_diff(*paths, network, tolerance))


def stage_match(
    name: str, before: Any, after: Any, *, library: Any = None, **parameters: Any
) -> list[dict[str, Any]]:
    """Every convention that may have made `after` of `before`, the best first; of equals that of the library.

    Each is a dict: convention, code (a line of Python, or ""), reproduces, max_abs, differing.
    """
    arguments = _core.StageArguments()
    arguments.name = _given.text_of(name, "name")
    arguments.library = _library_words(library, after)
    arguments.parameters = [(key, _parameter(key, value)) for key, value in parameters.items()]
    arrays = [to_numpy(*ready(name, _plain(one))) for one in (before, after)]
    return _core.stage_match(arrays[0], arguments, arrays[1])
