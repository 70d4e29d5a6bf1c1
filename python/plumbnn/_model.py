"""Models in and out, and the devices of this machine."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Union

from . import _core
from ._arrays import all_ready
from ._types import Device, Layer, TensorInfo

Path = Union[str, "os.PathLike[str]"]
Shapes = Mapping[str, Sequence[int]]


class Model:
    """A loaded model, the same for every device. Made by `load`; immutable, for any thread."""

    def __init__(self, graph: _core.Graph, arguments: _core.ModelArguments) -> None:
        self._graph, self._arguments = graph, arguments

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
        return f"<plumbnn model {self.path!r}>"


def arguments_of(
    path: Path,
    weights: Path | None,
    shapes: Shapes | None,
    constants: Mapping[str, Any] | None,
    seed: int,
) -> _core.ModelArguments:
    arguments = _core.ModelArguments()
    arguments.structure = os.fspath(path)
    arguments.weights = os.fspath(weights) if weights is not None else ""
    arguments.shapes = {name: list(shape) for name, shape in (shapes or {}).items()}
    arguments.constants = all_ready(constants or {})
    arguments.seed = seed
    return arguments


def load(
    path: Path,
    *,
    weights: Path | None = None,
    shapes: Shapes | None = None,
    constants: Mapping[str, Any] | None = None,
    open_shapes: Shapes | None = None,
    seed: int = 1,
) -> Model:
    """Loads a model: .onnx, or .tnnproto with the .tnnmodel beside it.

    Args:
        weights: the .tnnmodel, where it has another name. Without one they are drawn by `seed`.
        shapes: of inputs, e.g. {"x": (1, 3, 224, 224)}; a new shape needs a new network.
        constants: network inputs that become constants (of an .onnx).
        open_shapes: as `shapes`, but only for inputs whose dims the file leaves open.

    Raises:
        Error: NotFound, IoError, CorruptModel, NotSupported (all operators that Plumb lacks are
            named at once) or InvalidArgument, e.g. for open dims without a shape.
    """
    arguments = arguments_of(path, weights, shapes, constants, seed)
    wanted = {name: list(shape) for name, shape in (open_shapes or {}).items()}
    return Model(_core.load(arguments, wanted, False), arguments)


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


def convert(model: Path | Model, prefix: Path, *, tnnmodel_version: int = 2) -> Conversion:
    """Writes PREFIX.tnnproto and PREFIX.tnnmodel, each complete or not there.

    Args:
        tnnmodel_version: 1 or 2, the magic of the .tnnmodel.

    Raises:
        Error: those of `load`; IoError when a file cannot be written.
    """
    loaded = as_model(model)
    loaded._graph.save(os.fspath(prefix), tnnmodel_version)
    return Conversion(os.fspath(prefix), loaded)


def as_model(model: Path | Model) -> Model:
    return model if isinstance(model, Model) else load(model)


def devices() -> list[Device]:
    """All devices that Plumb knows, NAIVE (the reference) first, present or not."""
    return [Device(**device) for device in _core.devices()]
