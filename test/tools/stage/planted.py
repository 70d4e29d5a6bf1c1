# SPDX-License-Identifier: Apache-2.0
"""Conventions of pipelines, each planted once: what the original does, what the port does, and the words that name it.

A row: (stage, original, port, words). `original` and `port` take what is before the stage and return the stage; `words`
is what the cause must say of the port. Rows of packages that are missing are left out by `rows(modules)`.
"""
import numpy as np

import planted_answers
import planted_files

MEAN, STD = np.float32([0.485, 0.456, 0.406]), np.float32([0.229, 0.224, 0.225])
SIZE = (224, 200)  # height, width


def picture(height=301, width=403, seed=1):
    """Waves, ramps and noise: no two conventions give the same of it."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    waves = [128 + 90 * np.sin(x / 7 + y / 19), 128 + 80 * np.cos(x / 23 - y / 5), (x * 3 + y * 2) % 256]
    return np.clip(np.stack(waves, -1) + rng.normal(0, 25, (height, width, 3)), 0, 255).astype(np.uint8)


def cv(name):
    import cv2
    return lambda x: cv2.resize(x, SIZE[::-1], interpolation=getattr(cv2, name))


def pil(name):
    from PIL import Image
    return lambda x: np.asarray(Image.fromarray(x).resize(SIZE[::-1], getattr(Image.Resampling, name)))


def vision(mode, antialias=None):
    import torch
    from torchvision.transforms import InterpolationMode
    from torchvision.transforms.v2 import functional

    def resize(x):
        tensor = torch.from_numpy(x.copy()).permute(2, 0, 1)[None]
        done = functional.resize(tensor, list(SIZE), InterpolationMode[mode], antialias=antialias)
        return done[0].permute(1, 2, 0).numpy()
    return resize


def interpolate(finish=lambda x: x, **options):
    """torch's own, of float32; `finish`: how it becomes bytes again."""
    import torch

    def resize(x):
        tensor = torch.from_numpy(x.astype(np.float32)).permute(2, 0, 1)[None]
        done = torch.nn.functional.interpolate(tensor, SIZE, **options)
        return finish(done[0].permute(1, 2, 0).numpy())
    return resize


def rounded(x):
    return np.clip(np.rint(x), 0, 255).astype(np.uint8)


def cut(x):
    return np.clip(x, 0, 255).astype(np.uint8)


def corner_linear(x):
    """TensorFlow 1's resize_bilinear: pixel corners, in float32."""
    image = x.astype(np.float32)
    rows = (np.arange(SIZE[0], dtype=np.float32) * np.float32(x.shape[0] / SIZE[0]))
    columns = (np.arange(SIZE[1], dtype=np.float32) * np.float32(x.shape[1] / SIZE[1]))
    top, left = rows.astype(int), columns.astype(int)
    bottom, right = np.minimum(top + 1, x.shape[0] - 1), np.minimum(left + 1, x.shape[1] - 1)
    down, across = (rows - top)[:, None, None], (columns - left)[None, :, None]
    upper = image[top][:, left] * (1 - across) + image[top][:, right] * across
    lower = image[bottom][:, left] * (1 - across) + image[bottom][:, right] * across
    return upper * (1 - down) + lower * down


def places(size, to, kind):
    """Where TensorFlow and XNNPACK look for each target pixel, in float32."""
    scale = np.float32(size - 1) / np.float32(to - 1) if kind == "corners" else np.float32(size) / np.float32(to)
    at = np.arange(to, dtype=np.float32) * scale
    return at + (scale * np.float32(0.5) - np.float32(0.5)) if kind == "centres" else at


def xnnpack(kind):
    """TFLite's default on uint8: weights of 11 bits."""
    def resize(x):
        axes = []
        for size, to in zip(x.shape, SIZE):
            at = np.clip(places(size, to, kind), 0, size - 1)
            low = at.astype(np.int64)
            axes.append((low, np.minimum(low + 1, size - 1), np.rint((at - low) * np.float32(2048)).astype(np.int64)))
        (top, bottom, down), (left, right, across) = axes
        whole, across, down = x.astype(np.int64), across[None, :, None], down[:, None, None]
        upper, lower = (whole[row][:, left] * 2048 + (whole[row][:, right] - whole[row][:, left]) * across
                        for row in (top, bottom))
        return ((upper * 2048 + (lower - upper) * down + (1 << 21)) >> 22).astype(np.uint8)
    return resize


