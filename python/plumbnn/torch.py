# SPDX-License-Identifier: Apache-2.0
"""Layers for PyTorch that it lacks. This module imports torch; `import plumbnn` does not.

    from plumbnn.torch import ConvSame
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn


def same_pads(size: int, kernel: int, stride: int, dilation: int) -> tuple[int, int]:
    """TensorFlow's SAME: pads in front and behind, so that ceil(size / stride) positions fit.

    The odd one is behind. Pads depend on the size of the input, not on the kernel alone: with a
    stride of 2 a kernel of 3 has (1, 1) where the size is odd and (0, 1) where it is even.
    """
    positions = -(-size // stride)
    extent = (kernel - 1) * dilation + 1
    total = max((positions - 1) * stride + extent - size, 0)
    return total // 2, total - total // 2


class ConvSame(nn.Module):  # type: ignore[misc,unused-ignore]  # Any where there is no torch
    """A convolution with TensorFlow's padding: "SAME" or "VALID".

    Parameters have the names of those of `nn.Conv1d`, `nn.Conv2d` and `nn.Conv3d`, in another order;
    there is no `padding_mode`, `device` and `dtype`. Weights
    are [out][in / groups][kernel...], so that a state dict of those loads. The rank is that of
    `kernel_size`; a single number is two dims.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = 1,
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
        bias: bool = True,
        padding: str = "SAME",
    ) -> None:
        super().__init__()
        if padding.upper() not in ("SAME", "VALID"):
            raise ValueError(f"padding is SAME or VALID, found '{padding}'")
        rank = 2 if isinstance(kernel_size, int) else len(kernel_size)
        if rank not in (1, 2, 3):
            raise ValueError(f"kernel_size has 1 to 3 dims, found {rank}")
        kinds: dict[int, Any] = {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}
        made = kinds[rank](
            in_channels, out_channels, kernel_size, stride, 0, dilation, groups, bias
        )
        self.weight, self.bias = made.weight, made.bias
        self.kernel_size, self.stride, self.dilation = made.kernel_size, made.stride, made.dilation
        self.groups, self.padding = groups, padding.upper()
        self._convolve = {
            1: nn.functional.conv1d,
            2: nn.functional.conv2d,
            3: nn.functional.conv3d,
        }[rank]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.padding == "SAME":
            sizes = x.shape[-len(self.kernel_size) :]
            pads: list[int] = []
            for size, kernel, stride, dilation in zip(
                sizes, self.kernel_size, self.stride, self.dilation
            ):
                pads = [*same_pads(int(size), kernel, stride, dilation), *pads]
            x = nn.functional.pad(x, pads)
        out: torch.Tensor = self._convolve(
            x, self.weight, self.bias, self.stride, 0, self.dilation, self.groups
        )
        return out

    def extra_repr(self) -> str:
        return (
            f"{self.weight.shape[1] * self.groups}, {self.weight.shape[0]}, "
            f"kernel_size={self.kernel_size}, stride={self.stride}, dilation={self.dilation}, "
            f"groups={self.groups}, padding={self.padding}"
        )
