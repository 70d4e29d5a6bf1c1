# SPDX-License-Identifier: Apache-2.0
"""Models x devices x precisions x seeds, each a `check_many` in a process of its own, here or on a Ray cluster."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Union

from . import _executors
from ._errors import Error
from ._many import Samples, check_many
from ._model import load

# Drawn from the seed, where it is a number.
SweepSamples = Union[int, Samples]


@dataclasses.dataclass(frozen=True)
class SweepRow:
    """One job: what it was, and what `check_many` found. `error`: why nothing was found, or ""."""

    model: str
    device: str
    precision: str
    seed: int
    ran: int = 0
    agreed: int = 0
    failed: int = 0
    low: float = 0.0
    high: float = 1.0
    worst: str = ""
    relative: float = 0.0
    error: str = ""


@dataclasses.dataclass
class SweepReport:
    """Rows in the order of models, devices, precisions and seeds, whatever the workers."""

    rows: list[SweepRow]

    @property
    def ok(self) -> bool:
        """Whether every job ran, and every answer is the reference's."""
        return all(not row.error and row.ran and row.agreed == row.ran for row in self.rows)

    def to_json(self) -> str:
        """A line per row; the same bytes for the same jobs."""
        lines = []
        for row in self.rows:
            fields = dataclasses.asdict(row)
            if not math.isfinite(row.relative):
                fields["relative"] = "inf"
            lines.append(json.dumps(fields, sort_keys=True) + "\n")
        return "".join(lines)

    def __str__(self) -> str:
        lines = []
        for row in self.rows:
            job = f"{row.model} {row.device} {row.precision} seed {row.seed}"
            share = f"{row.agreed} of {row.ran} ({100 * row.low:.1f} to {100 * row.high:.1f} %)"
            lines.append(f"{job}: {row.error or share}")
        return "\n".join(lines)


def _drawn(model: Any, count: int, seed: int) -> dict[str, dict[str, Any]]:
    """Inputs uniform in [-1, 1), by the name of the sample."""
    import numpy as np

    random = np.random.default_rng(seed)
    return {
        str(i): {
            name: random.uniform(-1, 1, info.shape).astype(np.float32)
            for name, info in model.inputs.items()
        }
        for i in range(count)
    }


def _job(row: SweepRow, samples: SweepSamples, options: dict[str, Any]) -> SweepRow:
    """What a worker does; an error of ours is a row, too."""
    try:
        model = load(row.model, seed=row.seed)
        given = _drawn(model, samples, row.seed) if isinstance(samples, int) else samples
        many = check_many(model, given, row.device, precision=row.precision, **options)
    except Error as error:
        return dataclasses.replace(row, error=str(error))
    worst = many.worst
    return dataclasses.replace(
        row,
        ran=many.ran,
        agreed=many.agreed,
        failed=many.failed,
        low=many.interval[0],
        high=many.interval[1],
        worst=worst.name if worst else "",
        relative=worst.relative if worst else 0.0,
    )


def _died(row: SweepRow, why: str) -> SweepRow:
    return dataclasses.replace(row, error=why)


def sweep(
    models: Sequence[Any],
    samples: SweepSamples,
    *,
    devices: Sequence[str] = ("X86",),
    precisions: Sequence[str] = ("HIGH",),
    seeds: Sequence[int] = (1,),
    workers: int | None = None,
    executor: str = "processes",
    progress: Callable[[int, float], None] | None = None,
    **options: Any,
) -> SweepReport:
    """`check_many` of every model on every device, in every precision and with every seed.

    A script that calls it with "processes" does so under `if __name__ == "__main__":`, since each
    process imports the script.

    Args:
        models: paths. samples: as for `check_many`, or a number of inputs to draw from the seed.
        seeds: of drawn inputs, and of weights where a model has none.
        workers: at most so many at once; default: one per CPU. executor: "processes" of this
            machine; "ray": the cluster that Ray is connected to; "loop": here, one by one.
        progress: called with the number of jobs and the seconds when all are done.
        options: threads, fallback ... of `check_many`.

    Raises:
        Error: InvalidArgument, or NotSupported where Ray is not installed. A job that cannot run is
            a row with its `error`.
    """
    _executors.known(executor, workers)
    if isinstance(samples, int) and samples < 1:
        raise Error("InvalidArgument", f"samples: expected a number from 1 on, found {samples}")
    if isinstance(samples, Iterator):
        samples = list(samples)  # every job takes all of them
    jobs = [
        SweepRow(os.fspath(model), device, precision, seed)
        for model, device, precision, seed in itertools.product(models, devices, precisions, seeds)
    ]
    if not jobs:
        raise Error("InvalidArgument", "nothing to do: models, devices, precisions and seeds each need one")
    began = time.monotonic()
    work = functools.partial(_job, samples=samples, options=options)
    rows = _executors.run(work, jobs, _died, executor, workers)
    if progress is not None:
        progress(len(jobs), time.monotonic() - began)
    return SweepReport(rows)
