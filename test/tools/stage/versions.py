# SPDX-License-Identifier: Apache-2.0
"""What one version of Pillow or OpenCV does to the inputs of versions_test.py: a sample of stages per case. It runs in
an environment of that version, with numpy alone beside it.

    versions.py pillow|opencv INPUTS OUT
"""
import pathlib
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "golden")]
from planted_test import write  # noqa: E402

SIZES = {"down": (150, 200), "half": (150, 201), "odd": (97, 311), "up": (420, 530)}  # of a picture of 300 x 402


def said(method):
    return {"parameters": {"method": method}}


def pillow(inputs):
    """[(case, stages)]"""
    from PIL import Image, ImageOps
    photo = np.load(inputs / "photo.npy")
    image = Image.fromarray(photo)
    filters = Image.Resampling if hasattr(Image, "Resampling") else Image
    plane = Image.fromarray(photo[..., 0].astype(np.float32))
    cases = []
    for name in ("NEAREST", "BOX", "BILINEAR", "HAMMING", "BICUBIC", "LANCZOS"):
        for size, (height, width) in SIZES.items():
            done = np.asarray(image.resize((width, height), getattr(filters, name)))
            cases.append((f"{name}-{size}", [("before", photo, {}), ("resize", done, said(name))]))
        done = np.asarray(plane.resize((200, 150), getattr(filters, name)))
        cases.append((f"{name}-floats", [("before", np.asarray(plane), {}), ("resize", done, said(name))]))
    for file in sorted(path.name for path in inputs.iterdir() if path.suffix in (".jpg", ".png")):
        fields = {"parameters": {"file": str(inputs / file)}}
        with Image.open(inputs / file) as opened:
            cases.append((f"decode-{file}", [("decode", np.asarray(ImageOps.exif_transpose(opened).convert("RGB")),
                                              fields)]))
    cases.append(("grey", [("before", photo, {}), ("grey", np.asarray(image.convert("L")), {})]))
    cases.append(("pad", [("before", photo, {}), ("letterbox", np.asarray(ImageOps.pad(image, (256, 256))), {})]))
    cases.append(("fit", [("before", photo, {}), ("fit", np.asarray(ImageOps.fit(image, (224, 224))), {})]))
    small = image.copy()
    small.thumbnail((160, 160))
    cases.append(("thumbnail", [("before", photo, {}), ("thumbnail", np.asarray(small), {})]))
    return cases


def opencv(inputs):
    import cv2
    photo = np.load(inputs / "photo.npy")
    cases = []
    for name in ("NEAREST", "NEAREST_EXACT", "LINEAR", "LINEAR_EXACT", "AREA", "CUBIC", "LANCZOS4"):
        method = getattr(cv2, f"INTER_{name}")
        for size, (height, width) in SIZES.items():
            done = cv2.resize(photo, (width, height), interpolation=method)
            cases.append((f"{name}-{size}", [("before", photo, {}), ("resize", done, said(f"INTER_{name}"))]))
        if name != "LINEAR_EXACT":
            floats = photo.astype(np.float32) / 255
            done = cv2.resize(floats, (200, 150), interpolation=method)
            cases.append((f"{name}-floats", [("before", floats, {}), ("resize", done, said(f"INTER_{name}"))]))
    for file in sorted(path.name for path in inputs.iterdir() if path.suffix in (".jpg", ".png")):
        fields = {"parameters": {"file": str(inputs / file)}, "color": "BGR"}
        cases.append((f"decode-{file}", [("decode", cv2.imread(str(inputs / file)), fields)]))
    frame = np.load(inputs / "frame.npy")
    for name in ("NV12", "NV21", "I420"):
        done = cv2.cvtColor(frame, getattr(cv2, f"COLOR_YUV2RGB_{name}"))
        cases.append((f"frame-{name}", [("before", frame, {}), ("frame", done, {})]))
    cases.append(("grey", [("before", photo, {}), ("grey", cv2.cvtColor(photo, cv2.COLOR_RGB2GRAY), {})]))
    blob = cv2.dnn.blobFromImage(photo, 1 / 255, (200, 150), (123, 117, 104), swapRB=True)
    cases.append(("blob", [("before", photo, {}), ("blob", blob, {})]))
    rows = np.load(inputs / "rows.npy")
    boxes = [[float(x), float(y), float(right - x), float(down - y)] for x, y, right, down in rows[:, :4]]
    kept = np.ravel(cv2.dnn.NMSBoxes(boxes, rows[:, 4].astype(float).tolist(), 0.1, 0.5))
    cases.append(("nms", [("before", rows, {}), ("nms", rows[kept], {})]))
    return cases


def main():
    library, inputs, out = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    for name, stages in {"pillow": pillow, "opencv": opencv}[library](inputs):
        write(out / name, stages)


if __name__ == "__main__":
    main()