def tables(kind):
    """TensorFlow's bicubic: weights of a table of 1024 steps."""
    sharpness = -0.5 if kind == "centres" else -0.75

    def weight(v):
        v = np.abs(v)
        inner = ((sharpness + 2) * v - (sharpness + 3)) * v * v + 1
        return np.where(v <= 1, inner, np.where(v < 2, (((v - 5) * v + 8) * v - 4) * sharpness, 0))

    def along(size, to):
        at = places(size, to, kind).astype(np.float64)
        first = np.floor(at).astype(int)
        rest = np.rint((at - first) * 1024) / 1024
        matrix = np.zeros((to, size))
        for tap in range(-1, 3):
            column = np.clip(first + tap, 0, size - 1)
            inside = (column == first + tap) | (kind != "centres")
            np.add.at(matrix, (np.arange(to), column), weight(tap - rest) * inside)
        return matrix / matrix.sum(1, keepdims=True)

    def resize(x):
        down, across = along(x.shape[0], SIZE[0]), along(x.shape[1], SIZE[1])
        return np.einsum("yh,hwc,xw->yxc", down, x.astype(np.float64), across, optimize=True).astype(np.float32)
    return resize


def shares(x):
    """The exact share of each pixel: TensorFlow's area, and OpenCV's."""
    def along(size, to):
        begin = np.arange(to)[:, None] * size / to
        pixel = np.arange(size)[None]
        return np.clip(np.minimum(pixel + 1, begin + size / to) - np.maximum(pixel, begin), 0, None) * to / size
    down, across = along(x.shape[0], SIZE[0]), along(x.shape[1], SIZE[1])
    return np.einsum("yh,hwc,xw->yxc", down, x.astype(np.float64), across, optimize=True).astype(np.float32)


def resizes(modules):
    base = pil("BILINEAR") if "PIL" in modules else cv("INTER_AREA")
    table = []
    if "cv2" in modules:
        for name in ("NEAREST", "NEAREST_EXACT", "LINEAR", "LINEAR_EXACT", "AREA", "CUBIC", "LANCZOS4"):
            table.append((cv(f"INTER_{name}"), f"INTER_{name}"))
    if "PIL" in modules:
        for name in ("BOX", "HAMMING", "BICUBIC", "LANCZOS"):
            table.append((pil(name), f"Pillow's antialiased {name}"))
    if "torchvision" in modules:
        table += [(vision("BILINEAR", True), "torchvision's bilinear on uint8, antialias=True"),
                  (vision("BILINEAR", False), "torchvision's bilinear on uint8, antialias=False"),
                  (vision("BICUBIC", True), "torchvision's bicubic on uint8, antialias=True"),
                  (vision("BICUBIC", False), "torchvision's bicubic on uint8, antialias=False"),
                  (interpolate(rounded, mode="bilinear"), "bilinear on pixel centres (PyTorch, TF2)"),
                  (interpolate(cut, mode="bilinear"), "bilinear on pixel centres, cut off"),
                  (interpolate(rounded, mode="bilinear", align_corners=True), "bilinear with align_corners=True"),
                  (interpolate(cut, mode="bilinear", align_corners=True), "align_corners=True, cut off"),
                  (interpolate(rounded, mode="bicubic", align_corners=True), "bicubic with align_corners=True"),
                  (interpolate(rounded, mode="area"), "PyTorch's area")]
    table += [(lambda x: rounded(corner_linear(x)), "bilinear on pixel corners (TensorFlow 1)"),
              (lambda x: cut(corner_linear(x)), "bilinear on pixel corners, cut off"),
              (xnnpack("centres"), "TFLite's bilinear on uint8, half_pixel_centers (XNNPACK)"),
              (xnnpack("left"), "TFLite's bilinear on uint8 (XNNPACK)"),
              (xnnpack("corners"), "TFLite's bilinear on uint8, align_corners (XNNPACK)")]
    rows = [("resize", base, port, words) for port, words in table]
    if "PIL" in modules and "cv2" in modules:
        rows.append(("resize", cv("INTER_LINEAR"), pil("BILINEAR"), "Pillow's antialiased BILINEAR"))
        linear = cv("INTER_LINEAR")
        rows.append(("resize", linear, lambda x: linear(x)[..., ::-1], "red and blue exchanged"))
        rows.append(("resize", pil("BICUBIC"), lambda x: pil("BILINEAR")(x)[..., ::-1], "BILINEAR, red and blue"))
    return rows


