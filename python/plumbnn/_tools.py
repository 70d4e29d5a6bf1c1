# SPDX-License-Identifier: Apache-2.0
"""Where the command line tools lie."""

from __future__ import annotations

import pathlib
import shutil

from ._errors import Error


def tool(name: str) -> str:
    """In the wheel's package, in the build that the package lies in, or in PATH.

    Raises:
        Error: NotFound.
    """
    package = pathlib.Path(__file__).parent
    for folder in (package / "bin", package.parent.parent / "bin"):
        if (folder / name).exists():
            return str(folder / name)
    found = shutil.which(name)
    if found is None:
        raise Error("NotFound", f"there is no {name} beside plumbnn or in PATH")
    return found
