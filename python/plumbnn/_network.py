"""Networks: a model prepared on one device."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from . import _core
from ._arrays import all_ready
from ._errors import Error
from ._model import Model, Path, Shapes, as_model, load
from ._types import Observer, Step, TensorInfo

if TYPE_CHECKING:
    import numpy as np

CPU_DEVICE: str = _core.cpu_device()  # "X86" or "ARM"


def device_arguments(
    *,
    precision: str = "HIGH",
    threads: int = 0,
    device_index: int = 0,
    fallback: bool = False,
    unfuse: bool = False,
    direct: bool = False,
    shapes: Shapes | None = None,
) -> _core.DeviceArguments:
    arguments = _core.DeviceArguments()
    arguments.precision, arguments.threads = precision.upper(), threads
    arguments.device_index, arguments.fallback = device_index, fallback
    arguments.unfuse, arguments.direct = unfuse, direct
    arguments.shapes = {name: list(shape) for name, shape in (shapes or {}).items()}
    return arguments


class Network:
    """A model prepared on one device for fixed input shapes.

    It serves one thread at a time, a second one waits; several networks run at once.

    Args:
        model: a path or what `load` returned.
        device: "NAIVE", "X86", "ARM", "OPENCL", "VULKAN"; the default is that of this CPU.
        precision: "HIGH" (f32), "NORMAL" (f16 storage) or "LOW".
        threads: 0: all CPUs; the last one set counts for the whole process.
        device_index: which of several OPENCL or VULKAN adapters.
        fallback: let NAIVE run the layers that the device lacks.
        unfuse: one kernel per layer.
        direct: sums of products as they are defined, no Winograd.
        shapes: of inputs, over the model's.

    Raises:
        Error: NotFound for a device that is not there, NotSupported with every layer that it
            cannot run; otherwise those of `load`.
    """

    def __init__(self, model: Path | Model, device: str = CPU_DEVICE, **options: Any) -> None:
        arguments = device_arguments(**options)
        self.model = as_model(model)
        self._network = _core.Network(self.model._graph, device.upper(), arguments)

    def run(self, inputs: Mapping[str, Any] | None = None, *, seed: int = 1) -> dict[str, Any]:
        """Runs all layers and returns the outputs by name, as numpy arrays of their own.

        Args:
            inputs: every network input by name, of its shape; floats of another width are
                converted, and memory is shared where nothing is. None: all are drawn by `seed`.

        Raises:
            Error: InvalidArgument for another name, shape or type; DeviceError.
            KeyboardInterrupt: Ctrl-C, between two layers.
        """
        if inputs is not None and not inputs and self.inputs:
            raise Error("InvalidArgument", f"no value is given for {', '.join(self.inputs)}")
        return self._network.run(all_ready(inputs or {}), seed)

    def watch(self, observer: Observer) -> None:
        """From now on the observer is called around each step of every run."""
        self._network.watch(observer)

    def unwatch(self, observer: Observer) -> None:
        """It is called no more. One that was never added is no error."""
        self._network.unwatch(observer)

    @property
    def inputs(self) -> dict[str, TensorInfo]:
        """What `run` wants, by name."""
        found = self._network.inputs().items()
        return {name: TensorInfo(dtype, tuple(shape)) for name, (dtype, shape) in found}

    @property
    def outputs(self) -> list[str]:
        """The names of what `run` returns."""
        return self._network.outputs()

    @property
    def steps(self) -> list[Step]:
        """What the device runs, in order: kernels, layouts, what was fused."""
        return self._network.steps()

    @property
    def device(self) -> str:
        """The device's name."""
        return self._network.device()

    @property
    def description(self) -> str:
        """CPU, driver, versions."""
        return self._network.description()

    def __repr__(self) -> str:
        return f"<plumbnn network {self.model.path!r} on {self.device}>"


def run(
    model: Path | Model,
    inputs: Mapping[str, Any] | None = None,
    device: str = CPU_DEVICE,
    *,
    seed: int = 1,
    **options: Any,
) -> dict[str, np.ndarray]:
    """`Network(model, device, **options).run(inputs)`: the outputs by name.

    A model whose input dims are open takes the shapes of the inputs.
    """
    network = Network(_at_size_of(inputs, model), device, **options)
    return network.run(inputs, seed=seed)


def _at_size_of(inputs: Mapping[str, Any] | None, model: Path | Model) -> Model:
    if isinstance(model, Model):
        return model
    arrays = all_ready(inputs or {})
    return load(model, open_shapes={name: array.shape for name, (array, _) in arrays.items()})


def dump(
    model: Path | Model,
    folder: Path,
    inputs: Mapping[str, Any] | None = None,
    device: str = CPU_DEVICE,
    *,
    format: str = "npy",
    layers: str = "",
    types: str = "",
    layer_inputs: bool = False,
    layer_outputs: bool = True,
    statistics_only: bool = False,
    compress: bool = False,
    seed: int = 1,
    **options: Any,
) -> str:
    """Runs the model once and writes what its layers computed into a dump folder.

    Args:
        folder: one that holds another process's dump is left alone, and FOLDER-2 taken; a second
            dump of this process into it goes to FOLDER/network-2.
        format: "npy", "text" (one value per line, as TNN) or "raw".
        layers: "conv*,/^fc[0-9]+$/,10-20": globs, regular expressions, index ranges. "": all.
        types: "Convolution,Pooling". "": all.
        layer_inputs, layer_outputs: which side of each layer.
        statistics_only: a manifest without the blobs. compress: with zstd.
        options: as `Network` has them.

    Returns:
        The folder that was written (doc/dump_format.md says what is in it).

    Raises:
        Error: those of `Network`; InvalidArgument for a filter; IoError, e.g. a full disk.
    """
    arguments = _core.DumpArguments()
    arguments.folder, arguments.format = os.fspath(folder), format
    arguments.layers, arguments.types = layers, types
    arguments.inputs, arguments.outputs = layer_inputs, layer_outputs
    arguments.statistics_only, arguments.zstd = statistics_only, compress
    network = Network(_at_size_of(inputs, model), device, **options)
    network._network.add_dump(arguments)
    network.run(inputs, seed=seed)
    return network._network.dumped()
