# SPDX-License-Identifier: Apache-2.0
"""The small values that the functions hand out."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


@dataclasses.dataclass(frozen=True)
class Device:
    """A device that Plumb knows, on this machine."""

    name: str
    """ "X86" """
    present: bool
    description: str
    """Where present: CPU, driver, versions; else why it is not, and how to install it."""
    adapters: list[str]
    """Of OPENCL and VULKAN: every GPU or driver, as `device_index` counts them."""


@dataclasses.dataclass(frozen=True)
class TensorInfo:
    """A network input: its element type ("f32", "i64", ...) and its shape."""

    dtype: str
    shape: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class FileTensor:
    """A tensor as a .tflite numbers and names it: real = scale * (q - zero_point)."""

    graph: int
    """The subgraph that it belongs to."""
    index: int
    name: str
    type: str
    """The format's own word, e.g. "INT8"."""
    shape: tuple[int, ...]
    """-1: open."""
    scale: list[float]
    """None, one, or one for each element along `axis`; so is `zero_point`."""
    zero_point: list[int]
    axis: int
    buffer: int
    bytes: int
    """Of the buffer; 0: computed or given."""


@dataclasses.dataclass(frozen=True)
class Signature:
    """A way to run a .tflite: one of its subgraphs, and its names for that one's tensors."""

    name: str
    graph: int
    inputs: dict[str, str]
    """The signature's word for a tensor, and the tensor's own name; so are `outputs`."""
    outputs: dict[str, str]


@dataclasses.dataclass(frozen=True)
class Layer:
    """A layer of a model; `inputs` and `outputs` are blobs, `nodes` names in the source model."""

    index: int
    name: str
    type: str
    inputs: list[str]
    outputs: list[str]
    nodes: list[str]
    parameters: dict[str, str]
    weights: dict[str, np.ndarray] = dataclasses.field(repr=False)


@dataclasses.dataclass(frozen=True)
class Port:
    """A blob that a step reads or writes."""

    blob: str
    dtype: str
    shape: tuple[int, ...]
    layout: str
    constant: bool


@dataclasses.dataclass(frozen=True)
class Step:
    """What a device runs at once: a layer, or several that it fused.

    It has the index and the name of its last member; `members` are (index, name, type).
    """

    index: int
    name: str
    type: str
    device: str
    kernel: str
    detail: str
    fallback: bool
    members: list[tuple[int, str, str]]
    nodes: list[str]
    inputs: list[Port]
    outputs: list[Port]


class Observer:
    """What a network calls around each step; override what you need.

    Watching changes no bit of the result. An exception ends the run and comes out of it. The
    methods are called on the thread that runs the network, one at a time.

        class Largest(plumbnn.Observer):
            def after(self, event):
                print(event.step.name, abs(event.output(0)).max())

        network.watch(Largest())
    """

    def wants(self, step: Step, forward: int) -> bool:
        """Whether `before` and `after` are called for this step of run number `forward`."""
        return True

    def forward_begin(self, forward: int) -> None:
        """A run begins."""

    def before(self, event: Any) -> None:
        """A step is about to run: `event.step`, `event.forward`, `event.input(i)`."""

    def after(self, event: Any) -> None:
        """It ran: also `event.output(i)`, a dense array in logical order, and `event.seconds`."""

    def forward_end(self, forward: int) -> None:
        """All steps ran."""
