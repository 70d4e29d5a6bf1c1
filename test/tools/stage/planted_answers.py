# SPDX-License-Identifier: Apache-2.0
"""Conventions of answers, each planted once: suppression, boxes, masks, text. Rows and `before` as in planted.py; of a
stage that reads several `before` is a dict."""
import numpy as np


def candidates():
    rng = np.random.default_rng(3)
    centres = rng.uniform(60, 400, (40, 2)).repeat(5, 0) + rng.normal(0, 9, (200, 2))
    sizes = rng.uniform(30, 70, (40, 2)).repeat(5, 0) * rng.uniform(0.8, 1.25, (200, 2))
    rows = np.concatenate([centres - sizes / 2, centres + sizes / 2, rng.uniform(0.05, 0.99, (200, 1)),
                           rng.integers(0, 3, (200, 1))], 1)
    return rows.astype(np.float32)


def ties():
    """Candidates half of which have one of nine scores; thresholds in use are among these."""
    rows = candidates()
    rows[::2, 4] = np.round(rows[::2, 4] * 8) / 8
    return rows


def halves():
    """Pairs of boxes whose overlap is exactly 1/2."""
    rows = []
    for i in range(20):
        left, top = i % 5 * 40, i // 5 * 40
        rows += [[left, top, left + 20, top + 20, 0.5 + 0.02 * i, i % 3],
                 [left, top, left + 20, top + 10, 0.4 + 0.02 * i, i % 3]]
    return np.float32(rows)


def suppress(threshold=0.5, score=0.0, by_class=True, pixel=0.0, most=0, equal=False, score_equal=False, back=False,
             per_class=0):
    def run(rows):
        places = np.arange(len(rows))[::-1 if back else 1]
        order = [i for i in places[np.argsort(-rows[places, 4], kind="stable")]
                 if (rows[i, 4] >= score if score_equal else rows[i, 4] > score)]
        kept = []
        for i in order:
            def overlap(k):
                low, high = np.maximum(rows[i, :2], rows[k, :2]), np.minimum(rows[i, 2:4], rows[k, 2:4])
                shared = np.prod(np.maximum(high - low + pixel, 0), dtype=np.float64)
                area = [np.prod(rows[n, 2:4] - rows[n, :2] + pixel, dtype=np.float64) for n in (i, k)]
                return shared / (sum(area) - shared)
            if per_class and sum(rows[k, 5] == rows[i, 5] for k in kept) >= per_class:
                continue
            if all((by_class and rows[i, 5] != rows[k, 5]) or overlap(k) < threshold
                   or (overlap(k) == threshold and not equal) for k in kept):
                kept.append(i)
        return rows[kept[:most] if most else kept]
    return run


def suppressions():
    base = suppress()
    return [("nms", base, suppress(0.3), "IoU > 0.3"), ("nms", base, suppress(0.7), "IoU > 0.7"),
            ("nms", base, suppress(0.45), "IoU > 0.45"),
            ("nms", base, suppress(by_class=False), "NMS of all classes together"),
            ("nms", base, suppress(score=0.25), "score > 0.25"), ("nms", base, suppress(score=0.5), "score > 0.5"),
            ("nms", base, suppress(most=20), "at most 20"),
            ("nms", base, suppress(0.3, by_class=False), "NMS of all classes together, IoU > 0.3"),
            ("nms", base, suppress(0.55), "IoU > 0.55"), ("nms", base, suppress(pixel=1.0), "inclusive areas (+ 1)"),
            ("nms", base, suppress(per_class=8), "at most 8 per class"),
            ("nms_halves", base, suppress(equal=True), "IoU >= 0.5"),
            ("nms_ties", base, suppress(back=True), "of equal scores the last first"),
            ("nms_ties", suppress(score=0.25), suppress(score=0.25, score_equal=True), "score >= 0.25")]


SIDE, STRIDES = 64, (8, 16, 32)
ANCHORS = np.float32([[[10, 13], [16, 30], [33, 23]], [[30, 61], [62, 45], [59, 119]],
                      [[116, 90], [156, 198], [373, 326]]])


