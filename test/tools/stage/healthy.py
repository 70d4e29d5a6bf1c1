# SPDX-License-Identifier: Apache-2.0
"""Pipelines of several libraries that are right: each row is (name, original, port), two functions that return
[(stage, array, fields of its entry)] and must be told aligned."""
import io

import numpy as np

from planted import MEAN, STD, picture
from planted_answers import before as before_answers
from planted_answers import candidates, prototype_masks, shifted, suppress


def pipelines():
    import cv2
    import torch
    import torchvision
    from PIL import Image
    from torchvision.transforms import functional as first
    from torchvision.transforms.v2 import functional as second

    image = picture(240, 320)
    file = io.BytesIO()
    Image.fromarray(image).save(file, "JPEG", quality=90)
    png = cv2.imencode(".png", image[..., ::-1])[1].tobytes()
    jpeg = file.getvalue()
    planes = torch.from_numpy(image.copy()).permute(2, 0, 1)[None]

    def opened(data):
        return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))

    def read(data):
        return cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)

    def decoded(values, **fields):
        return [("decode", values, fields)]

    def after(name, values, before=image, **fields):
        return [("before", before, {}), (name, values, fields)]

    def resized(method, optimised=True, threads=2):
        cv2.setUseOptimized(optimised)
        cv2.setNumThreads(threads)
        done = cv2.resize(image, (200, 150), interpolation=getattr(cv2, method))
        cv2.setUseOptimized(True)
        return done

    unit = image.astype(np.float32) / 255
    normal = (unit - MEAN) / STD
    logits = np.random.default_rng(8).normal(0, 4, (1, 1000)).astype(np.float32)
    powers = np.exp(logits.astype(np.float64))
    rows = candidates()
    kept = suppress()(rows)
    order = torchvision.ops.batched_nms(torch.from_numpy(rows[:, :4].copy()), torch.from_numpy(rows[:, 4].copy()),
                                        torch.from_numpy(rows[:, 5].copy()).long(), 0.5).numpy()
    tied = np.zeros((1, 10), np.float32)
    tied[0, [3, 5]] = 4, 4.00001
    row_means = np.float32(1 / 255 / STD), np.float32(-MEAN / STD)
    table = [
        ("PNG: Pillow, OpenCV in BGR", decoded(opened(png), color="RGB"), decoded(read(png), color="BGR")),
        # OpenCV's order is turned where the means of RGB are subtracted, and nobody says so behind the photo.
        ("BGR until the means of RGB", [*decoded(image, color="RGB"), ("normalise", normal, {})],
         [*decoded(image[..., ::-1], color="BGR"), ("normalise", normal, {})]),
        ("BGR behind one mean, turned into the network",
         [*decoded(image, color="RGB"), ("normalise", (unit - 0.5) / 0.5, {}), ("input", (unit - 0.5) / 0.5, {})],
         [*decoded(image[..., ::-1], color="BGR"), ("normalise", (unit[..., ::-1] - 0.5) / 0.5, {}),
          ("input", (unit - 0.5) / 0.5, {})]),
        ("JPEG: Pillow, OpenCV turned to RGB", decoded(opened(jpeg)), decoded(read(jpeg)[..., ::-1])),
        ("INTER_LINEAR with and without vector code", after("resize", resized("INTER_LINEAR")),
         after("resize", resized("INTER_LINEAR", False, 1))),
        ("INTER_CUBIC with and without vector code", after("resize", resized("INTER_CUBIC")),
         after("resize", resized("INTER_CUBIC", False, 1))),
        ("INTER_AREA with and without vector code", after("resize", resized("INTER_AREA")),
         after("resize", resized("INTER_AREA", False, 1))),
        ("INTER_LANCZOS4 with and without vector code", after("resize", resized("INTER_LANCZOS4")),
         after("resize", resized("INTER_LANCZOS4", False, 1))),
        ("Pillow itself and torchvision on a PIL image",
         after("resize", np.asarray(Image.fromarray(image).resize((200, 150), Image.Resampling.BILINEAR))),
         after("resize", np.asarray(first.resize(Image.fromarray(image), [150, 200])))),
        ("torchvision's resize of bytes, dense and channels last",
         after("resize", second.resize(planes, [150, 200], antialias=True)[0].permute(1, 2, 0).numpy()),
         after("resize", second.resize(planes.contiguous(memory_format=torch.channels_last), [150, 200],
                                       antialias=True)[0].permute(1, 2, 0).numpy())),
        ("torchvision 1 and 2 on floats", after("resize", first.resize(planes.float(), [150, 200])[0].numpy()),
         after("resize", second.resize(planes.float(), [150, 200])[0].numpy())),
        ("a centre crop by hand and torchvision's", after("crop", image[8:232, 48:272]),
         after("crop", first.center_crop(planes, [224, 224])[0].permute(1, 2, 0).numpy())),
        ("normalise in float32 and float64", after("normalise", normal.astype(np.float32)),
         after("normalise", (image / 255.0 - MEAN.astype(np.float64)) / STD)),
        ("normalise by NumPy and torchvision", after("normalise", normal.astype(np.float32)),
         after("normalise", first.normalize(planes[0].float() / 255, MEAN.tolist(), STD.tolist()).numpy())),
        ("normalise as one multiplication and addition", after("normalise", normal.astype(np.float32)),
         after("normalise", image.astype(np.float32) * row_means[0] + row_means[1])),
        ("division by 255 and multiplication with its inverse", after("normalise", unit),
         after("normalise", image.astype(np.float32) * np.float32(1 / 255))),
        ("HWC and NCHW", after("input", normal.astype(np.float32)),
         after("input", normal.transpose(2, 0, 1)[None].astype(np.float32))),
        ("normalise in float32 and float16", after("normalise", normal.astype(np.float32)),
         after("normalise", normal.astype(np.float16))),
        ("softmax in float32 and float64", after("softmax", torch.softmax(torch.from_numpy(logits), 1).numpy(), logits),
         after("softmax", powers / powers.sum(), logits)),
        ("grey by OpenCV and by its definition", after("grey", cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)),
         after("grey", ((image.astype(np.int64) @ [9798, 19235, 3735] + (1 << 14)) >> 15).astype(np.uint8))),
        ("letterbox by copyMakeBorder and by slices",
         after("letterbox", cv2.copyMakeBorder(image, 40, 40, 0, 0, cv2.BORDER_CONSTANT, value=(114, 114, 114))),
         after("letterbox", np.concatenate([np.full((40, 320, 3), 114, np.uint8), image,
                                            np.full((40, 320, 3), 114, np.uint8)]))),
        ("int8 by subtraction and by the top bit", after("quantise", (image.astype(np.int16) - 128).astype(np.int8)),
         after("quantise", (image ^ 0x80).view(np.int8))),
        ("NMS by hand and by torchvision", after("nms", kept, rows), after("nms", rows[order], rows)),
        ("detections in another order", after("nms", kept, rows), after("nms", kept[::-1], rows)),
        ("top-2 whose scores are a near tie", after("topk", np.array([3, 5]), tied),
         after("topk", np.array([5, 3]), tied)),
        ("top-5 by NumPy and torch", after("topk", np.argsort(-logits[0])[:5], logits),
         after("topk", torch.topk(torch.from_numpy(logits[0]), 5).indices.numpy(), logits)),
    ]
    return table + several(cv2)