def float_resizes(modules):
    if "torchvision" not in modules:
        return []
    base = interpolate(mode="bilinear", antialias=True)
    table = [(dict(mode="bilinear"), "bilinear on pixel centres (PyTorch, TF2), no antialias"),
             (dict(mode="bicubic"), "bicubic on pixel centres (PyTorch), no antialias"),
             (dict(mode="bicubic", antialias=True), "bicubic with antialias in floats"),
             (dict(mode="bilinear", align_corners=True), "bilinear with align_corners=True"),
             (dict(mode="bicubic", align_corners=True), "bicubic with align_corners=True"),
             (dict(mode="area"), "PyTorch's area"), (dict(mode="nearest"), "here the same as PyTorch's nearest"),
             (dict(mode="nearest-exact"), "INTER_NEAREST_EXACT")]
    rows = [("resize_float", base, interpolate(**options), words) for options, words in table]
    return rows + [("resize_float", base, corner_linear, "bilinear on pixel corners (TensorFlow 1)"),
                   ("resize_float", base, tables("left"), "TensorFlow's bicubic on pixel corners"),
                   ("resize_float", base, tables("centres"), "TensorFlow's bicubic on pixel centres"),
                   ("resize_float", base, tables("corners"), "TensorFlow's bicubic, align_corners"),
                   ("resize_float", base, shares, "INTER_AREA")]


