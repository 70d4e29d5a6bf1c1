# SPDX-License-Identifier: Apache-2.0
"""What tracing, torch.export and ONNX keep of a PyTorch module, as something that is called like the module."""

from __future__ import annotations

import contextlib
import io
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

WAYS = ("traced", "exported", "onnx")


def run_copied(call: Callable[..., Any], inputs: Sequence[Any]) -> Any:
    """Without a gradient, on copies: a module may write into what it reads."""
    import torch

    with torch.no_grad():
        return call(*[x.clone() for x in inputs])


def _to_onnx(module: Any, inputs: tuple[Any, ...]) -> Callable[..., Any]:
    import torch

    from ._network import run

    names = [f"input_{i}" for i in range(len(inputs))]
    axes = {name: {d: f"{name}_{d}" for d in range(x.dim())} for name, x in zip(names, inputs)}
    file = io.BytesIO()
    torch.onnx.export(module, inputs, file, input_names=names, dynamic_axes=axes, dynamo=False)

    def call(*given: Any) -> Any:
        feeds = {name: x.detach().numpy() for name, x in zip(names, given)}
        shapes = {name: list(x.shape) for name, x in feeds.items()}
        outputs = run(file.getvalue(), inputs=feeds, device="NAIVE", shapes=shapes)
        return [torch.from_numpy(value.copy()) for value in outputs.values()]

    return call


def export(way: str, module: Any, inputs: tuple[Any, ...]) -> Callable[..., Any]:
    """Made from copies of the inputs."""
    import torch

    inputs = tuple(x.clone() for x in inputs)
    if way == "traced":
        made: Any = torch.jit.trace(module, inputs, check_trace=False, strict=False)
        return made  # type: ignore[no-any-return]
    if way == "exported":
        dims = tuple({d: torch.export.Dim.AUTO for d in range(x.dim())} for x in inputs)
        exported: Any = torch.export.export(module, inputs, dynamic_shapes=dims, strict=False)
        return exported.module()  # type: ignore[no-any-return]
    return _to_onnx(module, inputs)


@contextlib.contextmanager
def burnt() -> Iterator[list[str]]:
    """What the tracer says it takes for a constant: "net.py:12: ..."."""
    found: list[str] = []
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        yield found
    for warning in said:
        if "TracerWarning" in warning.category.__name__:
            place = f"{os.path.basename(warning.filename)}:{warning.lineno}"
            found.append(f"{place}|{str(warning.message)}")
