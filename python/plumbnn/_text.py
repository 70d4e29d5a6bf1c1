# SPDX-License-Identifier: Apache-2.0
"""Text as the tools print it."""

from __future__ import annotations

from . import _core


def printable(text: str) -> str:
    """As the tools print a message: control characters in what it quotes are escaped."""
    return _core.printable_message(text.encode("utf-8", "backslashreplace"))
