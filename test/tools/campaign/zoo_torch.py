# SPDX-License-Identifier: Apache-2.0
"""Small networks for PyTorch. As a script of `plumb-golden torch` it defines `model` and `inputs`, as $PLUMB_ZOO says
("unet bfloat16 heavy sparse 4 1": network, dtype or "autocast" to bfloat16, weights, input, batch, seed); run as a
program it exports the model with the same weights in f32 to the .onnx that is given.
"""
import inspect
import os
import sys

import torch
import torch.nn.functional as F
from torch import nn


class Residual(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(cin, cout, 3, stride, 1, bias=False), nn.BatchNorm2d(cout)
        self.conv2, self.bn2 = nn.Conv2d(cout, cout, 3, 1, 1, bias=False), nn.BatchNorm2d(cout)
        self.short = nn.Conv2d(cin, cout, 1, stride) if stride > 1 else nn.Identity()

    def forward(self, x):
        return F.relu(self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))) + self.short(x))


class Inverted(nn.Module):
    """With squeeze and excitation."""

    def __init__(self, cin, cout, kernel, stride):
        super().__init__()
        wide = 4 * cin
        self.expand, self.bn = nn.Conv2d(cin, wide, 1, bias=False), nn.BatchNorm2d(wide)
        self.deep = nn.Conv2d(wide, wide, kernel, stride, kernel // 2, groups=wide)
        self.pool, self.down, self.up = nn.AdaptiveAvgPool2d(1), nn.Conv2d(wide, 8, 1), nn.Conv2d(8, wide, 1)
        self.act, self.gate, self.project = nn.Hardswish(), nn.Hardsigmoid(), nn.Conv2d(wide, cout, 1)

    def forward(self, x):
        y = self.act(self.deep(self.act(self.bn(self.expand(x)))))
        return self.project(y * self.gate(self.up(F.relu(self.down(self.pool(y))))))


class Attention(nn.Module):
    def __init__(self, size, heads):
        super().__init__()
        self.heads, self.q, self.k = heads, nn.Linear(size, size), nn.Linear(size, size)
        self.v, self.out = nn.Linear(size, size), nn.Linear(size, size)

    def forward(self, x):
        batch, tokens, size = x.shape

        def split(t):
            return t.reshape(batch, tokens, self.heads, size // self.heads).transpose(1, 2)
        scores = torch.matmul(split(self.q(x)), split(self.k(x)).transpose(2, 3)) * (size // self.heads) ** -0.5
        y = torch.matmul(F.softmax(scores, -1), split(self.v(x)))
        return self.out(y.transpose(1, 2).reshape(batch, tokens, size))


class Block(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.norm1, self.norm2, self.attention = nn.LayerNorm(size), nn.LayerNorm(size), Attention(size, 4)
        self.wide, self.gelu, self.narrow = nn.Linear(size, 4 * size), nn.GELU(), nn.Linear(4 * size, size)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.narrow(self.gelu(self.wide(self.norm2(x))))


class Tokens(nn.Module):
    """(batch, steps, features) to what the layer returns."""

    def __init__(self, layer, last):
        super().__init__()
        self.layer, self.last = layer, last

    def forward(self, x):
        return self.last(self.layer(x)[0])


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Conv2d(3, 16, 3, 1, 1), nn.Conv2d(16, 32, 3, 1, 1), nn.Conv2d(32, 32, 3, 1, 1)
        self.up, self.join = nn.ConvTranspose2d(32, 32, 2, 2), nn.Conv2d(64, 16, 3, 1, 1)
        self.end = nn.Conv2d(32, 2, 1)

    def forward(self, x):
        a = F.relu(self.a(x))
        b = F.relu(self.b(F.max_pool2d(a, 2)))
        c = F.relu(self.c(F.max_pool2d(b, 2)))
        c = F.relu(self.join(torch.cat([self.up(c), b], 1)))
        return torch.sigmoid(self.end(torch.cat([F.interpolate(c, scale_factor=2.0, mode="nearest"), a], 1)))


class Segmentation(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.deep = nn.Conv2d(3, 24, 3, 2, 1), nn.Conv2d(24, 24, 3, 1, 2, dilation=2)
        self.point, self.end = nn.Conv2d(24, 24, 1), nn.Conv2d(48, 5, 1)

    def forward(self, x):
        y = F.relu(self.stem(x))
        y = torch.cat([F.relu(self.deep(y)), F.avg_pool2d(self.point(y), 3, 1, 1)], 1)
        return F.interpolate(self.end(y), size=(40, 40), mode="bilinear", align_corners=False)


class Audio(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv1d(1, 24, 9, 4)
        self.gates, self.filters = (nn.ModuleList(nn.Conv1d(24, 24, 3, padding=d, dilation=d) for d in (1, 2, 4))
                                    for _ in range(2))
        self.mix, self.end = nn.Conv1d(24, 24, 1), nn.Conv1d(24, 6, 1)

    def forward(self, x):
        x = self.first(x)
        for gate, filtered in zip(self.gates, self.filters):
            x = x + self.mix(torch.tanh(filtered(x)) * torch.sigmoid(gate(x)))
        return self.end(F.elu(x))


def cnn():
    return nn.Sequential(nn.Conv2d(3, 16, 7, 2, 3), nn.ReLU(), nn.MaxPool2d(3, 2, 1), Residual(16, 16, 1),
                         Residual(16, 32, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10),
                         nn.Softmax(1)), (3, 56, 56)


def mobile():
    return nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.Hardswish(), Inverted(16, 24, 3, 1), Inverted(24, 32, 5, 2),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10)), (3, 48, 48)


def norms():
    return nn.Sequential(nn.Conv2d(3, 16, 3, 1, 1), nn.InstanceNorm2d(16, affine=True), nn.PReLU(16),
                         nn.Conv2d(16, 32, 5, 2, 2), nn.GroupNorm(4, 32), nn.LeakyReLU(0.1),
                         nn.Conv2d(32, 16, 3, 1, 1), nn.Softplus(), nn.Conv2d(16, 4, 1), nn.LogSoftmax(1)), (3, 32, 32)


def table():
    return nn.Sequential(nn.Linear(200, 96), nn.SELU(), nn.Linear(96, 64), nn.Tanh(), nn.Linear(64, 9), nn.SiLU(),
                         nn.Linear(9, 3), nn.Sigmoid()), (200,)


def transformer():
    return nn.Sequential(nn.Linear(20, 48), Block(48), Block(48), nn.LayerNorm(48), nn.Linear(48, 7)), (24, 20)


NETWORKS = {
    "cnn": cnn, "mobile": mobile, "norms": norms, "table": table, "transformer": transformer,
    "unet": lambda: (UNet(), (3, 40, 40)), "segmentation": lambda: (Segmentation(), (3, 40, 40)),
    "audio": lambda: (Audio(), (1, 400)),
    "lstm": lambda: (Tokens(nn.LSTM(12, 24, batch_first=True), nn.Linear(24, 5)), (16, 12)),
    "gru": lambda: (Tokens(nn.GRU(12, 24, batch_first=True, bidirectional=True), nn.Linear(48, 5)), (16, 12)),
}


def draw_weights(module, kind):
    for name, value in module.named_parameters():
        if value.dim() < 2:
            continue
        fan = value[0].numel()
        drawn = torch.randn(value.shape) * (2 / fan) ** 0.5
        if kind == "outliers":
            drawn[torch.rand(len(value)) < 1 / 16] *= 20
        elif kind == "heavy":
            drawn = torch.distributions.StudentT(2.5).sample(value.shape) * fan ** -0.5
        elif kind == "sparse":
            drawn = drawn * (torch.rand(value.shape) < 0.2) * 5 ** 0.5
        value.data.copy_(drawn)
    for norm in module.modules():
        if isinstance(norm, nn.BatchNorm2d):
            nn.init.normal_(norm.running_mean, 0, 0.3), nn.init.uniform_(norm.running_var, 0.3, 2)
        if hasattr(norm, "weight") and norm.weight is not None and norm.weight.dim() == 1:
            nn.init.uniform_(norm.weight, 0.1 if isinstance(norm, nn.PReLU) else 0.5, 0.4 if isinstance(norm, nn.PReLU)
                             else 1.5)


def draw_input(shape, kind):
    x = torch.randn(shape)
    return {"normal": x, "sparse": x * (torch.rand(shape) < 0.05), "constant": torch.full(shape, 0.7),
            "huge": x * 1e6, "tiny": x * 1e-6}[kind]


def build(text):
    """(the module, its input, the dtype)"""
    name, dtype, weights, kind, batch, seed = text.split()
    torch.manual_seed(1000 * int(seed) + list(NETWORKS).index(name))
    module, shape = NETWORKS[name]()
    draw_weights(module, weights)
    dtype = getattr(torch, "float32" if dtype == "autocast" else dtype)
    # What the dtype holds, in f32.
    return module.eval().to(dtype).float(), draw_input((int(batch), *shape), kind).to(dtype).float(), dtype


torch.set_num_threads(1)
module, x, kept = build(os.environ["PLUMB_ZOO"])
if __name__ == "__main__":
    # BatchNorm is not folded: its rounded weights are what the module has.
    newer = {"dynamo": False} if "dynamo" in inspect.signature(torch.onnx.export).parameters else {}
    torch.onnx.export(module, x, sys.argv[1], opset_version=17, input_names=["input"], do_constant_folding=False,
                      training=torch.onnx.TrainingMode.PRESERVE, **newer)
else:
    model, inputs = module.to(kept), x.to(kept)
    if os.environ["PLUMB_ZOO"].split()[1] == "autocast":
        model.forward = torch.autocast("cpu", torch.bfloat16)(model.forward)