def grid(half):
    """Cells of all strides and their strides."""
    cells, strides = [], []
    for stride in STRIDES:
        y, x = np.mgrid[:SIDE // stride, :SIDE // stride]
        cells.append(np.stack([x, y], -1).reshape(-1, 2) + half)
        strides.append(np.full((cells[-1].shape[0], 1), stride))
    return np.concatenate(cells), np.concatenate(strides)


def around(centre, size):
    return np.concatenate([centre - size / 2, centre + size / 2], 1).astype(np.float32)


def anchor_free(half=0.5, times=True, centre=False):
    def decode(x):
        cells, strides = grid(half)
        unit = strides if times else 1
        corners = np.concatenate([cells * strides - x[:, :2] * unit, cells * strides + x[:, 2:] * unit], 1)
        sides = corners[:, 2:] - corners[:, :2]
        return np.float32(np.concatenate([(corners[:, :2] + corners[:, 2:]) / 2, sides], 1) if centre else corners)
    return decode


def yolox(x, half=0.0):
    cells, strides = grid(half)
    return around((x[:, :2] + cells) * strides, np.exp(x[:, 2:]) * strides)


def bins(x):
    powers = np.exp(x.reshape(-1, 4, 16))
    return anchor_free()((powers * np.arange(16)).sum(-1) / powers.sum(-1))


def anchored(third=False, half=0.5, turned=False):
    """YOLOv5's, or YOLOv3's, of three anchors per cell."""
    def sigmoid(v):
        return 1 / (1 + np.exp(-v))

    def decode(x):
        done, at = [], 0
        for stride, anchors in zip(STRIDES, ANCHORS):
            y, across = np.mgrid[:SIDE // stride, :SIDE // stride]
            cells = np.stack([across, y], -1).reshape(-1, 2)
            for anchor in anchors[:, ::-1] if turned else anchors:
                row = x[at:at + len(cells)]
                at += len(cells)
                size = np.exp(row[:, 2:]) if third else (2 * sigmoid(row[:, 2:])) ** 2
                centre = sigmoid(row[:, :2]) + cells if third else 2 * sigmoid(row[:, :2]) - half + cells
                done.append(np.concatenate([centre * stride, size * anchor], 1))
        return np.float32(np.concatenate(done))
    return decode


def shifted(x, variances=(0.1, 0.2)):
    """SSD's, of anchors that are a stage."""
    raw, anchors = x["rows"], x["anchors"]
    return around(anchors[:, :2] + variances[0] * raw[:, :2] * anchors[:, 2:],
                  anchors[:, 2:] * np.exp(variances[1] * raw[:, 2:]))


def decodings():
    return [("boxes_free", anchor_free(), anchor_free(0.0), "half a cell before"),
            ("boxes_free", anchor_free(), anchor_free(times=False), "not multiplied with the stride"),
            ("boxes_free", anchor_free(), anchor_free(centre=True), "as centre and size"),
            ("boxes_free", anchor_free(), yolox, "exp(size) of the cell (YOLOX)"),
            ("boxes_free", yolox, lambda x: yolox(x, 0.5), "half a cell further"),
            ("boxes_bins", lambda x: anchor_free(0.0)(bins(x)), bins, "means of 16 bins"),
            ("boxes_anchors", anchored(), anchored(True), "YOLOv3's centre and exp(size)"),
            ("boxes_anchors", anchored(), anchored(half=0.0), "half a cell further"),
            ("boxes_shifts", shifted, lambda x: shifted(x, (1, 1)), "without variances (R-CNN)")]


def back_to_photo():
    def moved(gain, pad=0, edge=0):
        def make(x):
            corners = (x[:, :4] - np.float32([0, pad, 0, pad])) / np.float32(gain)
            return np.concatenate([np.clip(corners, 0, edge) if edge else corners, x[:, 4:]], 1)
        return make

    def rounded_to(boxes, scores):
        def make(x):
            wide = x.astype(np.float64)
            return np.float32(np.concatenate([wide[:, :4].round(boxes), wide[:, 4:5].round(scores), wide[:, 5:]], 1))
        return make
    same = moved(1)
    return [("boxes_back", moved(0.5, 12), moved(0.5), "boxes at x / 0.5, y / 0.5"),
            ("boxes_back", same, moved(0.5, 12), "x / 0.5, (y - 12) / 0.5"),
            ("boxes_back", moved(0.5), moved(0.5, 0, 300), "cut off at 0 and 300"),
            ("boxes_back", same, rounded_to(0, 5), "rounded to whole pixels"),
            ("boxes_back", same, rounded_to(1, 3), "rounded to 1 decimal, scores to 3"),
            ("boxes_back", same, rounded_to(2, 4), "rounded to 2 decimals, scores to 4")]


def boxes():
    def corners(x):
        return np.concatenate([x[:, :2] - x[:, 2:] / 2, x[:, :2] + x[:, 2:] / 2], 1)

    def sizes(x):
        return np.concatenate([x[:, :2], x[:, :2] + x[:, 2:]], 1)

    def inclusive(x):
        return corners(x) - np.float32([0, 0, 1, 1])
    return [("boxes", corners, sizes, "boxes of corner and size (x, y, w, h) as corners"),
            ("boxes", corners, inclusive, "inclusive"), ("boxes", corners, lambda x: x, "the values as they are"),
            ("boxes", sizes, corners, "boxes of centre and size (cx, cy, w, h) as corners")]


def masks(modules):
    def over(threshold, one=1):
        return lambda x: ((x > threshold) * one).astype(np.uint8)
    at_least = lambda x: (x >= 0.5).astype(np.uint8)  # noqa: E731
    largest = lambda x: x.argmax(axis=-1).astype(np.uint8)  # noqa: E731
    table = [("mask", over(0.5), over(0.0), "values > 0"), ("mask", over(0.5), at_least, "values >= 0.5"),
             ("mask", at_least, over(0.3, 255), "values > 0.3"),
             ("mask_classes", largest, lambda x: (x[..., 1] > 0.5).astype(np.uint8), "nothing that Plumb knows"),
             ("mask_classes", lambda x: largest(x[..., ::-1]), largest, "a mask of the largest channel")]
    if "cv2" not in modules:
        return table
    import cv2

    def resized(method, cut_first=False):
        def make(x):
            if cut_first:
                return cv2.resize((x > 0.5).astype(np.uint8), (96, 80), interpolation=method)
            return (cv2.resize(x, (96, 80), interpolation=method) > 0.5).astype(np.uint8)
        return make
    base = resized(cv2.INTER_LINEAR)
    return [*table, ("mask_resized", base, resized(cv2.INTER_CUBIC), "INTER_CUBIC, then a mask of values > 0.5"),
            ("mask_resized", base, resized(cv2.INTER_NEAREST, True), "NEAREST, then a mask of values > 0.5"),
            ("mask_resized", resized(cv2.INTER_NEAREST, True), base, "then a mask of values > 0.5")]


def prototype_masks(sigmoid=True, crop="before", corners=lambda v: v, mode="bilinear", cut_first=False, **options):
    """As Ultralytics' process_mask, and what ports make of it."""
    import torch

    def cropped(masks, boxes):
        y, x = np.mgrid[:masks.shape[1], :masks.shape[2]]
        left, top, right, bottom = (corners(boxes[:, k])[:, None, None] for k in range(4))
        return masks * ((x >= left) & (x < right) & (y >= top) & (y < bottom))

    def make(x):
        prototypes = x["prototypes"]
        masks = (x["coefficients"] @ prototypes.reshape(len(prototypes), -1)).reshape(-1, *prototypes.shape[1:])
        masks = 1 / (1 + np.exp(-masks)) if sigmoid else masks
        limit = 0.5 if sigmoid else 0
        if crop == "before":
            masks = cropped(masks, x["boxes"] / np.float32(4))
        masks = (masks > limit).astype(np.float32) if cut_first else masks.astype(np.float32)
        size = (masks.shape[1] * 4, masks.shape[2] * 4)
        masks = torch.nn.functional.interpolate(torch.from_numpy(masks)[None], size, mode=mode, **options)[0].numpy()
        if crop == "behind":
            masks = cropped(masks, x["boxes"])
        return (masks > (0.5 if cut_first else limit)).astype(np.uint8)
    return make


def prototypes(modules):
    if "torch" not in modules:
        return []
    base = prototype_masks()
    table = [(prototype_masks(False), "no sigmoid, cropped to the box before"),
             (prototype_masks(crop="behind"), "no antialias, cropped to the box, > 0.5"),
             (prototype_masks(crop=""), "not cropped"), (prototype_masks(corners=np.trunc), "corners cut off"),
             (prototype_masks(corners=np.rint), "of rounded corners"),
             (prototype_masks(mode="nearest"), "INTER_NEAREST"),
             (prototype_masks(align_corners=True), "align_corners=True"),
             (prototype_masks(cut_first=True), "> 0.5, bilinear on pixel centres"),
             (prototype_masks(False, "behind"), "no sigmoid, bilinear on pixel centres (PyTorch, TF2), no antialias, "
                                                "cropped to the box, > 0")]
    return [("prototypes_mask", base, port, words) for port, words in table]


def decoded(blank=0, repeats=False, blanks=False, first=False, less=0):
    """Greedy CTC, with the usual mistakes."""
    def decode(x):
        path = x.argmax(axis=-1)
        if first:
            path = path[path != blank]
        if not repeats:
            path = path[np.r_[True, path[1:] != path[:-1]]]
        return ((path if blanks else path[path != blank]) - less).astype(np.int64)
    return decode


def texts():
    right = decoded()
    return [("text", right, decoded(repeats=True), "repeats not made one"),
            ("text", right, decoded(blanks=True), "blanks not removed"),
            ("text", right, decoded(first=True), "blanks removed before repeats are made one"),
            ("text", right, decoded(blank=9), "blank 9"), ("text", right, decoded(less=1), "each number 1 less")]


def classes():
    def top(count):
        return lambda x: np.argsort(-x[0], kind="stable")[:count]
    return [("topk", top(1), lambda x: top(1)(x) + 1, "one side counts a background class"),
            ("topk", top(1), lambda x: top(2)(x)[1:], "whose scores differ by"),
            ("topk", top(5), lambda x: top(5)(x)[::-1], "4 of 5 ranks differ")]


def rows(modules):
    return [*classes(), *suppressions(), *boxes(), *decodings(), *back_to_photo(), *masks(modules),
            *prototypes(modules), *texts()]


def before(stage, picture):
    rng = np.random.default_rng(6)
    if stage == "topk":
        return rng.normal(0, 4, (1, 1000)).astype(np.float32)
    if stage.startswith("nms"):
        return {"nms": candidates, "nms_halves": halves, "nms_ties": ties}[stage]()
    if stage == "boxes":
        return rng.uniform(20, 200, (50, 4)).astype(np.float32)
    if stage == "boxes_back":
        return np.concatenate([rng.uniform(20, 200, (50, 4)), rng.uniform(0, 1, (50, 2))], 1).astype(np.float32)
    if stage == "boxes_free":
        return rng.uniform(0.2, 2, (84, 4)).astype(np.float32)
    if stage == "boxes_bins":
        return rng.normal(0, 3, (84, 64)).astype(np.float32)
    if stage == "boxes_anchors":
        return rng.normal(0, 1, (252, 4)).astype(np.float32)
    if stage == "boxes_shifts":
        return {"rows": rng.normal(0, 1, (60, 4)).astype(np.float32),
                "anchors": rng.uniform(10, 60, (60, 4)).astype(np.float32)}
    if stage == "prototypes_mask":
        waves = picture(40, 48).astype(np.float32).transpose(2, 0, 1) / 64 - 2
        corners = rng.uniform(5.3, 70.8, (6, 2))
        return {"coefficients": rng.normal(0, 1, (6, 6)).astype(np.float32),
                "prototypes": np.concatenate([waves, np.roll(waves, 9, 2)]),
                "boxes": np.concatenate([corners, corners + rng.uniform(40, 90, (6, 2))], 1).astype(np.float32)}
    if stage in ("mask", "mask_resized"):
        return np.floor(picture(28, 36)[..., 0] / np.float32(4)) / 64 - np.float32(0.125)
    if stage == "mask_classes":
        return picture(28, 36) / np.float32(256)
    steps = np.random.default_rng(8).integers(0, 10, 60).repeat(2)
    steps[20:26] = [4, 4, 0, 0, 4, 4]  # a blank between equal ones
    noise = np.random.default_rng(9).normal(0, 1, (120, 10)).astype(np.float32)
    return noise + 9 * np.eye(10, dtype=np.float32)[steps]
