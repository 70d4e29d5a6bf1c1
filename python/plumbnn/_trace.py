# SPDX-License-Identifier: Apache-2.0
"""Whether what an exporter keeps of a PyTorch module still computes what the module computes."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import os
from collections.abc import Callable, Sequence
from typing import Any

from ._errors import Error
from ._exports import WAYS, burnt, export, run_copied

TOLERANCE = 1e-4  # of a tensor's largest value
STATEFUL = ("BatchNorm", "Dropout", "InstanceNorm")  # that compute otherwise in training


@dataclasses.dataclass
class TraceFinding:
    """One way that differs: `way`, on which `run`, from which `module` on, why, and by how much."""

    way: str
    run: str
    module: str
    cause: str
    where: str = ""
    difference: float = float("nan")

    def __str__(self) -> str:
        place = f" ({self.where})" if self.where else ""
        return f"{self.way}, {self.run}: '{self.module or 'the module'}': {self.cause}{place}"


@dataclasses.dataclass
class TraceReport:
    """What `trace_check` found.

    Attributes:
        ways: what was run beside the module. runs: on what. findings: one per way that differs.
        notes: what could not be run, and why.
    """

    ways: list[str]
    runs: list[str]
    findings: list[TraceFinding]
    notes: list[str]

    @property
    def ok(self) -> bool:
        return not self.findings and bool(self.ways)

    def __str__(self) -> str:
        lines = [str(finding) for finding in self.findings] + [f"note: {n}" for n in self.notes]
        ways = ", ".join(self.ways)
        verdict = "ALIGNED" if self.ok else "DIFFERENT" if self.findings else "NOT TESTED"
        return "\n".join([*lines, f"{verdict}: {ways or 'no way'} on {', '.join(self.runs)}"])


def _tensors(value: Any) -> list[Any]:
    """The tensors of nested tuples, lists and dicts, in order."""
    import torch

    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [t for item in value for t in _tensors(item)] if isinstance(value, (tuple, list)) else []


def _difference(a: Any, b: Any) -> float:
    """The largest difference over the largest value; infinite for other shapes."""
    mine, other = _tensors(a), _tensors(b)
    if len(mine) != len(other):
        return float("inf")
    worst = 0.0
    for x, y in zip(mine, other):
        if x.shape != y.shape:
            return float("inf")
        x, y = x.detach().double(), y.detach().double()
        if not bool((x.isnan() == y.isnan()).all()):
            return float("inf")
        if x.numel():
            largest = max(float(x.nan_to_num().abs().max()), 1e-30)
            worst = max(worst, float((x - y).nan_to_num().abs().max()) / largest)
    return worst


def _other_values(x: Any) -> Any:
    """Another input of the same shape and about the same range, of the other sign."""
    return -x.flip(-1) if x.is_floating_point() and x.dim() else x.flip(-1) if x.dim() else x


def _other_shape(x: Any, which: str) -> Any:
    """The batch twice, or an image that is larger on each side."""
    if which == "batch" or x.dim() < 3:
        return x.repeat(2, *[1] * (x.dim() - 1)) if x.dim() else x
    sizes = [1 if d < 2 else -(-(n + 8 if x.dim() > 3 else n + 3) // n) for d, n in enumerate(x.shape)]
    wanted = [n if d < 2 else n + (8 if x.dim() > 3 else 3) for d, n in enumerate(x.shape)]
    return x.repeat(*sizes)[tuple(slice(n) for n in wanted)]


def _runs(module: Any, inputs: tuple[Any, ...], more: Sequence[Any]) -> dict[str, tuple[Any, ...]]:
    """The inputs by name: those given, and other values and shapes that the module itself takes."""
    runs = {"the given input": inputs}
    made = {"another input": tuple(_other_values(x) for x in inputs)}
    for which in ("batch", "size"):
        shaped = tuple(_other_shape(x, which) for x in inputs)
        if any(a.shape != b.shape for a, b in zip(shaped, inputs)):
            made[f"another {which}"] = shaped
    for i, other in enumerate(more):
        runs[f"given input {i + 2}"] = _checked_inputs(module, other, f"more[{i}]")
    for name, given in made.items():
        with contextlib.suppress(Exception):
            run_copied(module, given)
            runs[name] = given
    return runs


def _checked_inputs(module: Any, inputs: Any, what: str) -> tuple[Any, ...]:
    import torch

    given: tuple[Any, ...] = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    if not given or not all(isinstance(x, torch.Tensor) for x in given):
        raise Error("InvalidArgument", f"{what}: expected tensors")
    try:
        run_copied(copy.deepcopy(module), given)
    except Exception as error:
        raise Error("InvalidArgument", f"the module cannot run on the inputs ({what}): {error}") from error
    return given


def _made_from(way: str, runs: dict[str, tuple[Any, ...]]) -> tuple[Any, ...]:
    """torch.export takes every size of 1 for a constant, so that a batch of one tells it nothing."""
    given = runs["the given input"]
    return runs.get("another batch", given) if way == "exported" else given


def _cause(run: str, said: list[str]) -> tuple[str, str]:
    """In words what a difference on this run is, and the line of code that the tracer named."""
    branch = next((s for s in said if "Python boolean" in s), "")
    number = next((s for s in said if s != branch), "")
    if run == "the given input":
        return "computes something else on the very input it was made from", ""
    if run.startswith("another input") or run.startswith("given input"):
        what = "a branch is burnt in" if branch else "a value is burnt in"
        return f"{what}: the same on the input it was made from", (branch or number).partition("|")[0]
    what = "a branch on the shape is burnt in" if branch and not number else "a shape is burnt in"
    return f"{what}: the same on the shape it was made from", (number or branch).partition("|")[0]


def _record(module: Any, inputs: tuple[Any, ...]) -> list[tuple[str, Any, tuple[Any, ...], Any]]:
    """(name, submodule, what it read, what it returned), in the order in which they end. Copies: what comes behind a
    module may write into what it returned."""
    import torch

    calls: list[tuple[str, Any, tuple[Any, ...], Any]] = []
    running: list[tuple[Any, ...]] = []
    handles = []
    for name, part in module.named_modules():

        def begin(part: Any, read: Any) -> None:
            running.append(tuple(x.clone() if isinstance(x, torch.Tensor) else x for x in read))

        def end(part: Any, read: Any, out: Any, name: str = name) -> None:
            calls.append((name, part, running.pop(), [t.clone() for t in _tensors(out)]))

        handles += [part.register_forward_pre_hook(begin), part.register_forward_hook(end)]
    try:
        run_copied(module, inputs)
    finally:
        for handle in handles:
            handle.remove()
    return calls


def _first_module(way: str, module: Any, made_from: Any, run_on: Any) -> tuple[str, list[str]]:
    """The first submodule that differs by itself, made from what it read in one run and run on what it read in the
    other; and what the tracer said of it."""
    import torch

    first = {name: read for name, _, read, _ in reversed(_record(module, made_from))}
    for name, part, read, out in _record(module, run_on):
        plain = all(isinstance(x, torch.Tensor) for x in (*read, *first.get(name, (None,))))
        if not plain or not read:
            continue
        try:
            with burnt() as said, torch.no_grad():
                again = run_copied(export(way, part, first[name]), read)
        except Exception:
            return name, said
        if not _difference(again, out) <= TOLERANCE:
            return name, said
    return "", []


def _forgotten_eval(module: Any, runs: dict[str, tuple[Any, ...]]) -> list[TraceFinding]:
    """Modules in training mode that compute otherwise in evaluation."""
    training = [(n, m) for n, m in module.named_modules() if m.training and not list(m.children())]
    stateful = [(n, m) for n, m in training if type(m).__name__.startswith(STATEFUL)]
    inputs = runs["the given input"]
    as_is, ready = run_copied(copy.deepcopy(module), inputs), run_copied(copy.deepcopy(module).eval(), inputs)
    difference = _difference(as_is, ready)
    if difference <= TOLERANCE or not training:
        return []
    name, kind = stateful[0] if stateful else training[0]
    cause = f"forgotten eval(): {type(kind).__name__} is in training mode, as are {len(training) - 1} others"
    return [TraceFinding("eager", "the given input", name, cause, "", difference)]


def _check_way(
    way: str, module: Any, runs: dict[str, tuple[Any, ...]], call: Callable[..., Any], said: list[str]
) -> TraceFinding | None:
    made_from = _made_from(way, runs)
    for run, given in runs.items():
        wanted = run_copied(module, given)
        try:
            found, failed = run_copied(call, given), ""
        except Exception as error:
            found, failed = None, " ".join(str(error).split())[:200]
        difference = float("inf") if failed else _difference(wanted, found)
        if difference <= TOLERANCE:
            continue
        where, own = _first_module(way, module, made_from, given) if way in WAYS else ("", [])
        cause, line = _cause(run, own or said)
        if failed:
            cause = f"{cause}; it fails: {failed}"
        return TraceFinding(way, run, where, cause, line, difference)
    return None


def trace_check(
    module: Any,
    inputs: Any,
    *,
    more: Sequence[Any] = (),
    ways: Sequence[str] = WAYS,
    script: str | os.PathLike[str] | None = None,
) -> TraceReport:
    """Runs a torch.nn.Module, and beside it what tracing, torch.export and ONNX keep of it.

    Each is made from `inputs` and run on these, on other values, on another batch and on another
    size where the module takes them, and on each of `more`. Of each way that differs the first
    module is named that differs by itself, with what was burnt in and the line of code where the
    tracer says it. `script`: a TorchScript file that is compared, too (loading one runs no pickle
    of its writer).

    Raises:
        Error: the module itself cannot run on the inputs or on one of `more`, or `script` is no
            TorchScript file.
    """
    import torch

    for way in ways:
        if way not in WAYS:
            raise Error("InvalidArgument", f"ways are {', '.join(WAYS)}, found '{way}'")
    calls: dict[str, tuple[Callable[..., Any], list[str]]] = {}
    if script is not None:
        try:
            scripted: Any = torch.jit.load(os.fspath(script), map_location="cpu").eval()
        except Exception as error:
            why = " ".join(str(error).split())[:200]
            raise Error("InvalidArgument", f"'{os.fspath(script)}' is no TorchScript file: {why}") from error
    inputs = _checked_inputs(module, inputs, "inputs")
    ready = copy.deepcopy(module).eval()
    runs = _runs(ready, inputs, more)
    report = TraceReport([], list(runs), _forgotten_eval(module, runs), [])
    for way in ways:
        try:
            with burnt() as said, torch.no_grad():
                made = export(way, ready, _made_from(way, runs))
            calls[way] = (made, said)
        except Exception as error:
            why = " ".join(str(error).split())[:200]
            report.notes.append(f"{way}: the module cannot be made into it: {why}")
    if script is not None:
        calls["file"] = (scripted, [])
    for way, (call, said) in calls.items():
        report.ways.append(way)
        finding = _check_way(way, ready, runs, call, said)
        if finding is not None:
            report.findings.append(finding)
    return report
