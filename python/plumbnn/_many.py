# SPDX-License-Identifier: Apache-2.0
"""Many samples: which answers change, and which sample to look at."""

from __future__ import annotations

import contextlib
import glob
import math
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union

from . import _core, _executors, _given, _html
from ._arrays import all_ready, to_numpy
from ._check import check
from ._errors import Error
from ._given import Path
from ._model import Model, Source, as_model
from ._network import CPU_DEVICE, OPTIONS, DeviceOptions, device_arguments
from ._tools import tool

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._report import Report

# A folder, a .txt of paths, a .npz whose first axes count the samples; or inputs, one by one or by name.
Samples = Union[Path, Sequence[Any], Mapping[str, Any]]


TOLD_EVERY = 1.0  # seconds


class ManyReport:
    """What many samples showed.

    Attributes:
        samples: `name`, `error` (why it was not run, or ""), `changed` (the top-1 of some output),
            `output` (that differs most), `relative` (the largest difference over the largest value
            of the reference), `top1_device`, `top1_reference` (-1: no scores), `margin`, `moved`;
            changed ones first, then by `relative`, then those that could not be run.
        ran, agreed, failed: how many. interval: 95 % of the share that agrees (Wilson).
    """

    def __init__(self, report: _core.ManyReport, arguments: _core.ManyArguments, inputs: Any) -> None:
        self._report, self._arguments, self._inputs = report, arguments, inputs
        self.samples: list[_core.SampleResult] = list(report.samples)
        self.ran, self.agreed, self.failed = report.ran, report.agreed, report.failed
        self.interval: tuple[float, float] = (report.low, report.high)

    @property
    def worst(self) -> _core.SampleResult | None:
        """The sample that changed most, or None where none was run."""
        return self.samples[0] if self.ran else None

    def check_worst(self, **options: Any) -> Report:
        """`check` of the worst sample, layer by layer, on the device or of the subject."""
        if self.worst is None:
            raise Error("InvalidArgument", "none of the samples could be run")
        model, find = self._inputs
        given = {"subject": self._arguments.subject, "golden": self._arguments.golden}
        for what, dumps in given.items():
            if dumps:
                path, arrays = _core.tensors_of_sample(model._graph, dumps, self.worst.name)
                options[what] = path or arrays
        if not given["subject"]:
            options["device"] = self._arguments.device
        return check(model, inputs=find(self.worst.name), **options)

    def __str__(self) -> str:
        return self._report.text(self._arguments, 10).rstrip("\n")

    def __repr__(self) -> str:
        return f"<{self.ran} samples on {self._arguments.device}: {self.agreed} with the same answer>"

    def _repr_html_(self) -> str:
        few = 10
        rows = [
            (s.name, s.output, s.top1_reference, s.top1_device, f"{s.relative:.3g}", s.error)
            for s in self.samples[:few]
        ]
        head = "sample output reference device relative error"
        first = str(self).splitlines()[0]
        more = _html.more(len(self.samples), few, "samples")
        return f"<p>{_html.escaped(first)}</p>" + _html.table(head, rows) + more


