# SPDX-License-Identifier: Apache-2.0
"""What goes wrong, as exceptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._text import printable

if TYPE_CHECKING:
    from ._report import Report


_WORDS = {
    "CheckOptions::layers": "layers",
    "ComparisonRule::atol": "atol",
    "ComparisonRule::kind": "rule",
    "ComparisonRule::rtol": "rtol",
    "InputOptions::exercise": "probe",
    "InputOptions::files": "inputs",
    "InputOptions::values": "inputs",
    "InputOptions::range": "input_range",
    "LoadOptions::input_shapes": "shapes",
    "LoadOptions::input_values": "constants",
    "NetworkOptions::device_index": "device_index",
    "NetworkOptions::fallback": "fallback",
    "PairingOptions::by_order": "pair_by_order",
    "PairingOptions::layout": "layout",
    "PairingOptions::names": "names",
    "PairingOptions::tensors": "tensors",
    "RuntimeOptions::max_isa": "max_isa",
    "RuntimeOptions::num_threads": "threads",
    "SessionOptions::arithmetic": "arithmetic",
    "SessionOptions::run_onnxruntime": "golden='onnxruntime'",
    "SessionOptions::run_litert": "golden='litert'",
    "SessionOptions::subject ": "subject=",
    "SetInput was never called for": "no value is given for",
    "device_info lists them": "plumbnn.devices() lists them",
}


class Error(Exception):
    """Something could not be done; the text is one complete sentence.

    Attributes:
        code: "InvalidArgument", "NotSupported", "NotFound", "CorruptModel", "IoError",
            "DeviceError", "OutOfMemory", "Mismatch" or "Internal".
        message: the sentence.
        report: of `check` on several devices: what the others gave, else None.
    """

    def __init__(self, code: str, message: str, report: Report | None = None) -> None:
        message = printable(message)
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.report = report

    @classmethod
    def from_status(cls, code: str, message: str) -> Error:
        """Of a status of the library, whose fields have other names here."""
        for field, word in _WORDS.items():
            message = message.replace(field, word)
        return cls(code, message)

    def __str__(self) -> str:
        return self.message

    def __reduce__(
        self,
    ) -> tuple[type[Error], tuple[str, str]]:  # the report stays in the process that made it
        return type(self), (self.code, self.message)


class MisalignedError(AssertionError):
    """`assert_aligned` found a layer that is wrong, or nothing that could be compared.

    The text is the guilty layer and the command that shows it again; `report` has the rest.
    """

    def __init__(self, text: str, report: Report | None = None) -> None:
        super().__init__(text)
        self.report = report
