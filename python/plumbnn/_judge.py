# SPDX-License-Identifier: Apache-2.0
"""One operator call, judged: for who writes or generates kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _core, _given
from ._arrays import ready, to_numpy
from ._errors import Error, MisalignedError


@dataclass(frozen=True)
class Judged:
    """One output of a call.

    Attributes:
        verdict: "aligned", "grey", "wrong" or "not tested".
        E: the largest error in units of what rounding explains; above 1 is grey, above 4 wrong.
        R: the same on the whole (rms, 8 sigma); above 2 is wrong.
        bias: of 16-bit outputs how far the values lie to one side, in units of the storage;
            bias_z: how sure that is.
        worst: the index where the error is largest in these units; () where nothing differs.
        actual, expected, tau: there: the value, the float64 reference, and how far rounding may
            move it.
    """

    verdict: str
    E: float
    R: float
    bias: float
    bias_z: float
    worst: tuple[int, ...]
    actual: float
    expected: float
    tau: float


class Judgement:
    """What `judge` found; prints as one line.

    Attributes:
        verdict: of all outputs the worst.
        cause: what is computed instead, where that is known; reason: why it is not aligned.
        computed_as: the arithmetic that explains it ("fp32", "fp32+winograd", "bf16" ...).
        outputs: one `Judged` each.
    """

    def __init__(self, result: _core.JudgementResult) -> None:
        self._text: str = result.describe()
        self.verdict: str = result.verdict
        self.cause: str = result.cause
        self.reason: str = result.reason
        self.computed_as: str = result.computed_as
        self.outputs = [
            Judged(o[0], o[1], o[2], o[3], o[4], tuple(o[5]), *o[6:]) for o in result.outputs
        ]

    @property
    def aligned(self) -> bool:
        """Whether rounding explains every element."""
        return self.verdict == "aligned"

    @property
    def E(self) -> float:
        """Of the outputs the largest."""
        return max(output.E for output in self.outputs)

    @property
    def R(self) -> float:
        """Of the outputs the largest."""
        return max(output.R for output in self.outputs)

    @property
    def worst(self) -> Judged:
        """The output with the largest E."""
        return max(self.outputs, key=lambda output: output.E)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<plumbnn.Judgement {self._text}>"


@dataclass(frozen=True)
class Tolerance:
    """What a right implementation may give for one output.

    Attributes:
        expected: the float64 reference. tau: how far each element may lie from it.
        rtol, atol: the smallest pair with which `numpy.testing.assert_allclose(actual, expected,
            rtol, atol)` passes wherever every element is within its tau: what a test without
            Plumb may ask of everybody.
    """

    expected: np.ndarray
    tau: np.ndarray
    rtol: float
    atol: float

    def __repr__(self) -> str:
        shape = "x".join(map(str, self.tau.shape)) or "scalar"
        return f"<plumbnn.Tolerance {shape}: rtol {self.rtol:.3g}, atol {self.atol:.3g}>"


def judge(
    op: Any,
    inputs: Sequence[Any],
    output: Any,
    attributes: Mapping[str, Any] | None = None,
    *,
    arithmetic: str | None = None,
    causes: bool = True,
) -> Judgement:
    """Judges what anybody computed for one call of an operator: is it what rounding explains?

    Args:
        op: an ONNX operator ("Softmax", "com.microsoft.SkipLayerNormalization"), a name that
            NumPy's and PyTorch's users know ("layer_norm", "scaled_dot_product_attention";
            doc/judge.md has all), a TNN type; or a small graph: the path of an .onnx or .tnnproto
            file, an onnx.ModelProto or its bytes, a torch module.
        inputs: arrays (numpy, torch, jax, ...) in the operator's order; None: left out.
        output: the array that is judged, or a list or tuple of them.
        attributes: the operator's, with the names of ONNX or of that function.
        arithmetic: how it may be computed: "fp32", "tf32", "fp16", "bf16" (stored so, summed in
            f32), "fp32+bf16-products" ... None: as the output's dtype says. "found": any that
            explains it, which `Judgement.computed_as` then names.
        causes: look for what a wrong output computes instead.

    Raises:
        Error: no such operator or attribute, inputs that do not fit.
    """
    call, _keep = _arguments(op, inputs, attributes, arithmetic)
    outputs = list(output) if isinstance(output, (list, tuple)) else [output]
    for i, value in enumerate(outputs):
        if _is_tiny(value):
            raise Error(
                "NotSupported",
                f"output {i} is {value.dtype}: outputs of f32, f16, bf16 and whole numbers are "
                "judged; give what the kernel had before it stored that",
            )
    arrays = [ready(f"output {i}", value) for i, value in enumerate(outputs)]
    return Judgement(_core.judge(call, arrays, causes))


def tolerance(
    op: Any,
    inputs: Sequence[Any],
    attributes: Mapping[str, Any] | None = None,
    *,
    arithmetic: str = "fp32",
    output: int = 0,
) -> Tolerance:
    """What a right implementation of the call may give for that output: see `Tolerance`.

    Args and errors: those of `judge`.
    """
    call, _keep = _arguments(op, inputs, attributes, arithmetic)
    return Tolerance(*_core.tolerances(call, output + 1)[output])


def assert_close(
    actual: Any,
    op_or_expected: Any,
    inputs: Sequence[Any] = (),
    attributes: Mapping[str, Any] | None = None,
    *,
    arithmetic: str | None = None,
) -> Judgement | None:
    """`judge`, and the output must be aligned; returns the judgement. With a `Tolerance` in the
    operator's place every element must be within its tau, and nothing is computed again.

    Raises:
        MisalignedError: which element, by how much, and the cause.
    """
    if isinstance(op_or_expected, Tolerance):
        _assert_within(actual, op_or_expected)
        return None
    judgement = judge(op_or_expected, inputs, actual, attributes, arithmetic=arithmetic)
    if not judgement.aligned:
        raise MisalignedError(f"{_shown(op_or_expected)}: {judgement}")
    return judgement


def _assert_within(actual: Any, allowed: Tolerance) -> None:
    array, bf16 = ready("actual", actual)
    values = to_numpy(array, bf16).astype(np.float64)
    if values.shape != allowed.expected.shape:
        raise MisalignedError(f"the shape is {values.shape}, expected {allowed.expected.shape}")
    expected = allowed.expected.astype(np.float64)
    same = (values == expected) | (np.isnan(values) & np.isnan(expected))
    with np.errstate(invalid="ignore", divide="ignore"):
        units = np.where(same, 0.0, np.abs(values - expected) / allowed.tau)
    units = np.where(np.isnan(units), np.inf, units)
    if values.size == 0 or units.max() <= 1:
        return
    worst = tuple(int(i) for i in np.unravel_index(units.argmax(), units.shape))
    raise MisalignedError(
        f"{int((units > 1).sum())} of {units.size} elements are beyond what rounding explains; worst at "
        f"{list(worst)}: {values[worst]:.9g} for {expected[worst]:.9g}, rounding explains "
        f"{allowed.tau[worst]:.3g}"
    )


def _shown(op: Any) -> str:
    return op if isinstance(op, str) else _given.kind(op)


def _arguments(
    op: Any, inputs: Sequence[Any], attributes: Mapping[str, Any] | None, arithmetic: str | None
) -> tuple[_core.CallArguments, _given.InMemory | None]:
    """The second keeps a graph's file for as long as it lives."""
    call = _core.CallArguments()
    if isinstance(inputs, np.ndarray) or not isinstance(inputs, Sequence):
        raise Error(
            "InvalidArgument",
            f"{_shown(op)}: inputs are a list of arrays, found a {_given.kind(inputs)}",
        )
    if hasattr(op, "SerializeToString"):  # onnx.ModelProto
        op = op.SerializeToString()
    memory = _given.in_memory(op, {f"x{i}": value for i, value in enumerate(inputs)})
    call.op = _given.path_of(op, "op") if memory is None else memory.path
    call.inputs = [
        (None, False) if value is None else ready(f"input {i}", _widened(value))
        for i, value in enumerate(inputs)
    ]
    call.attributes = {name: _attribute(name, value) for name, value in (attributes or {}).items()}
    call.arithmetic = arithmetic or ""
    return call, memory


def _is_tiny(value: Any) -> bool:
    """Floats of 8 bits and fewer: torch's, or ml_dtypes' in numpy and jax."""
    return any(name in str(getattr(value, "dtype", "")) for name in ("float8_", "float6_", "float4_"))


def _widened(value: Any) -> Any:
    """What a kernel reads of them: their values, which f32 holds."""
    if not _is_tiny(value):
        return value
    return value.float() if hasattr(value, "float") else np.asarray(value).astype(np.float32)


def _attribute(name: str, value: Any) -> Any:
    if isinstance(value, (bool, np.bool_, int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value)
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple, np.ndarray)):
        values = [_attribute(name, one) for one in value]
        if all(isinstance(one, int) for one in values):
            return values
        if all(isinstance(one, (int, float)) for one in values):
            return [float(one) for one in values]
        return values
    raise Error(
        "InvalidArgument",
        f"attribute '{name}' is a {_given.kind(value)}; expected a number, a text or a list",
    )
