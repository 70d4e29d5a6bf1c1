# SPDX-License-Identifier: Apache-2.0
"""Models in and out, and the devices of this machine."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Union

from . import _core, _given, _html
from ._arrays import all_ready
from ._errors import Error
from ._given import Path
from ._tensors import SUFFIXES, tensors
from ._types import Device, FileTensor, Layer, Signature, TensorInfo

Source = Union[Path, bytes, Any]  # a path, an .onnx as bytes, or a torch.nn.Module
Shapes = Mapping[str, Sequence[int]]


class Model:
    """A loaded model, the same for every device. Made by `load`; immutable, for any thread."""

    def __init__(
        self,
        graph: _core.Graph,
        arguments: _core.ModelArguments,
        memory: _given.InMemory | None = None,
    ) -> None:
        self._graph, self._arguments, self._memory = graph, arguments, memory

    @property
    def path(self) -> str:
        """The file that it was loaded from."""
        return self._arguments.structure

    @property
    def inputs(self) -> dict[str, TensorInfo]:
        """The network inputs by name."""
        found = self._graph.inputs().items()
        return {name: TensorInfo(dtype, tuple(shape)) for name, (dtype, shape) in found}

    @property
    def outputs(self) -> list[str]:
        """The names of the network outputs."""
        return self._graph.outputs()

    @property
    def file_tensors(self) -> list[FileTensor]:
        """Every tensor of a .tflite in its order, also those that no layer of ours has.

        Raises:
            Error: NotSupported where the format does not number its tensors.
        """
        return [FileTensor(**tensor) for tensor in _core.file_tensors(self.path)]

    @property
    def signatures(self) -> list[Signature]:
        """The ways to run a .tflite, of which `load` takes one by its name.

        Raises:
            Error: NotSupported where the format has none.
        """
        return [Signature(**signature) for signature in _core.file_signatures(self.path)]

    @property
    def layers(self) -> list[Layer]:
        """In execution order, with parameters and weights."""
        return [Layer(**layer) for layer in self._graph.layers()]

    @property
    def notes(self) -> list[str]:
        """Sentences about the file that a reader should see; nothing in them is an error."""
        return self._graph.notes()

    @property
    def weights_generated(self) -> bool:
        """Whether weights were drawn because the model has none."""
        return self._graph.weights_generated()

    def __repr__(self) -> str:
        where = "in memory" if self._memory is not None else repr(self.path)
        inputs = ", ".join(f"{name} {list(info.shape)}" for name, info in self.inputs.items())
        return f"<plumbnn model {where}: {inputs} -> {', '.join(self.outputs)}>"

    def _repr_html_(self) -> str:
        """For notebooks: inputs, outputs, and how many layers of each type there are."""
        types: dict[str, int] = {}
        for layer in self.layers:
            types[layer.type] = types.get(layer.type, 0) + 1
        ports = [("input", n, f"{i.dtype} {list(i.shape)}") for n, i in self.inputs.items()]
        ports += [("output", name, "") for name in self.outputs]
        counts = sorted(types.items(), key=lambda one: -one[1])
        title = f"<p><b>{_html.escaped('in memory' if self._memory else self.path)}</b></p>"
        notes = "".join(f"<p>{_html.escaped(note)}</p>" for note in self.notes[:5])
        tables = _html.table("kind name tensor", ports) + _html.table("type layers", counts)
        return title + tables + notes


def arguments_of(
    path: str,
    weights: Path | None,
    shapes: Shapes | str | None,
    constants: Mapping[str, Any] | None,
    seed: int,
    signature: str | None = None,
) -> _core.ModelArguments:
    arguments = _core.ModelArguments()
    arguments.structure = path
    arguments.weights = _given.path_of(weights, "weights") if weights is not None else ""
    arguments.ask_shapes = shapes == "ask"
    arguments.shapes = {} if arguments.ask_shapes else _given.shapes_of(shapes, "shapes")
    if constants is not None and not isinstance(constants, Mapping):
        raise _given.bad("constants", "a dict of arrays by network input", constants)
    arguments.constants = all_ready(constants or {})
    arguments.seed = _given.whole(seed, "seed")
    arguments.signature = signature or ""
    return arguments


def load(
    path: Source,
    *,
    weights: Path | None = None,
    shapes: Shapes | str | None = None,
    constants: Mapping[str, Any] | None = None,
    open_shapes: Shapes | None = None,
    seed: int = 1,
    signature: str | None = None,
) -> Model:
    """Loads a model: .onnx, also as bytes, .tflite, or .tnnproto with the .tnnmodel beside it.

    Of a file of tensors (.dat .bmrt .npz .npy) it gives what `tensors` does with these shapes: a dict
    of arrays.

    Args:
        weights: the .tnnmodel, where it has another name. Without one they are drawn by `seed`.
        shapes: of inputs, e.g. {"x": (1, 3, 224, 224)}; a new shape needs a new network. What the
            file leaves open gets a usual size that runs (`notes` says so), the one that the tools
            choose; "ask": that is an error.
        constants: network inputs that become constants (of an .onnx).
        open_shapes: as `shapes`, but only for inputs whose dims the file leaves open.
        signature: of a .tflite with several: whose subgraph is the network; None: the first subgraph.

    Raises:
        Error: NotFound, IoError, CorruptModel, NotSupported (all operators that Plumb lacks are
            named at once) or InvalidArgument, e.g. for open dims of which no usual size runs.
    """
    if isinstance(path, (str, os.PathLike)) and str(path).endswith(SUFFIXES):
        if weights or constants or open_shapes or signature or isinstance(shapes, str):
            raise Error("InvalidArgument", f"'{path}' holds tensors, of which only shapes= says anything")
        return tensors(path, shapes)  # type: ignore[return-value]  # typed programs call `tensors`
    return load_at(path, None, weights, shapes, constants, open_shapes, seed, signature)


def load_at(
    path: Source,
    inputs: Any,
    weights: Path | None = None,
    shapes: Shapes | str | None = None,
    constants: Mapping[str, Any] | None = None,
    open_shapes: Shapes | None = None,
    seed: int = 1,
    signature: str | None = None,
) -> Model:
    """`load`, and a torch module at the inputs given."""
    memory = _given.in_memory(path, inputs)
    where = _given.path_of(path) if memory is None else memory.path
    arguments = arguments_of(where, weights, shapes, constants, seed, signature)
    wanted = _given.shapes_of(open_shapes, "open_shapes")
    return Model(_core.load(arguments, wanted, False), arguments, memory)


class Conversion:
    """What `convert` wrote.

    Attributes:
        proto, weights: the two files. notes: of loading.
        hazards: values in the weights that other runtimes are known to compute otherwise.
    """

    def __init__(self, prefix: str, model: Model) -> None:
        self.proto, self.weights = f"{prefix}.tnnproto", f"{prefix}.tnnmodel"
        self.notes = model.notes
        self.hazards: list[str] = model._graph.hazards()

    def __repr__(self) -> str:
        return f"<plumbnn conversion {self.proto!r}: {len(self.notes)} notes, {len(self.hazards)} hazards>"

    def _repr_html_(self) -> str:
        """For notebooks: the files, what was noted, and what other runtimes may compute otherwise."""
        files = _html.table("file", [[self.proto], [self.weights]])
        notes = _html.table("note", [[note] for note in self.notes])
        return files + notes + _html.table("hazard", [[hazard] for hazard in self.hazards])


def convert(model: Source | Model, prefix: Path, *, tnnmodel_version: int = 2) -> Conversion:
    """Writes PREFIX.tnnproto and PREFIX.tnnmodel, each complete or not there.

    Args:
        tnnmodel_version: 1 or 2, the magic of the .tnnmodel.

    Raises:
        Error: those of `load`; IoError when a file cannot be written.
    """
    loaded = model if isinstance(model, Model) else load(model, shapes="ask")
    where = _given.path_of(prefix, "prefix")
    if tnnmodel_version not in (1, 2):
        raise Error("InvalidArgument", f"tnnmodel_version: expected 1 or 2, found {tnnmodel_version!r}")
    loaded._graph.save(where, tnnmodel_version)
    return Conversion(where, loaded)


def as_model(model: Source | Model) -> Model:
    return model if isinstance(model, Model) else load(model)


def devices() -> list[Device]:
    """All devices that Plumb knows, NAIVE (the reference) first, present or not."""
    return [Device(**device) for device in _core.devices()]