def crops():
    def at(top, left):
        return lambda x: x[top:top + 224, left:left + 224]
    down = at((301 - 224) // 2, (403 - 224) // 2)
    return [("crop", down, at(round(77 / 2), round(179 / 2)), "rounded half to even (torchvision)"),
            ("crop", down, at(39, 90), "offset is rounded up"), ("crop", down, at(0, 0), "a crop of the top left"),
            ("crop", down, at(77, 179), "a crop of the bottom right"),
            ("crop", at(round(77 / 2), round(179 / 2)), down, "offset is rounded down"),
            ("crop", down, at(39, 89), "a crop at top 39, left 89"),
            ("crop", at(10, 33), at(10, 34), "a crop at top 10, left 34"),
            ("crop", down, lambda x: down(x)[..., ::-1], "red and blue exchanged")]


def orders():
    same = lambda x: x  # noqa: E731
    return [("decode_order", same, lambda x: x[..., ::-1], "red and blue exchanged"),
            ("decode_order", same, lambda x: x[:, ::-1], "mirrored left to right"),
            ("decode_order", same, lambda x: x[::-1], "upside down"),
            ("decode_order", same, lambda x: x[::-1, ::-1], "turned by 180 degrees"),
            ("layout", same, lambda x: x.reshape(3, *x.shape[:2]).transpose(1, 2, 0), "reshape in place of a"),
            ("turn", same, lambda x: np.rot90(x, -1), "turned by 90 degrees clockwise"),
            ("turn", same, lambda x: np.rot90(x), "turned by 90 degrees anticlockwise"),
            ("turn", same, lambda x: x.transpose(1, 0, 2), "height and width exchanged")]


def greys(modules):
    rows, grey = [], {}
    if "cv2" in modules:
        import cv2
        grey["grey as OpenCV computes it"] = lambda x: cv2.cvtColor(x, cv2.COLOR_RGB2GRAY)
        grey["grey as OpenCV computes it, of BGR read as RGB"] = lambda x: cv2.cvtColor(x, cv2.COLOR_BGR2GRAY)
    if "PIL" in modules:
        from PIL import Image
        grey["grey as Pillow computes it"] = lambda x: np.asarray(Image.fromarray(x).convert("L"))
    if "torchvision" in modules:
        import torch
        from torchvision.transforms import functional
        grey["grey as torchvision computes it"] = lambda x: functional.rgb_to_grayscale(
            torch.from_numpy(x.copy()).permute(2, 0, 1))[0].numpy()
    grey["grey by BT.709"] = lambda x: rounded(x @ np.float32([0.2126, 0.7152, 0.0722]))
    base = lambda x: x.mean(axis=2).astype(np.uint8)  # noqa: E731
    rows = [("grey", base, port, words) for words, port in grey.items()]
    first = next(iter(grey.values()))
    weights = np.float32([0.299, 0.587, 0.114])
    rows += [("grey_float", lambda x: x @ weights, lambda x: x @ weights[::-1], "by BT.601, of BGR read as RGB"),
             ("grey_float", lambda x: x @ weights, lambda x: x @ np.float32([0.2126, 0.7152, 0.0722]), "by BT.709")]
    return rows + [("grey", first, base, "grey as the mean of the channels")]


def alphas():
    def over(ground):
        def mixed(x):
            alpha = x[..., 3:].astype(np.float32) / 255
            return rounded(x[..., :3] * alpha + ground * (1 - alpha))
        return mixed
    drop = lambda x: x[..., :3]  # noqa: E731
    return [("alpha", drop, over(0), "alpha over black"), ("alpha", drop, over(255), "alpha over white"),
            ("alpha", over(255), drop, "alpha dropped")]


def frame_to_rgb(chroma, hd, full):
    """By the definitions of BT.601, BT.709 and JFIF, in float64."""
    red_weight, blue_weight = (0.2126, 0.0722) if hd else (0.299, 0.114)

    def convert(frame):
        height, width = frame.shape[0] * 2 // 3, frame.shape[1]
        luma = frame[:height].astype(np.float64)
        rest = frame[height:].reshape(-1).astype(np.float64) - 128
        if chroma in ("NV12", "NV21"):
            pairs = rest.reshape(height // 2, width // 2, 2)
            blue, red = (pairs[..., 0], pairs[..., 1]) if chroma == "NV12" else (pairs[..., 1], pairs[..., 0])
        else:
            planes = rest.reshape(2, height // 2, width // 2)
            blue, red = planes if chroma == "I420" else planes[::-1]
        blue, red = (np.repeat(np.repeat(one, 2, 0), 2, 1) for one in (blue, red))
        if not full:
            luma, blue, red = np.maximum(luma - 16, 0) * 255 / 219, blue * 255 / 224, red * 255 / 224
        r = luma + 2 * (1 - red_weight) * red
        b = luma + 2 * (1 - blue_weight) * blue
        g = (luma + (0 - 2 * (1 - red_weight) * red_weight * red - 2 * (1 - blue_weight) * blue_weight * blue)
             / (1 - red_weight - blue_weight))
        return np.clip(np.floor(np.stack([r, g, b], -1) + 0.5), 0, 255).astype(np.uint8)
    return convert


def frames(modules):
    base = frame_to_rgb("NV12", False, False)
    rows = []
    for chroma in ("NV12", "NV21", "I420", "YV12"):
        for hd in (False, True):
            for full in (False, True):
                if (chroma, hd, full) == ("NV12", False, False):
                    continue
                words = f"{chroma} to RGB by BT.{709 if hd else 601}, {'full' if full else 'video'} range"
                rows.append(("frame", base, frame_to_rgb(chroma, hd, full), words))
    if "cv2" in modules:
        import cv2
        rows.append(("frame", frame_to_rgb("NV12", False, True), lambda x: cv2.cvtColor(x, cv2.COLOR_YUV2RGB_NV12),
                     "NV12 to RGB by BT.601, video range"))
    return rows


def norm(mean=0, std=1, scale=255):
    mean, std, scale = np.float32(mean), np.float32(std), np.float32(scale)
    return lambda x: (x.astype(np.float32) / scale - mean) / std


def normalisations():
    base = norm(MEAN, STD)
    clip = [0.48145466, 0.4578275, 0.40821073], [0.26862954, 0.26130258, 0.27577711]
    caffe = np.float32([123.68, 116.779, 103.939])
    table = [
        (norm(0.5, 0.5), "mean 0.5 and std 0.5"), (norm(*clip), "CLIP's mean and std"), (norm(), "x / 255"),
        (norm(scale=256), "x / 256"), (norm(127.5, 128, 1), "(x - 127.5) / 128"),
        (norm(scale=1), "the values as they are"),
        (norm(128, 1, 1), "x - 128"), (norm(127.5, 1, 1), "x - 127.5"), (norm(caffe, 1, 1), "Caffe's mean (123.68"),
        (norm(caffe[::-1], 1, 1), "Caffe's mean (123.68, 116.779, 103.939) in the order of BGR"),
        (norm([123, 117, 104], 1, 1), "Caffe's mean (123, 117, 104)"),
        (norm(MEAN[::-1], STD[::-1]), "ImageNet's mean and std in the order of BGR"),
        (norm(MEAN, 1), "no division by the std"), (norm(0, STD), "the mean is not subtracted"),
        (norm(MEAN / 255, STD), "the mean subtracted before the division by 255"),
        (norm(MEAN, STD, 1), "ImageNet's mean and std without the division by 255"),
        (norm([0.4914, 0.4822, 0.4465], [0.247, 0.2435, 0.2616]), "CIFAR-10's mean and std"),
        (norm([0.4914, 0.4822, 0.4465], [0.2023, 0.1994, 0.201]), "(0.2023, 0.1994, 0.2010)"),
        (norm(114.3884, 58.3021, 1), "as one number for all channels (114.3884 and 58.3021)"),
        (norm(0.449, 0.226), "as one number for all channels (0.449 and 0.226)"),
        (norm(0.1307, 0.3081), "MNIST's mean and std"),
        (lambda x: base(x[..., ::-1]), "red and blue exchanged"),
        (norm(0.3, 0.7), "mean 0.3, std 0.7"),
    ]
    rows = [("normalise", base, port, words) for port, words in table]
    unit = lambda x: ((x.astype(np.float32) / 255) / 255 - MEAN) / STD  # noqa: E731
    return rows + [("normalise_unit", base, unit, "of")]


def quantisations():
    def quantised(scale, zero, rule):
        return lambda x: np.clip(rule(x / 255.0 / scale) + zero, -128, 127).astype(np.int8)
    minus = lambda x: (x.astype(np.int16) - 128).astype(np.int8)  # noqa: E731
    base = quantised(0.0157, -60, np.rint)

    def fused(mean, std, rule=np.rint):
        mean, std = np.float64(mean), np.float64(std)
        return lambda x: np.clip(rule((x / 255.0 - mean) / std / 0.02), -128, 127).astype(np.int8)
    whole, channels = fused(114.3884 / 255, 58.3021 / 255), fused(MEAN, STD)
    return [("quantise", channels, whole, "as one number for all channels (114.3884 and 58.3021), then / 0.02"),
            ("quantise", whole, channels, "ImageNet's mean and std, then / 0.02"),
            ("quantise", channels, fused(MEAN, STD, np.floor), "ImageNet's mean and std, then / 0.02, rounded down"),
            ("quantise", quantised(0.0157, 0, np.rint), quantised(0.0157, 0, np.trunc), "cut off towards zero"),
            ("quantise", base, minus, "x - 128"), ("quantise", base, quantised(0.0157, -60, np.floor), "rounded down"),
            ("quantise", base, quantised(0.0157, -61, np.rint), "- 61, rounded half to even"),
            ("quantise", minus, base, "x / ")]


def scores():
    def softmax(x):
        e = np.exp(x - x.max(axis=-1, keepdims=True))
        return (e / e.sum(axis=-1, keepdims=True)).astype(np.float32)
    sigmoid = lambda x: (1 / (1 + np.exp(-x))).astype(np.float32)  # noqa: E731
    return [("scores", softmax, lambda x: softmax(softmax(x)), "a softmax of a softmax"),
            ("scores", softmax, sigmoid, "a sigmoid"),
            ("scores_rows", softmax, lambda x: softmax(x.T).T, "a softmax along the other axis"),
            ("scores", softmax, lambda x: np.log(softmax(x)), "the logarithm of a softmax"),
            ("scores", sigmoid, softmax, "a softmax"),
            ("scores", softmax, lambda x: x, "the values as they are"),
            ("scores", lambda x: x, lambda x: x / np.linalg.norm(x, axis=-1, keepdims=True), "vectors of length one")]


def letterboxes(modules):
    if "cv2" not in modules:
        return []
    import cv2

    def boxed(size=round, place=lambda d: round(d / 2 - 0.1), value=114, method=cv2.INTER_LINEAR):
        def make(x):
            ratio = min(256 / x.shape[0], 256 / x.shape[1])
            height, width = int(size(x.shape[0] * ratio)), int(size(x.shape[1] * ratio))
            after = np.full((256, 256, 3), value, np.uint8)
            top, left = int(place(256 - height)), int(place(256 - width))
            after[top:top + height, left:left + width] = cv2.resize(x, (width, height), interpolation=method)
            return after
        return make
    base = boxed()
    return [("letterbox", base, boxed(value=0), "frame 0"), ("letterbox", base, boxed(value=128), "frame 128"),
            ("letterbox", base, boxed(place=lambda d: 0), "at the top left"),
            ("letterbox", base, boxed(place=lambda d: d), "at the bottom right"),
            ("letterbox", base, boxed(place=lambda d: (d + 1) // 2), "in the centre, rounded up"),
            ("letterbox", base, boxed(size=np.ceil), "size rounded up"),
            ("letterbox", boxed(size=np.ceil), base, "size rounded"),
            ("letterbox", base, boxed(method=cv2.INTER_AREA), "INTER_AREA"),
            ("letterbox", base, boxed(method=cv2.INTER_NEAREST), "INTER_NEAREST"),
            ("letterbox", base, lambda x: cv2.resize(x, (256, 256)), "INTER_LINEAR"),
            ("letterbox_floats", lambda x: base(x) / np.float32(255), lambda x: boxed(value=0)(x) / np.float32(255),
             "frame 0, OpenCV's INTER_LINEAR, then x / 255"),
            ("letterbox_floats", lambda x: norm(MEAN, STD)(base(x)), lambda x: norm(0.5, 0.5)(base(x)),
             "INTER_LINEAR, then mean 0.5 and std 0.5")]


def sizes(modules):
    """The same resize, letterbox or crop of another size."""
    if "cv2" not in modules:
        return []
    import cv2

    def ratio(height, width):
        return lambda x: cv2.resize(x, (width, height))

    def framed(side=320, stride=0):
        def make(x):
            width, height = 320 if stride else side, round(x.shape[0] * side / x.shape[1])
            tall = -(-height // stride) * stride if stride else side
            after = np.full((tall, width, 3), 114, np.uint8)
            top = round((tall - height) / 2 - 0.1)
            after[top:top + height] = cv2.resize(x, (width, height))
            return after
        return make
    short = ratio(256, int(256 * 640 / 427))
    return [("resize_ratio", short, ratio(256, round(256 * 640 / 427)), "short side 256, the long one rounded"),
            ("resize_ratio", short, ratio(171, 256), "long side 256, the short one rounded"),
            ("resize_ratio", short, ratio(256, 256), "a square of 256"),
            ("resize_ratio", short, ratio(224, 335), "short side 224, the long one cut off"),
            ("crop", lambda x: x[38:262, 89:313], lambda x: x[22:278, 73:329], "a square of 256"),
            ("letterbox_ratio", framed(), framed(stride=32), "a rectangle, sides multiples of 32"),
            ("letterbox_ratio", framed(stride=32), framed(stride=64), "a rectangle, sides multiples of 64"),
            ("letterbox_ratio", framed(), framed(352), "a square of 352")]


def batches(modules):
    """Each picture of a batch by itself."""
    if not {"cv2", "PIL"} <= modules:
        return []

    def each(one):
        return lambda x: np.stack([one(np.ascontiguousarray(picture)) for picture in x])
    return [("batch_resize", each(pil("BILINEAR")), each(cv("INTER_LINEAR")), "INTER_LINEAR"),
            ("batch_resize", each(cv("INTER_AREA")), each(pil("BICUBIC")), "Pillow's antialiased BICUBIC"),
            ("batch_crop", lambda x: x[:, 13:77, 28:92], lambda x: x[:, :64, :64], "a crop of the top left"),
            ("batch_normalise", norm(MEAN, STD), norm(0.5, 0.5), "mean 0.5 and std 0.5")]


def rows(modules, folder):
    return [*resizes(modules), *float_resizes(modules), *crops(), *orders(), *greys(modules), *alphas(),
            *frames(modules), *normalisations(), *quantisations(), *scores(), *letterboxes(modules),
            *planted_files.rows(modules, folder, picture), *sizes(modules), *batches(modules),
            *planted_answers.rows(modules)]


def before(stage):
    """What stands before the stage; None: nothing does."""
    if stage.startswith("decode"):
        return None if ":" in stage else picture(120, 90)
    if stage == "resize_float":
        return picture().astype(np.float32)
    if stage == "alpha":
        return np.random.default_rng(2).integers(0, 256, (64, 65, 4)).astype(np.uint8)
    if stage == "frame":
        return np.random.default_rng(2).integers(0, 256, (96, 80)).astype(np.uint8)
    if stage in ("layout", "turn"):
        return picture(60, 90)
    if stage in ("normalise", "quantise"):
        return picture(64, 65)
    if stage == "normalise_unit":
        return picture(64, 65)
    if stage == "grey_float":
        return picture(60, 90) / np.float32(255)
    if stage == "scores_rows":
        return np.random.default_rng(4).normal(0, 3, (20, 30)).astype(np.float32)
    if stage == "scores":
        return np.random.default_rng(4).normal(0, 3, (1, 100)).astype(np.float32)
    if stage.partition("_")[0] in ("nms", "topk", "boxes", "mask", "text", "prototypes"):
        return planted_answers.before(stage, picture)
    if stage.startswith("batch"):
        return np.stack([picture(90, 120), picture(90, 120, seed=2)])
    if stage in ("resize_ratio", "letterbox_ratio"):
        return picture(427, 640)
    return picture()