def check_many(
    model: Source | Model,
    samples: Samples,
    device: str = CPU_DEVICE,
    *,
    results: Path | None = None,
    subject: Path | None = None,
    golden: Path | None = None,
    executor: str = "loop",
    workers: int | None = None,
    progress: Callable[[int, int, float], None] | None = None,
    **options: Unpack[DeviceOptions],
) -> ManyReport:
    """Runs many samples on the device and on the reference and compares the outputs.

    With `subject` or `golden` what they hold stands in the place of the device or of the reference.

    Args:
        model: a path or what `load` returned.
        samples: a folder (a file each, or a folder each with a file per input), a .txt of paths, a
            .npz whose arrays' first axis counts them; or a list or dict of inputs as `run` takes.
        device: as for `run`.
        results: a file of a JSON line per sample; what stands there is not run again.
        subject, golden: a folder with a dump for each sample, under its name; or, for the rows of a
            .npz, a .npz of outputs.
        executor: "loop": this process; "processes" of this machine or "ray", with so many
            `workers`: for them the model is a path. The results are the same bytes.
        progress: called every second, in a thread of its own, with how many samples are done, how
            many there are, and the seconds that are left (NaN: nothing tells).
        options: precision, threads, device_index, fallback, unfuse, direct (see `Network`).

    Raises:
        Error: those of `load` and `Network`; NotFound or InvalidArgument of samples. One that
            cannot be run is a result with its `error`.
        KeyboardInterrupt: Ctrl-C, between two samples; `results` holds what is done.
    """
    _given.known(options, OPTIONS)
    _executors.known(executor, workers)
    options.setdefault("threads", 1)
    loaded = as_model(model)
    arguments = _core.ManyArguments()
    arguments.device = "subject" if subject is not None else _given.one_device(device)
    arguments.subject = "" if subject is None else _given.path_of(subject, "subject")
    arguments.golden = "" if golden is None else _given.path_of(golden, "golden")
    arguments.options = device_arguments(**options)
    arguments.results = "" if results is None else os.path.abspath(_given.path_of(results, "results"))
    arguments.model = loaded.path
    find: Callable[[str], Any]
    if isinstance(samples, (str, os.PathLike)):
        arguments.path = _given.path_of(samples, "samples")
        batch = next((info.shape[0] for info in loaded.inputs.values() if info.shape), 1)

        def in_files(name: str) -> Any:
            files, arrays = _core.inputs_of_sample(arguments.path, name, batch)
            named = dict(file.split("=", 1) for file in files if "=" in file)
            return arrays or named or (files[0] if files else None)

        find = in_files
    else:
        given = dict(samples) if isinstance(samples, Mapping) else dict(enumerate(samples))
        by_name = {
            str(name): _given.by_name(value, lambda: list(loaded.inputs)) for name, value in given.items()
        }
        arguments.samples = [(name, all_ready(arrays)) for name, arrays in by_name.items()]
        find = by_name.__getitem__
    if executor != "loop" and not isinstance(model, (str, os.PathLike)):
        raise Error("InvalidArgument", f"executor '{executor}' starts programs: give the model as a path")
    with contextlib.ExitStack() as stack:
        if progress is not None or executor != "loop":
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            arguments.results = arguments.results or os.path.join(folder, "results.jsonl")
        if progress is not None:
            names = [name for name, _ in arguments.samples]
            names = names or _core.sample_names(loaded._graph, arguments.path)
            stack.enter_context(_told(progress, arguments.results, len(names)))
        if executor != "loop":
            path = arguments.path or _written(arguments.samples, os.path.join(folder, "samples"))
            _elsewhere(arguments, path, executor, workers)
        return ManyReport(_core.check_many(loaded._graph, arguments), arguments, (loaded, find))


@contextlib.contextmanager
def _told(progress: Callable[[int, int, float], None], results: str, count: int) -> Iterator[None]:
    """Counts the lines of the file of results, and of its parts, meanwhile."""

    def lines(path: str) -> int:
        with contextlib.suppress(OSError), open(path, "rb") as file:
            return file.read().count(b'"sample":')
        return 0

    def done() -> int:
        joined = lines(results)  # each part begins with what was known
        parts = (lines(path) - joined for path in glob.glob(glob.escape(results) + ".part-*"))
        return min(joined + sum(max(part, 0) for part in parts), count)

    began, before, ended = time.monotonic(), done(), threading.Event()

    def tell() -> None:
        now = before
        while not ended.wait(TOLD_EVERY):
            now = max(now, done())  # parts may be joined and removed while they are counted
            each = (time.monotonic() - began) / (now - before) if now > before else math.nan
            progress(now, count, (count - now) * each)

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _written(samples: Sequence[tuple[str, Mapping[str, Any]]], folder: str) -> str:
    """A folder for each sample, with a file for each input."""
    import numpy as np

    for name, arrays in samples:
        os.makedirs(os.path.join(folder, _file_name(name)))
        for of, array in arrays.items():
            np.save(os.path.join(folder, name, _file_name(of) + ".npy"), to_numpy(*array))
    return folder


def _file_name(name: str) -> str:
    if "/" in name or name.startswith("."):
        raise Error("InvalidArgument", f"executor: '{name}' cannot be a file's name; give the samples as files")
    return name


def _elsewhere(arguments: _core.ManyArguments, path: str, executor: str, workers: int | None) -> None:
    """Leaves the lines of all samples in the file of results."""
    given = arguments.options
    command = [tool("model_check"), "-m", arguments.model, "--inputs", path, "--samples-only", "-q"]
    command += ["--results", arguments.results, "--executor", executor]
    command += ["--workers", str(workers or os.cpu_count() or 1)]
    command += ["--precision", given.precision, "--threads", str(given.threads)]
    command += ["--device-index", str(given.device_index)] if given.device_index else []
    command += ["--fallback"] if given.fallback else []
    command += ["--algorithms", "direct"] if given.direct else []
    command += ["--golden", arguments.golden] if arguments.golden else []
    command += ["--subject", arguments.subject] if arguments.subject else ["-d", arguments.device]
    environment = {**os.environ, "PLUMB_PYTHON": sys.executable}
    if given.unfuse:
        environment["DUMP_BLOB_UNFUSE"] = "1"
    ended = subprocess.run(command, env=environment, text=True, capture_output=True, check=False)
    of_samples = "could not be run" in ended.stdout or "could be run" in ended.stdout  # each says it for itself
    if ended.returncode != 0 and not of_samples:
        said = (ended.stderr.strip().splitlines() or [f"exit code {ended.returncode}"])[-1]
        raise Error("InvalidArgument", f"model_check: {said.removeprefix('error: ')}")
