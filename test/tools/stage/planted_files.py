# SPDX-License-Identifier: Apache-2.0
"""Conventions of decoders, each planted once: rows as in planted.py, whose stage names the file behind a colon."""
import io
import struct
import zlib

import numpy as np


def jpegs(folder, picture):
    """Decoders; `before` is the file, which the stage names."""
    from PIL import Image
    image = Image.fromarray(picture(150, 210))
    exif = Image.Exif()
    exif[0x0112] = 6
    image.save(folder / "turned.jpg", quality=85, exif=exif)
    image.save(folder / "plain.jpg", quality=85)

    def decode(name, turn=False, mode="RGB"):
        def read(_):
            with Image.open(folder / name) as opened:
                if turn:
                    from PIL import ImageOps
                    return np.asarray(ImageOps.exif_transpose(opened).convert(mode))
                return np.asarray(opened.convert(mode))
        return read
    exif[0x0112] = 7
    image.save(folder / "transverse.jpg", quality=85, exif=exif)

    def drafted(mode, size):
        def read(_):
            with Image.open(folder / "plain.jpg") as opened:
                opened.draft(mode, size)
                return np.asarray(opened)
        return read
    rows = [("decode:transverse.jpg", decode("transverse.jpg"), decode("transverse.jpg", True),
             "turned by 180 degrees)"),
            ("decode:plain.jpg", decode("plain.jpg"), drafted("RGB", (105, 75)), "scaled by 4/8 in the decoder"),
            ("decode:plain.jpg", decode("plain.jpg", mode="L"), drafted("L", (210, 150)), "the luma alone"),
            ("decode:turned.jpg", decode("turned.jpg", True), decode("turned.jpg"), "EXIF orientation not applied"),
            ("decode:turned.jpg", decode("turned.jpg"), decode("turned.jpg", True), "EXIF orientation applied"),
            ("decode:plain.jpg", decode("plain.jpg"), lambda _: decode("plain.jpg")(_)[..., ::-1],
             "red and blue exchanged")]
    try:
        import simplejpeg
    except ImportError:
        return rows
    data = (folder / "plain.jpg").read_bytes()

    def fast(**options):
        return lambda _: simplejpeg.decode_jpeg(data, **options)
    return rows + [
        ("decode:plain.jpg", decode("plain.jpg"), fast(fastupsample=True, fastdct=False), "plain colours"),
        ("decode:plain.jpg", decode("plain.jpg"), fast(fastupsample=True, fastdct=True), "plain colours"),
        ("decode:plain.jpg", decode("plain.jpg"), fast(fastupsample=False, fastdct=True), "ifast DCT and smooth")]


def cmyk(folder, picture):
    from PIL import Image
    Image.fromarray(picture(150, 210)).convert("CMYK").save(folder / "cmyk.jpg", quality=85)

    def opened(mode=None, invert=False):
        def read(_):
            with Image.open(folder / "cmyk.jpg") as image:
                ink = np.asarray(image)
            inks = Image.fromarray(255 - ink if invert else ink, "CMYK")
            return np.asarray(inks.convert(mode) if mode else inks)
        return read
    right = opened("RGB")
    rows = [("decode:cmyk.jpg", right, opened("RGB", True), "the inversion forgotten"),
            ("decode:cmyk.jpg", right, opened(), "CMYK as Pillow has it"),
            ("decode:cmyk.jpg", right, opened(invert=True), "CMYK as the file has it")]
    try:
        import cv2
    except ImportError:
        return rows
    return rows + [("decode:cmyk.jpg", right, lambda _: cv2.imread(str(folder / "cmyk.jpg"))[..., ::-1],
                    "CMYK to RGB as OpenCV")]


def write_deep(path, values):
    """A grey PNG of 16 bits, chunk by chunk."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    height, width = values.shape
    lines = b"".join(b"\0" + line.astype(">u2").tobytes() for line in values)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 16, 0, 0, 0, 0))
                     + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b""))


def pngs(folder, picture):
    from PIL import Image
    noise = np.random.default_rng(0).integers(0, 200, (60, 70))
    deep = np.clip(picture(60, 70)[..., 0].astype(np.int64) * 257 + noise, 0, 65535).astype(np.uint16)
    write_deep(folder / "deep.png", deep)
    image = Image.fromarray(picture(60, 70))
    image.quantize(32).save(folder / "palette.png")
    with Image.open(folder / "palette.png") as opened:
        indices, colours = np.asarray(opened), np.asarray(opened.convert("RGB"))
    file = io.BytesIO()
    image.save(file, "PNG")
    data = file.getvalue()
    gamma = b"gAMA" + struct.pack(">I", 100000)
    chunk = struct.pack(">I", 4) + gamma + struct.pack(">I", zlib.crc32(gamma))
    (folder / "gamma.png").write_bytes(data[:33] + chunk + data[33:])
    table = np.rint(255 * (np.arange(256) / 255) ** (1 / 2.2)).astype(np.uint8)
    high = lambda _: (deep >> 8).astype(np.uint8)  # noqa: E731
    return [("decode:deep.png", high, lambda _: np.minimum(deep, 255).astype(np.uint8), "16 bits cut off at 255"),
            ("decode:deep.png", high, lambda _: np.rint(deep / 257).astype(np.uint8), "16 bits / 257, rounded"),
            ("decode:deep.png", high, lambda _: deep, "16 bits as they are"),
            ("decode:deep.png", lambda _: deep, high, "the high bytes of 16 bits"),
            ("decode:palette.png", lambda _: colours, lambda _: indices, "the indices of the palette"),
            ("decode:gamma.png", lambda _: np.asarray(image), lambda _: table[np.asarray(image)],
             "the gamma of the file")]


def rows(modules, folder, picture):
    if "PIL" not in modules:
        return []
    return [*jpegs(folder, picture), *cmyk(folder, picture), *pngs(folder, picture)]