def several(cv2):
    """Stages that read more than one."""
    def of(name, reads, values):
        stages = [(part, array, {}) for part, array in reads.items()]
        return [*stages, (name, values, {"parameters": {"of": ", ".join(reads)}})]

    def by_opencv(x):
        """process_mask with cv2.resize, mask by mask."""
        sums = np.tensordot(x["coefficients"].astype(np.float64), x["prototypes"], 1)
        done = []
        for scores, box in zip(1 / (1 + np.exp(-sums)), x["boxes"] / 4):
            y, across = np.mgrid[:scores.shape[0], :scores.shape[1]]
            inside = (across >= box[0]) & (across < box[2]) & (y >= box[1]) & (y < box[3])
            size = scores.shape[1] * 4, scores.shape[0] * 4
            done.append(cv2.resize((scores * inside).astype(np.float32), size) > 0.5)
        return np.stack(done).astype(np.uint8)
    masks, rows = before_answers("prototypes_mask", picture), before_answers("boxes_shifts", picture)
    wide = {name: values.astype(np.float64) for name, values in rows.items()}
    images = np.stack([picture(90, 120), picture(90, 120, seed=2)])
    return [("masks of prototypes by PyTorch and OpenCV", of("masks", masks, prototype_masks()(masks)),
             of("masks", masks, by_opencv(masks))),
            ("boxes of anchors in float32 and float64", of("boxes", rows, shifted(rows)),
             of("boxes", rows, shifted(wide))),
            ("a batch normalised in float32 and float64",
             [("before", images, {}), ("normalise", (images.astype(np.float32) / 255 - MEAN) / STD, {})],
             [("before", images, {}), ("normalise", (images / 255.0 - MEAN.astype(np.float64)) / STD, {})])]


SEED = 22  # of forty classes whose best is another one in the port


def yolos_cpp_145():
    """Geekgineer/YOLOs-CPP#145: a classifier's port resized without antialias and rounded the offset of its crop."""
    import cv2
    from PIL import Image
    image = picture(427, 640, seed=7)
    height, width = 224, int(224 * 640 / 427)
    weights = np.random.default_rng(SEED).normal(0, 0.01, (40, 224 * 224 * 3)).astype(np.float32)

    def stages(resized, left):
        cropped = resized[:, left:left + 224]
        tensor = (cropped.astype(np.float32) / 255).transpose(2, 0, 1)[None]
        return [("decode", image, {}), ("resize", resized, {}), ("crop", cropped, {}), ("normalise", tensor, {}),
                ("logits", (weights @ tensor.ravel())[None], {})]
    rest = width - 224
    right = np.asarray(Image.fromarray(image).resize((width, height), Image.Resampling.BILINEAR))
    return (stages(right, int(round(rest / 2))),
            stages(cv2.resize(image, (width, height), interpolation=cv2.INTER_LINEAR), rest // 2))
