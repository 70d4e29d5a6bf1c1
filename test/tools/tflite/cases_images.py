# SPDX-License-Identifier: Apache-2.0
"""Operators on images: every padding, kernel, stride, dilation and size, drawn at random, odd ones among them.

A case is a function of a Draw, which makes the network; its name says the operator. It returns the outputs."""
from draw import case


@case("CONV_2D", 60)
def convolution(d):
    shape, kernel, options = d.image(), d.window(3), d.strides()
    d.dilate(options)
    maker = d.integers(1, 7)
    groups = d.pick(1, 1, 1, 2) if shape[3] % 2 == 0 and maker % 2 == 0 else 1
    weight = d.weights([maker, *kernel, shape[3] // groups])
    x = d.input(shape)
    bias = d.bias(maker, x, weight, always=True)  # LiteRT demands it
    return d.op("CONV_2D", [x, weight, *bias], d.windowed(shape, kernel, options, maker), options, fused=True)


@case("DEPTHWISE_CONV_2D", 50)
def depthwise(d):
    shape, kernel, options = d.image(), d.window(3), d.strides(square=True)
    d.dilate(options, square=True)
    options["depthMultiplier"] = d.pick(1, 1, 2, 3)
    channels = shape[3] * options["depthMultiplier"]
    weight = d.weights([1, *kernel, channels], axis=3)
    x = d.input(shape)
    return d.op("DEPTHWISE_CONV_2D", [x, weight, *d.bias(channels, x, weight, always=True)],
                d.windowed(shape, kernel, options, channels), options, fused=True)


@case("TRANSPOSE_CONV", 40)
def transposed(d):
    shape, kernel, options = d.image(small=True), d.window(3), d.strides()
    made = d.integers(1, 5)
    size = []
    for n, k, s in zip(shape[1:3], kernel, (options["strideH"], options["strideW"])):
        # Any of the sizes that the convolution takes to n.
        low, high = ((n - 1) * s + 1, n * s) if options["padding"] == 0 else ((n - 1) * s + k, n * s + k - 1)
        size.append(d.integers(max(low, 1), max(high, low, 1)))
    result = [shape[0], *size, made]
    weight = d.weights([made, *kernel, shape[3]])
    x = d.input(shape)
    return d.op("TRANSPOSE_CONV", [d.constant(result), weight, x, *d.bias(made, x, weight)], result, options)


def pool(d, kind):
    shape, kernel, options = d.image(), d.window(3), d.strides()
    options.update(filterHeight=kernel[0], filterWidth=kernel[1])
    return d.op(kind, [d.input(shape)], d.windowed(shape, kernel, options, shape[3]), options, fused=True,
                same_grid=True)


@case("AVERAGE_POOL_2D", 40)
def average_pool(d):
    return pool(d, "AVERAGE_POOL_2D")


@case("MAX_POOL_2D", 40)
def max_pool(d):
    return pool(d, "MAX_POOL_2D")


@case("L2_POOL_2D", 10, dtypes=("float32",))
def l2_pool(d):
    return pool(d, "L2_POOL_2D")


def resize(d, kind):
    shape, size = d.image(), [d.integers(1, 13), d.integers(1, 13)]
    align = d.pick(False, False, True)
    options = {"alignCorners": align, "halfPixelCenters": not align and d.pick(True, False)}
    return d.op(kind, [d.input(shape), d.constant(size)], [shape[0], *size, shape[3]], options, same_grid=True)


@case("RESIZE_BILINEAR", 30)
def bilinear(d):
    return resize(d, "RESIZE_BILINEAR")


@case("RESIZE_NEAREST_NEIGHBOR", 30)
def nearest(d):
    return resize(d, "RESIZE_NEAREST_NEIGHBOR")


@case("DEPTH_TO_SPACE", 10, dtypes=("float32", "int8", "uint8"))
def depth_to_space(d):
    shape, block = d.image(), d.integers(1, 3)
    shape[3] *= block * block
    return d.op("DEPTH_TO_SPACE", [d.input(shape)],
                [shape[0], shape[1] * block, shape[2] * block, shape[3] // block // block], {"blockSize": block},
                same_grid=True)


@case("SPACE_TO_DEPTH", 10, dtypes=("float32", "int8", "uint8"))
def space_to_depth(d):
    shape, block = d.image(), d.integers(1, 3)
    big = [shape[0], shape[1] * block, shape[2] * block, shape[3]]
    return d.op("SPACE_TO_DEPTH", [d.input(big)], [*shape[:3], shape[3] * block * block], {"blockSize": block},
                same_grid=True)


@case("SPACE_TO_BATCH_ND", 10, dtypes=("float32", "int8", "uint8"))
def space_to_batch(d):
    shape, block = d.image(), [d.integers(1, 3), d.integers(1, 3)]
    pads = []
    for n, b in zip(shape[1:3], block):
        before = d.integers(0, 2)
        pads.append([before, (-(n + before)) % b + b * d.integers(0, 1)])
    result = [shape[0] * block[0] * block[1],
              *((n + sum(p)) // b for n, p, b in zip(shape[1:3], pads, block)), shape[3]]
    return d.op("SPACE_TO_BATCH_ND", [d.input(shape), d.constant(block), d.constant(pads)], result, {}, same_grid=True)


@case("BATCH_TO_SPACE_ND", 10, dtypes=("float32", "int8", "uint8"))
def batch_to_space(d):
    shape, block = d.image(), [d.integers(1, 3), d.integers(1, 3)]
    crops = [[d.integers(0, min(1, n * b - 1)), 0] for n, b in zip(shape[1:3], block)]
    result = [shape[0], *(n * b - sum(c) for n, b, c in zip(shape[1:3], block, crops)), shape[3]]
    big = [shape[0] * block[0] * block[1], *shape[1:]]
    return d.op("BATCH_TO_SPACE_ND", [d.input(big), d.constant(block), d.constant(crops)], result, {}, same_grid=True)


@case("LOCAL_RESPONSE_NORMALIZATION", 10, dtypes=("float32",))
def local_response(d):
    shape = d.image()
    options = {"radius": d.integers(1, 4), "bias": d.real(0.5, 2), "alpha": d.real(0.1, 1), "beta": d.real(0.3, 1)}
    return d.op("LOCAL_RESPONSE_NORMALIZATION", [d.input(shape)], shape, options)


@case("L2_NORMALIZATION", 10, dtypes=("float32", "int8", "uint8"))
def l2_normalization(d):
    shape = d.shape(4)
    return d.op("L2_NORMALIZATION", [d.input(shape)], shape, {}, grid=d.fixed(1 / 128, 0))
