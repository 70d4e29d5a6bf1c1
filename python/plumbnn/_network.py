# SPDX-License-Identifier: Apache-2.0
"""Networks: a model prepared on one device."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypedDict

from . import _core, _given, _html
from ._arrays import all_ready
from ._errors import Error
from ._given import Path
from ._model import Model, Shapes, Source, as_model, load_at
from ._types import Observer, Step, TensorInfo

if TYPE_CHECKING:
    import numpy as np
    from typing_extensions import Unpack

CPU_DEVICE: str = _core.cpu_device()  # "X86" or "ARM"


class DeviceOptions(TypedDict, total=False):
    """How a device runs a network; `Network` says what each means."""

    precision: str
    threads: int
    device_index: int
    fallback: bool
    unfuse: bool
    direct: bool


class NetworkOptions(DeviceOptions, total=False):
    """The same with input shapes, over the model's."""

    shapes: Shapes | None


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
    arguments.precision = _given.text_of(precision, "precision").upper()
    arguments.threads = _given.whole(threads, "threads")
    arguments.device_index = _given.whole(device_index, "device_index")
    arguments.fallback, arguments.unfuse, arguments.direct = bool(fallback), bool(unfuse), bool(direct)
    arguments.shapes = _given.shapes_of(shapes, "shapes")
    return arguments


OPTIONS = tuple(NetworkOptions.__annotations__)


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

    def __init__(
        self, model: Source | Model, device: str = CPU_DEVICE, **options: Unpack[NetworkOptions]
    ) -> None:
        _given.known(options, OPTIONS)
        arguments = device_arguments(**options)
        name = _given.one_device(device)
        self.model = as_model(model)
        self._network = _core.Network(self.model._graph, name, arguments)

    def run(self, inputs: Any = None, *, seed: int = 1) -> dict[str, Any]:
        """Runs all layers and returns the outputs by name, as numpy arrays of their own.

        Args:
            inputs: every network input by name, of its shape, or the array of the only one; floats
                of another width are converted, and memory is shared where nothing is. None: all
                are drawn by `seed`.

        Raises:
            Error: InvalidArgument for another name, shape or type; DeviceError.
            KeyboardInterrupt: Ctrl-C, between two layers.
        """
        arrays = _given.by_name(inputs, lambda: list(self.inputs))
        if inputs is not None and not arrays and self.inputs:
            raise Error("InvalidArgument", f"no value is given for {', '.join(self.inputs)}")
        return self._network.run(all_ready(arrays), _given.whole(seed, "seed"))

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
        return f"<plumbnn network {self.model.path!r} on {self.device}: {len(self.steps)} steps>"

    def _repr_html_(self) -> str:
        """For notebooks: the device, inputs and outputs, and the first steps."""
        few, steps = 20, self.steps
        title = f"<p><b>{_html.escaped(self.device)}</b>: {_html.escaped(self.description)}</p>"
        ports = [("input", n, f"{i.dtype} {list(i.shape)}") for n, i in self.inputs.items()]
        ports += [("output", name, "") for name in self.outputs]
        rows = [(s.index, s.name, s.type, s.kernel, s.detail) for s in steps[:few]]
        table = _html.table("index step type kernel detail", rows)
        return title + _html.table("kind name tensor", ports) + table + _html.more(len(steps), few, "steps")


def run(
    model: Source | Model,
    inputs: Any = None,
    device: str = CPU_DEVICE,
    *,
    seed: int = 1,
    **options: Any,
) -> dict[str, np.ndarray]:
    """`Network(model, device, **options).run(inputs)`: the outputs by name.

    A model whose input dims are open takes the shapes of the inputs. A torch.nn.Module is exported
    at the inputs.
    """
    network = Network(_at_size_of(inputs, model), device, **options)
    return network.run(inputs, seed=seed)


def _at_size_of(inputs: Any, model: Source | Model) -> Model:
    """The model at the shapes of the inputs."""
    if isinstance(model, Model):
        return model
    if inputs is None or isinstance(inputs, Mapping):
        arrays = all_ready(inputs or {})
        return load_at(model, inputs, open_shapes={n: a.shape for n, (a, _) in arrays.items()})
    # Of the only input, whose name nobody said.
    loaded = load_at(model, inputs)
    named = _given.by_name(inputs, lambda: list(loaded.inputs))
    array = all_ready(named)[next(iter(named))][0]
    if _given.is_module(model) or tuple(array.shape) == next(iter(loaded.inputs.values())).shape:
        return loaded
    return load_at(model, inputs, open_shapes={next(iter(named)): array.shape})


def dump(
    model: Source | Model,
    folder: Path,
    inputs: Any = None,
    device: str = CPU_DEVICE,
    *,
    format: str = "npy",
    layers: str | None = None,
    types: str | None = None,
    layer_inputs: bool = False,
    layer_outputs: bool = True,
    statistics_only: bool = False,
    compress: bool = False,
    seed: int = 1,
    **options: Unpack[NetworkOptions],
) -> str:
    """Runs the model once and writes what its layers computed into a dump folder.

    Args:
        folder: one that holds another process's dump is left alone, and FOLDER-2 taken; a second
            dump of this process into it goes to FOLDER/network-2.
        format: "npy", "text" (one value per line, as TNN) or "raw".
        layers: "conv*,/^fc[0-9]+$/,10-20": globs, regular expressions, index ranges. None: all.
        types: "Convolution,Pooling". None: all.
        layer_inputs, layer_outputs: which side of each layer.
        statistics_only: a manifest without the blobs. compress: with zstd.
        options: as `Network` has them.

    Returns:
        The folder that was written (doc/dump_format.md says what is in it).

    Raises:
        Error: those of `Network`; InvalidArgument for a filter; IoError, e.g. a full disk.
    """
    arguments = _core.DumpArguments()
    arguments.folder, arguments.format = _given.path_of(folder, "folder"), format
    arguments.layers, arguments.types = layers or "", types or ""
    arguments.inputs, arguments.outputs = layer_inputs, layer_outputs
    arguments.statistics_only, arguments.zstd = statistics_only, compress
    network = Network(_at_size_of(inputs, model), device, **options)
    network._network.add_dump(arguments)
    network.run(inputs, seed=seed)
    return network._network.dumped()
