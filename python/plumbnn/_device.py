# SPDX-License-Identifier: Apache-2.0
"""Checks on other machines: the tool `device_check`, called, and its JSON."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Union

from ._arrays import Saved, all_ready
from ._errors import Error
from ._given import Path
from ._model import Shapes
from ._report import LayerReport
from ._text import printable
from ._tools import tool

Names = Union[str, Sequence[str]]
_CODES = {2: "InvalidArgument", 3: "NotFound"}


class MachineReport:
    """What one machine reported.

    Attributes:
        machine: "adb SERIAL", "ssh HOST" or "this machine".
        device: with judge="here" and several devices: the one of this report; else "".
        verdict: "aligned", "grey", "wrong", "not tested" or "error"; exit_code: `model_check`'s.
        summary: its last line, or what went wrong.
        layers: of all devices of the machine. first_wrong: the first guilty one, or None.
        json: what `model_check --json` wrote, or None where it did not get so far.
    """

    def __init__(self, data: dict[str, Any]) -> None:
        self.machine: str = data["machine"]
        self.device: str = data.get("device", "")
        self.verdict: str = data["verdict"]
        self.exit_code: int = data["exit_code"]
        self.summary: str = printable(data["summary"])
        self.json: dict[str, Any] | None = data["report"]
        runs = self.json["runs"] if self.json else []
        self.layers = [LayerReport(run["device"], layer) for run in runs for layer in run["layers"]]
        wrong = (layer for layer in self.layers if layer.verdict == "wrong")
        self.first_wrong: LayerReport | None = next(wrong, None)

    def __repr__(self) -> str:
        return f"<{self.name}: {self.verdict}>"

    @property
    def name(self) -> str:
        """The machine, and the device where there is one."""
        return f"{self.machine}, {self.device}" if self.device else self.machine


class DeviceReport:
    """What all machines of one call reported; `text` is what was printed."""

    def __init__(self, data: dict[str, Any], text: str) -> None:
        self.exit_code: int = data["exit_code"]
        self.machines = [MachineReport(machine) for machine in data["machines"]]
        self.text = text

    @property
    def aligned(self) -> bool:
        """Whether every machine answered, and nothing is wrong."""
        return self.exit_code == 0

    @property
    def verdicts(self) -> dict[str, str]:
        """By machine, or by "machine, device" where each device has a report of its own."""
        return {machine.name: machine.verdict for machine in self.machines}

    def __iter__(self) -> Iterator[MachineReport]:
        return iter(self.machines)

    def __str__(self) -> str:
        return "\n".join(machine.summary for machine in self.machines)


def device_check(
    model: Path,
    devices: Names = "ALL",
    inputs: Path | Mapping[str, Any] | None = None,
    *,
    adb: Names = (),
    ssh: Names = (),
    judge: str = "there",
    program: str | None = None,
    push: Sequence[Path] = (),
    runner: str | None = None,
    binaries: Path | None = None,
    weights: Path | None = None,
    shapes: Shapes | None = None,
    seed: int = 1,
    layers: Sequence[str] = (),
    options: Sequence[str] = (),
) -> DeviceReport:
    """Checks the model on phones and boards (doc/on_device.md); without them on this machine.

    Args:
        model, weights, shapes, seed, layers: as `check` has them.
        devices: "ARM", a list, or "ALL": those present there but NAIVE.
        inputs: arrays or files by network input, or one file.
        adb, ssh: serials; hosts.
        judge: "there", or "here" what is dumped there. program, push: a command line of yours
            there that dumps, and the files that it needs.
        runner, binaries: an emulator in front of the programs there; where these lie here.
        options: more words of the command line: ["--threads", "2"].

    Raises:
        Error: nothing could be asked of any machine. What goes wrong on one is its `summary`,
            and its verdict "error".
    """
    saved = Saved()
    words = ["-m" if weights is None else "-p", os.fspath(model)]
    words += [] if weights is None else ["-m", os.fspath(weights)]
    words += _input_words(inputs, saved)
    for name, shape in (shapes or {}).items():
        words += ["--shape", f"{name}={','.join(map(str, shape))}"]
    words += _each("--adb", adb) + _each("--ssh", ssh) + _each("--layers", layers)
    words += [f"--seed={seed}"] if seed != 1 else []
    words += [f"--runner={runner}"] if runner else []
    words += [f"--binaries={os.fspath(binaries)}"] if binaries else []
    if program:
        words += [f"--program={program}"] + _each("--push", [os.fspath(path) for path in push])
    else:
        words += ["-d", devices if isinstance(devices, str) else ",".join(devices)]
        words += [f"--judge={judge}"] if judge != "there" else []
    saved.write()
    with tempfile.TemporaryDirectory(prefix="plumbnn_") as folder:
        path = os.path.join(folder, "report.json")
        ran = subprocess.run(
            [tool("device_check"), *words, *options, "--json", path],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            check=False,
        )
        if not os.path.exists(path):
            said = [line for line in ran.stderr.splitlines() if line.startswith("error: ")]
            why = said[-1][len("error: ") :] if said else f"device_check: {ran.returncode}"
            raise Error(_CODES.get(ran.returncode, "DeviceError"), why)
        with open(path, encoding="utf-8") as file:
            return DeviceReport(json.load(file), ran.stdout)


def _each(option: str, values: Names) -> list[str]:
    listed = [values] if isinstance(values, str) else values
    return [f"{option}={value}" for value in listed]


def _input_words(inputs: Path | Mapping[str, Any] | None, saved: Saved) -> list[str]:
    if inputs is None:
        return []
    if not isinstance(inputs, Mapping):
        return ["-i", os.fspath(inputs)]
    files = {name: value for name, value in inputs.items() if isinstance(value, (str, os.PathLike))}
    words = [word for name, value in files.items() for word in ("-i", f"{name}={os.fspath(value)}")]
    arrays = all_ready({name: value for name, value in inputs.items() if name not in files})
    return words + (["-i", saved.add(arrays)] if arrays else [])
