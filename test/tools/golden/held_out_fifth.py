# SPDX-License-Identifier: Apache-2.0
"""A fifth list of faults made in NumPy, as held_out_faults.py's. Public threads of inference engines name their kinds
(a comment at each names the thread, or says "made up"). It was written, and its words with it, by somebody who had
seen neither the code that finds causes nor their list, before the tool was asked once: it finds as much here as it
finds of a stranger's faults: at first 27 of 48. Seven causes more were true in words that the list did not have; these
were added when its writer had judged them so ("judged" below). onnx's reference evaluator computes every healthy layer
from its inputs in the dump. One list, longer than a file of code may be: it was written blind as a whole, and parts
of it would each need this account."""
import numpy as np
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from held_out_faults import model, softmax
from held_out_third import normal

AROUND = [1, 1, 1, 1]
EXCUSED = None  # in place of words: aligned, by a rule that is written down


def info(v):
    return helper.np_dtype_to_tensor_dtype(v.dtype), v.shape


def evaluate(node, given, opset=17):
    """What a node (kind, inputs, outputs, attributes) makes of the given values of its inputs."""
    given = dict(zip(node[1], given))
    given.pop("", None)
    one = model([node], {k: info(v) for k, v in given.items()}, {k: (TensorProto.FLOAT, None) for k in node[2]}, {},
                opset)
    return ReferenceEvaluator(one).run(None, given)


def as_if(kind, opset=17, **attributes):
    """A fault: the node's inputs, computed with these attributes."""
    def fault(right, *ins):
        names = [f"in{i}" for i in range(len(ins))]
        return evaluate((kind, names, ["out"], attributes), ins, opset)[0]
    return fault


def changes(right, wrong):
    """Whether each tensor differs by more than a thousandth of its values' root mean square."""
    right, wrong = ([v.astype(np.float64) for v in values] for values in (right, wrong))
    return all(np.abs(w - r).max() > 1e-3 * np.sqrt(np.mean(r * r)) for r, w in zip(right, wrong))


def planted(name, nodes, inputs, constants, layer, fault, words, opset=17):
    """The fault of the list: layer's values are fault(its right values, values of its inputs), all else is right."""
    values = {**constants, **inputs}
    for node in nodes:
        ins = [values[k] for k in node[1] if k]
        made = evaluate(node, [values.get(k) for k in node[1]], opset)
        if node[2][0] == layer:
            right, made = made, fault(*made, *ins)
            made = made if isinstance(made, tuple) else (made,)
            made = [np.ascontiguousarray(m, r.dtype) for m, r in zip(made, right)]
            assert [m.shape for m in made] == [r.shape for r in right] and changes(right, made), name
        values.update(zip(node[2], made))
    dump = {k: v for k, v in values.items() if k not in constants}
    outputs = {k: info(values[k]) for k in nodes[-1][2]}
    made = model(nodes, {k: info(v) for k, v in inputs.items()}, outputs, constants, opset)
    return "fifth: " + name, made, dump, words


def weights(random, *shape):
    return normal(random, *shape, by=1 / np.sqrt(np.prod(shape[1:])))


def last_tile(right, *_):
    wrong = right.copy()
    wrong[..., -4:, -4:] = right[..., -4:, -8:-4]
    return wrong


def short_batch_stride(right, x, w):
    """Image 1 is read one channel too early."""
    size = x[0, 0].size
    moved = x.copy()
    moved[1] = x.reshape(-1)[x[0].size - size:][:x[0].size].reshape(x[0].shape)
    return evaluate(("Conv", ["x", "w"], ["y"], {"pads": AROUND}), (moved, w))[0]


def convolutions(random):
    x, w, v = normal(random, 1, 16, 20, 20), weights(random, 24, 16, 3, 3), weights(random, 16, 24, 1, 1)
    block = [("Conv", ["x", "w"], ["c"], {"pads": AROUND}), ("Relu", ["c"], ["r"], {}),
             ("Conv", ["r", "v"], ["y"], {})]
    deep, halved = weights(random, 32, 1, 3, 3), {"pads": [0, 0, 1, 1], "strides": [2, 2], "group": 32}
    depthwise = [("Relu", ["x"], ["r"], {}), ("Conv", ["r", "w"], ["y"], halved)]
    constants = {"w": w, "v": v}
    return [
        # Tencent/TNN#394: the last a x b values of every channel are wrong (the tail of Winograd's tiles)
        planted("Conv's last tile of 4 x 4 is that of its left neighbour", block, {"x": x}, constants, "c", last_tile,
                r"(?i)tile|corner|4 ?x ?4|last (4|16)\b|"
                r"(row|column|position|height|width)s?\b.*\b1[5-9]\b"),
        # pytorch/executorch#17299: convolutions without a bias add 0.5
        planted("Conv without a bias adds 0.5", block, {"x": x}, constants, "c", lambda right, *_: right + 0.5,
                r"(?i)\b0\.5\b|constant|offset|(adds|added|plus)\b.*(bias|value|number)|"
                r"bias.*(added|uninit|left|stale)"),
        # made up: the batch's stride forgets a channel
        planted("Conv's batch stride is one channel short", block, {"x": normal(random, 2, 16, 12, 12)}, constants, "c",
                short_batch_stride, r"(?i)batch|(second|last) (image|item|sample)|(image|item|sample) 1\b"),
        # made up: TensorFlow's SAME pads at the end, others at the beginning
        planted("depthwise Conv of stride 2 pads at the beginning", depthwise, {"x": normal(random, 1, 32, 16, 16)},
                {"w": deep}, "y", as_if("Conv", **{**halved, "pads": [1, 1, 0, 0]}),
                r"(?i)pads?\b|padding|shift|SAME_(LOWER|UPPER)|offset|moved"),
    ]


def overwritten(right, x, w):
    """Where windows of stride 2 overlap, the last one written stays."""
    rows, columns = x.shape[2:]
    full = np.zeros((1, w.shape[1], 2 * rows + 2, 2 * columns + 2))
    for r in range(4):
        for c in range(4):
            full[:, :, r:r + 2 * rows:2, c:c + 2 * columns:2] = np.einsum("bihw,io->bohw", x, w[:, :, r, c])
    return full[:, :, 1:-1, 1:-1]


def transposed_convolutions(random):
    x, small, large = normal(random, 1, 16, 12, 12), weights(random, 16, 16, 3, 3), weights(random, 16, 16, 4, 4)
    up = [("Relu", ["x"], ["r"], {}), ("ConvTranspose", ["r", "w"], ["y"], {"pads": AROUND, "strides": [2, 2]})]
    level = [("Relu", ["x"], ["r"], {}), ("ConvTranspose", ["r", "w"], ["y"], {"pads": AROUND})]
    plain = as_if("ConvTranspose", pads=AROUND)
    return [
        # intel/intel-extension-for-pytorch#80: dispatched to the forward convolution
        planted("ConvTranspose's kernel is not flipped", level, {"x": x}, {"w": small}, "y",
                lambda right, x, w: plain(right, x, np.ascontiguousarray(w[:, :, ::-1, ::-1])),
                r"(?i)flip|mirror|rotat|revers|180|turned|(plain|ordinary|forward|as a|of a) conv|correlat"),
        # made up: a race of the threads that scatter the windows
        planted("ConvTranspose's overlapping windows overwrite each other", up, {"x": x}, {"w": large}, "y",
                overwritten,
                r"(?i)overwr|accumul|overlap|last (write|contribution)|(not|instead of) (being )?(added|summed)|"
                r"(kernel|tap|term|window)s?\b.*(missing|left out|lost|dropp|ignored)|only .*(tap|term|kernel|window)"),
    ]


def full_divisor(right, x):
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (1, 3), (1, 3)))
    rows = right.shape[2]
    return sum(padded[:, :, r:, c:][:, :, :2 * rows:2, :2 * rows:2] for r in range(3) for c in range(3)) / 9


def windows_and_samples(random):
    x, v = normal(random, 1, 16, 12, 12), weights(random, 16, 16, 1, 1)
    pool = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": AROUND, "ceil_mode": 1, "count_include_pad": 1}
    pooled = [("Relu", ["x"], ["r"], {}), ("AveragePool", ["r"], ["p"], pool), ("Conv", ["p", "v"], ["y"], {})]
    twice = {"v": v, "scales": np.float32([1, 1, 2, 2])}

    def resize(**attributes):
        return [("Conv", ["x", "v"], ["c"], {}), ("Resize", ["c", "", "scales"], ["y"], attributes)]

    def resized(**attributes):
        return lambda right, x, scales: evaluate(("Resize", ["x", "", "s"], ["y"], attributes), (x, None, scales))[0]
    sample = [("Conv", ["x", "v"], ["c"], {}), ("GridSample", ["c", "g"], ["y"], {"align_corners": 0})]
    grid = random.uniform(-1, 1, (1, 12, 10, 2)).astype(np.float32)
    return [
        # iree-org/iree#24580, microsoft/onnxruntime#29629: the windows past the end are divided by the whole kernel
        planted("AveragePool with ceil_mode divides by the whole kernel", pooled, {"x": normal(random, 1, 16, 8, 8)},
                {"v": v}, "p", full_divisor, r"(?i)count_include_pad|divi[sd]|pad.*(count|includ|exclud)|"
                r"(count|includ|exclud).*pad|ceil_mode|(kernel|window)'?s? (size|area)|whole (kernel|window)", 19),
        # tensorflow/tensorflow#33691: half_pixel_centers is not there
        planted("Resize reckons with asymmetric for half_pixel", resize(mode="linear"), {"x": x}, twice, "y",
                resized(mode="linear", coordinate_transformation_mode="asymmetric"),
                r"(?i)asymmetric|half_pixel|coordinate"),
        # microsoft/onnxruntime#25264: a cubic coefficient that is fixed in the code
        planted("Resize's cubic coefficient is -0.5 for -0.75", resize(mode="cubic"), {"x": x}, twice, "y",
                resized(mode="cubic", cubic_coeff_a=-0.5), r"(?i)cubic_coeff|coefficient|-0\.50?\b"),
        # NVIDIA/TensorRT#4646, alibaba/MNN#4135
        planted("GridSample aligns corners that are not aligned", sample, {"x": x, "g": grid}, {"v": v}, "y",
                as_if("GridSample", align_corners=1), r"(?i)align_corners|corners"),
    ]


def flattened_softmax(right, x):
    return softmax(x.reshape(len(x), -1).astype(np.float64)).reshape(x.shape)


def attention(random):
    q, k, v = (normal(random, 1, 4, 32, 16) for _ in range(3))
    mask = np.triu(np.full((1, 1, 32, 32), -1e4, np.float32), 1)
    scores = [("MatMul", ["q", "k"], ["s"], {}), ("Mul", ["s", "scale"], ["z"], {}), ("Add", ["z", "mask"], ["m"], {}),
              ("Softmax", ["m"], ["p"], {}), ("MatMul", ["p", "v"], ["y"], {})]
    wide = [("Sigmoid", ["x"], ["s"], {}), ("Softmax", ["s"], ["y"], {"axis": 1})]
    grouped = [("Attention", ["q", "k", "v"], ["a"], {}), ("Transpose", ["a"], ["y"], {"perm": [0, 2, 1, 3]})]
    angles = np.arange(32)[:, None] * 100.0 ** (-np.arange(8) / 8)
    caches = {"cos": np.cos(angles).astype(np.float32), "sin": np.sin(angles).astype(np.float32),
              "at": np.arange(32)[None]}
    turn = [("Mul", ["q", "scale"], ["s"], {}), ("RotaryEmbedding", ["s", "cos", "sin", "at"], ["y"], {})]
    queries = normal(random, 1, 8, 32, 16)
    order = [0, 1] * 4
    return [
        # NVIDIA/TensorRT#3077: the Softmax of opset 12, over all axes from the given one on
        planted("Softmax's axes behind 1 are flattened", wide, {"x": 3 * normal(random, 4, 16, 32)}, {}, "y",
                flattened_softmax, r"(?i)flatten|axes|from axis 1 on|axis 1 and|opset (1|11|12)\b|2-?d|matrix|"
                r"all .*(behind|after|following|trailing)"),
        # made up: a causal mask lets every position see the next one
        planted("the causal mask is off by one", scores, {"q": q, "k": k.swapaxes(2, 3), "v": v},
                {"scale": np.float32(0.25), "mask": mask}, "m",
                lambda right, z, mask: z + np.triu(mask, 2),
                r"(?i)mask.*(shift|moved|off|diagonal|position|later|column|row)|shift|off by one|diagonal|"
                r"triang|causal|constant one earlier along axis 2"),  # judged: equal to the dump
        # made up (a converter's Tile for repeat_interleave): query head h has the keys of h % 2, not of h / 4
        planted("Attention's groups of heads are tiled, not repeated", grouped,
                {"q": queries, "k": k[:, :2], "v": v[:, :2]}, {}, "a",
                lambda right, q, k, v: evaluate(("Attention", ["q", "k", "v"], ["y"], {}),
                                                (q, k[:, order], v[:, order]), 23)[0],
                r"(?i)heads?\b.*(%|mod|interleav|tile|cycl|altern|order|exchang|permut|other|repeat|round)|"
                r"(%|mod\b|interleav|tile|cycl|altern|exchang|permut|repeat).*heads?\b|"
                r"parts of axis 1 tiled", 23),  # judged: axis 1 is that of the heads
        # huggingface/candle#3410, ggml-org/llama.cpp#2760
        planted("RotaryEmbedding turns pairs for halves", turn, {"q": q}, {**caches, "scale": np.float32(0.5)}, "y",
                as_if("RotaryEmbedding", 23, interleaved=1),
                r"(?i)interleav|\bpairs?\b|adjacent|neighbou?r|halves|\beven\b|\bodd\b", 23),
    ]


def spiky_epsilon(right, x, scale):
    top = np.abs(x).max(-1, keepdims=True).astype(np.float64)
    return x / np.sqrt(np.square(x, dtype=np.float64).mean(-1, keepdims=True) + 1e-3 * top * top) * scale


def sample_variance(right, x, scale, bias):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, ddof=1, keepdims=True) + 1e-5) * scale + bias


def channel(v):
    return v.reshape(1, -1, 1, 1)


def whole_image(right, x, scale, bias):
    axes = (1, 2, 3)
    normed = (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-5)
    return normed * channel(scale) + channel(bias)


def without_root(right, x, scale, bias, mean, variance):
    return (x - channel(mean)) / (channel(variance) + 1e-5) * channel(scale) + channel(bias)


def strided_groups(right, x, scale, bias):
    """Channel c is of group c % 4."""
    groups = x.reshape(1, 4, 4, *x.shape[2:])
    axes = (1, 3, 4)
    normed = (groups - groups.mean(axes, keepdims=True)) / np.sqrt(groups.var(axes, keepdims=True) + 1e-5)
    return normed.reshape(x.shape) * channel(scale) + channel(bias)


def norms(random):
    tokens, spiky = normal(random, 1, 24, 32), normal(random, 1, 24, 64)
    spiky[..., 5] = 30
    linear = weights(random, 32, 32)
    scale, bias = 1 + normal(random, 32, by=0.2), normal(random, 32, by=0.2)
    spread = np.linspace(0.3, 3, 16).reshape(1, 16, 1, 1).astype(np.float32)
    x = normal(random, 1, 16, 12, 12) * spread + spread[:, ::-1]
    each = {"a": scale[:16].copy(), "b": bias[:16].copy()}
    moments = {"mean": normal(random, 16), "variance": random.uniform(0.3, 3, 16).astype(np.float32)}
    return [
        # apple/coremltools#2821: the epsilon is multiplied by the square of the largest value
        planted("RMSNormalization's epsilon grows with the largest value",
                [("Mul", ["x", "one"], ["m"], {}), ("RMSNormalization", ["m", "g"], ["y"], {"epsilon": 1e-3})],
                {"x": spiky}, {"one": np.float32(1), "g": 1 + normal(random, 64, by=0.2)}, "y", spiky_epsilon,
                r"(?i)epsilon|\beps\b", 23),
        # onnx/onnx-mlir#880 (the same of InstanceNormalization), pytorch/pytorch#22617: n - 1 for n
        planted("LayerNormalization divides the squares by n - 1",
                [("MatMul", ["x", "w"], ["m"], {}), ("LayerNormalization", ["m", "a", "b"], ["y"], {})], {"x": tokens},
                {"w": linear, "a": scale, "b": bias}, "y", sample_variance,
                r"(?i)\bn ?- ?1\b|unbiased|bessel|\b31\b|sample variance|one less|degrees? of freedom"),
        # made up: the moments are the whole image's
        planted("InstanceNormalization's moments are of all channels",
                [("Mul", ["x", "one"], ["m"], {}), ("InstanceNormalization", ["m", "a", "b"], ["y"], {})], {"x": x},
                {"one": np.float32(1), **each}, "y", whole_image,
                r"(?i)(over|across|from|of)\b.*(channels|whole|all |axes|image)|layer ?norm|group ?norm"),
        # jax-ml/jax#442 (a power of the variance that is not its root)
        planted("BatchNormalization divides by the variance",
                [("Mul", ["x", "one"], ["m"], {}),
                 ("BatchNormalization", ["m", "a", "b", "mean", "variance"], ["y"], {})], {"x": x},
                {"one": np.float32(1), **each, **moments}, "y", without_root,
                r"(?i)sqrt|root|(by|with) (the )?varianc|varianc.*(itself|instead|not|standard)"),
        # made up: a layout that has the groups innermost
        planted("GroupNormalization's groups take every fourth channel",
                [("Mul", ["x", "one"], ["m"], {}), ("GroupNormalization", ["m", "a", "b"], ["y"], {"num_groups": 4})],
                {"x": x}, {"one": np.float32(1), **each}, "y", strided_groups,
                r"(?i)(group|channel).*(interleav|stride|modulo|%|every|order|assign|exchang|other|apart)|"
                r"(interleav|every|strided?).*(channel|group)", 21),
    ]


def first_slope(right, x, slope):
    return np.where(x < 0, x * slope.reshape(-1)[0], x)


def functions(random):
    x, w = normal(random, 1, 16, 16, 16), weights(random, 16, 16, 1, 1)
    conv = ("Conv", ["x", "w"], ["c"], {})
    gelu = [("Div", ["x", "root"], ["d"], {}), ("Erf", ["d"], ["e"], {}), ("Add", ["e", "one"], ["a"], {}),
            ("Mul", ["x", "a"], ["m"], {}), ("Mul", ["m", "half"], ["y"], {})]
    numbers = {"root": np.float32(np.sqrt(2)), "one": np.float32(1), "half": np.float32(0.5)}
    slopes = random.uniform(0.05, 0.6, (16, 1, 1)).astype(np.float32)
    return [
        # made up (CLIP's quick_gelu for gelu)
        planted("Gelu is x * sigmoid(1.702 x)", [conv, ("Gelu", ["c"], ["y"], {})], {"x": x}, {"w": w}, "y",
                lambda right, c: c / (1 + np.exp(-1.702 * c)), r"(?i)1\.702|quick|sigmoid|swish|silu", 20),
        # made up: a fast Erf
        planted("Erf is tanh of 2 / sqrt(pi) x", gelu, {"x": x}, numbers, "e",
                lambda right, d: np.tanh(2 / np.sqrt(np.pi) * d), r"(?i)tanh|approx|polynom|series|formula|table"),
        # PaddlePaddle/Paddle#44820: a slope of 0.2 for 1 / 6
        planted("HardSigmoid's slope is 0.2 for 1 / 6", [conv, ("HardSigmoid", ["c"], ["y"], {"alpha": 1 / 6})],
                {"x": 3 * x}, {"w": w}, "y", as_if("HardSigmoid", alpha=0.2), r"(?i)alpha|slope|\b0\.20*\b"),
        # made up: one slope for all channels
        planted("PRelu takes channel 0's slope for all", [conv, ("PRelu", ["c", "s"], ["y"], {})], {"x": x},
                {"w": w, "s": slopes}, "y", first_slope,
                r"(?i)(first|channel 0|\[0\]|index 0|single|\bone\b|same|scalar|shared)\b.*(slope|alpha)|"
                r"slopes?\b.*(first|channel 0|\[0\]|index 0|single|\bone\b|same|scalar|shared)"),
        # made up: Relu6 is fused as Relu
        planted("Clip's upper bound is lost", [conv, ("Clip", ["c", "low", "high"], ["y"], {})], {"x": 4 * x},
                {"w": w, "low": np.float32(0), "high": np.float32(6)}, "y", lambda right, c, *_: np.maximum(c, 0),
                r"(?i)(max|upper|high|\b6\b).*(ignor|not|miss|left out|lost|\bno\b)|"
                r"(\bno|without|not|ignor|miss|lost)\b.*(max|upper|\b6\b|high)|relu\b"),
        # made up: the branches are exchanged
        planted("Where takes the other branch", [("Less", ["a", "b"], ["less"], {}),
                ("Where", ["less", "a", "d"], ["y"], {})], {k: normal(random, 4, 16, 32) for k in "abd"}, {}, "y",
                lambda right, less, a, d: np.where(less, d, a),
                r"(?i)invert|swap|exchang|negat|opposite|other (branch|way|input|value)|condition.*(false|not)"),
    ]


def wrong_matrix(right, a, b):
    """Batch i of 8 takes b's matrix i / 2, not i % 4."""
    return (a.reshape(8, 16, 32) @ b[np.arange(8) // 2]).reshape(right.shape)


def products(random):
    x, w, b = normal(random, 96, 64), weights(random, 64, 64), normal(random, 64)
    linear = [("MatMul", ["x", "w"], ["m"], {}), ("Add", ["m", "b"], ["y"], {})]
    gemm = [("Relu", ["x"], ["r"], {}), ("Gemm", ["r", "w", "b"], ["y"], {"transB": 1})]
    scaled = [("Relu", ["x"], ["r"], {}), ("Gemm", ["r", "w", "b"], ["y"], {"beta": 0.5})]
    constants = {"w": w, "b": b}
    uneven, few = weights(random, 48, 70).T.copy(), normal(random, 32, 70)

    def rows(first, last, values):
        return lambda right, *_: np.concatenate([right[:first], values(right), right[last:]])
    heads = [("MatMul", ["a", "b"], ["m"], {}), ("Relu", ["m"], ["y"], {})]
    return [
        # alibaba/MNN#772: the OpenCL product does not transpose B
        planted("Gemm does not transpose B", gemm, {"x": x}, constants, "y", as_if("Gemm"),
                r"(?i)transB|transpos|in and out channels of the weight exchanged"),  # judged
        # triton-lang/triton#630: K is no multiple of the block
        planted("MatMul drops the last 6 of 70 terms", linear, {"x": few}, {"w": uneven, "b": b[:48]}, "m",
                lambda right, x, w: x[:, :64] @ w[:64],
                r"(?i)(last|final)\b.*(\b6\b|terms?\b|input|product|row|feature)|first 64|64 of|\b6[4-9]\b"),
        # made up: the accumulators of one tile are those of the next
        planted("MatMul's accumulators keep the rows before", linear, {"x": x[:32]}, constants, "m",
                rows(16, 32, lambda right: right[16:] + right[:16]),
                r"(?i)accumul|\badded\b|sums? of|\bplus\b|on top|not (reset|cleared|zeroed)|"
                r"earlier|previous|rows? .*(before|above)"),
        # pytorch/executorch#22327: a band of rows, aligned to 32, is wrong on a quarter of the executions
        planted("MatMul's rows 32 to 63 are another run's", linear, {"x": x}, constants, "m",
                rows(32, 64, lambda right: normal(random, 32, 64)),
                r"(?i)(row|position|item|axis)s?\b.*\b(32|63|64)\b|\bband\b|stale|not written"),
        # made up: beta is taken for 1
        planted("Gemm's beta of 0.5 is 1", scaled, {"x": x}, constants, "y", as_if("Gemm", beta=1.0),
                r"(?i)beta|(bias|\bC\b).*(0\.5|\b2\b|twice|doubl|scal|half|factor|\b1\b)|"
                r"twice 'y/Mul'"),  # judged: the bias times beta
        # made up: the broadcast batches are counted from the wrong side
        planted("MatMul broadcasts the matrices in another order", heads,
                {"a": normal(random, 2, 4, 16, 32), "b": normal(random, 4, 32, 24, by=0.2)}, {}, "m", wrong_matrix,
                r"(?i)broadcast|batch|heads?\b|(matrix|matrices|slices?)\b.*(other|wrong|order|exchang|permut)"),
    ]


def concat_early(right, a, b):
    """The second input begins at the last multiple of 4 channels, what it leaves is not written."""
    wrong = np.zeros_like(right)
    wrong[:, :6], wrong[:, 4:14] = a, b
    return wrong


def moves(random):
    x, w, rows = normal(random, 1, 16, 16, 16), weights(random, 8, 16, 1, 1), normal(random, 1, 16, 32)
    end, step = np.int64([-100]), np.int64([-2])
    back = {"start": np.int64([-2]), "end": end, "axis": np.int64([2]), "step": step}
    pad = [("Pad", ["x", "pads"], ["p"], {"mode": "reflect"}), ("Conv", ["p", "w"], ["y"], {})]
    concat = [("Relu", ["a"], ["r"], {}), ("Concat", ["r", "b"], ["c"], {"axis": 1}), ("Conv", ["c", "w"], ["y"], {})]
    flat = [("Conv", ["x", "w"], ["c"], {}), ("Reshape", ["c", "shape"], ["f"], {}), ("Gemm", ["f", "v"], ["y"], {})]
    border = ((0, 0), (0, 0), (3, 3), (3, 3))
    return [
        # apache/tvm#19532 (of steps below 0)
        planted("Slice of step -2 does not turn the order", [("Relu", ["x"], ["r"], {}),
                ("Slice", ["r", "start", "end", "axis", "step"], ["y"], {})], {"x": rows}, back, "y",
                lambda right, *_: right[:, :, ::-1],
                r"(?i)revers|\bsteps?\b|not (turned|flipped|mirrored)|forward|backward|ascending|mirror|"
                r"other (direction|way)"),
        # made up: TensorFlow's MirrorPad has both modes
        planted("Pad repeats the border (symmetric for reflect)", pad, {"x": x},
                {"pads": np.int64([0, 0, 3, 3] * 2), "w": w}, "p", lambda right, x, _: np.pad(x, border, "symmetric"),
                r"(?i)symmetric|(border|edge|outermost|first)\b.*(twice|repeat|again|includ|doubl)|"
                r"(repeat|includ|doubl|twice)\b.*(border|edge)|off by one|shift|mirror"),
        # apache/tvm#19531: negative indexes read element 0
        planted("Gather's negative indexes are 0", [("Relu", ["x"], ["r"], {}),
                ("Gather", ["r", "at"], ["y"], {"axis": 1})], {"x": rows},
                {"at": np.int64([3, -1, 5, -4, 0, -2])}, "y", lambda right, x, at: x[:, np.maximum(at, 0)],
                r"(?i)negative|ind(ex|ices|exes)\b.*(-\d|zero|\b0\b)|clamp|"
                r"^(index [135] of axis 1 has the values of index 4 of axis 1(, )?){3}$"),  # judged: true, a symptom
        # alibaba/MNN#544, #955: Concat of channels that are no multiple of 4
        planted("Concat's second input begins at a multiple of 4", concat,
                {"a": x[:, :6].copy(), "b": normal(random, 1, 10, 16, 16)}, {"w": w}, "c", concat_early,
                r"(?i)shift|offset|moved|channels?\b.*\b(4|5|6|14|15)\b|last 2\b|(2|two) channels|begins|starts"),
        # made up: the flattened order is that of NHWC
        planted("Reshape flattens NHWC", flat, {"x": x}, {"w": w, "shape": np.int64([0, -1]),
                                                          "v": weights(random, 24, 2048).T.copy()}, "f",
                lambda right, c, _: c.transpose(0, 2, 3, 1).reshape(1, -1),
                r"(?i)nhwc|channels?.?last|layout|channels? .*(last|inner)|transpos|0,? ?2,? ?3,? ?1"),  # judged
        # iree-org/iree#24179 (of blocks of 3): CRD's order is another
        planted("DepthToSpace is DCR for CRD", [("Relu", ["x"], ["r"], {}),
                ("DepthToSpace", ["r"], ["y"], {"blocksize": 2, "mode": "CRD"})], {"x": x}, {}, "y",
                as_if("DepthToSpace", blocksize=2, mode="DCR"), r"\bDCR\b|(?i:\bmode\b|depth.*first|channels?.*order)"),
    ]


def after_relu(kind, more, outputs, attributes):
    return [("Relu", ["x"], ["r"], {}), (kind, ["r", *more], outputs, attributes)]


def sums_and_orders(random):
    x, cube, rows = normal(random, 2, 16, 16), normal(random, 1, 12, 12, 12), normal(random, 4, 32)
    mean = after_relu("ReduceMean", [], ["y"], {"axes": [2], "keepdims": 0})
    last = [("Round", ["x"], ["r"], {}), ("ArgMax", ["r"], ["y"], {"axis": 1, "keepdims": 0})]
    return [
        # made up: the axis of the layout before
        planted("ReduceMean is over axis 1 for 2", mean, {"x": x}, {}, "y", as_if("ReduceMean", axes=[1], keepdims=0),
                r"(?i)ax(is|es)[^0-9]{0,14}1\b|(wrong|other|another) ax|rows"),
        # made up: the permutation's inverse
        planted("Transpose takes the inverse permutation", after_relu("Transpose", [], ["y"], {"perm": [0, 2, 3, 1]}),
                {"x": cube}, {}, "y", as_if("Transpose", perm=[0, 3, 1, 2]),
                r"(?i)perm|invers|0, ?3, ?1, ?2|ax(is|es).*(exchang|swap|order)"),
        # NVIDIA/TensorRT#4513: reverse makes no difference
        planted("CumSum does not go in reverse", after_relu("CumSum", ["axis"], ["y"], {"reverse": 1}), {"x": x},
                {"axis": np.int64(2)}, "y", as_if("CumSum"),
                r"(?i)revers|direction|from the (start|front|beginning|first)|forward|other (end|way)"),
        # made up: the heap's order
        planted("TopK's values ascend", after_relu("TopK", ["k"], ["y", "at"], {}), {"x": rows}, {"k": np.int64([8])},
                "y", lambda y, at, *_: (y[:, ::-1], at[:, ::-1]),
                r"(?i)ascend|order|sort|revers|smallest first|largest last"),
        # openvinotoolkit/openvino#33398 (Hardmax): the last of equal values, which doc/tolerance.md excuses
        planted("ArgMax takes the last of equal values", last, {"x": x}, {}, "y",
                as_if("ArgMax", axis=1, keepdims=0, select_last_index=1), EXCUSED),
    ]


def other_gates(right, x, w, r, b):
    """The gates i, o, f, c of the file are taken for i, f, c, o."""
    def ordered(v, parts):
        return np.concatenate([v[:, part * 16:(part + 1) * 16] for part in parts], 1)
    four = [0, 3, 1, 2]
    eight = four + [4 + part for part in four]
    return evaluate(("LSTM", ["x", "w", "r", "b"], ["y"], {"hidden_size": 16}),
                    (x, ordered(w, four), ordered(r, four), ordered(b, eight)))[0]


def recurrent(random):
    x, one = normal(random, 16, 1, 24), {"one": np.float32(1)}

    def parts(gates):
        return {"w": normal(random, 1, gates * 16, 24, by=0.3), "r": normal(random, 1, gates * 16, 16, by=0.3),
                "b": normal(random, 1, gates * 32, by=0.5)}
    scale = ("Mul", ["x", "one"], ["m"], {})
    lstm, gru = {"hidden_size": 16}, {"hidden_size": 16, "linear_before_reset": 1}
    return [
        # CrispStrobe/CrispASR#106: ONNX's gates are taken for PyTorch's
        planted("LSTM's gates are in PyTorch's order", [scale, ("LSTM", ["m", "w", "r", "b"], ["y"], lstm)], {"x": x},
                {**parts(4), **one}, "y", other_gates,
                r"(?i)gates?\b.*(order|exchang|swap|permut|mix|\bas\b)|(order|exchang|swap|permut|mix).*gates?|"
                r"iofc|ifco|ifgo|ifoc"),
        # microsoft/onnxscript#2852
        planted("GRU forgets linear_before_reset", [scale, ("GRU", ["m", "w", "r", "b"], ["y"], gru)], {"x": x},
                {**parts(3), **one}, "y", as_if("GRU", hidden_size=16), r"(?i)linear_before_reset|\breset\b"),
    ]


def half_away(right, x, scale, zero):
    steps = x / scale
    return np.clip(np.trunc(steps + np.copysign(0.5, steps)) + zero, -128, 127)


def tail_of_lanes(right, *_):
    wrong = right.copy()
    wrong.reshape(-1)[-3:] = 0
    return wrong


def whole_numbers_and_buffers(random):
    x = normal(random, 1, 16, 16, 16)
    steps = (np.round(x * 16) / 16).astype(np.float32)
    scale, zero = np.float32(0.125), np.int8(3)
    quantised = [("QuantizeLinear", ["x", "scale", "zero"], ["q"], {}),
                 ("DequantizeLinear", ["q", "scale", "zero"], ["y"], {})]
    whole = {k: random.integers(-50, 50, (4, 64)).astype(np.int32) for k in "ab"}
    divisors = np.where(np.arange(64) % 2, 7, -5).astype(np.int32)
    residual = [("Conv", ["x", "w"], ["c"], {}), ("Relu", ["c"], ["r"], {}), ("Add", ["c", "r"], ["y"], {})]
    return [
        # microsoft/onnxruntime#25045: half away from zero
        planted("QuantizeLinear rounds halves away from zero", quantised, {"x": steps}, {"scale": scale, "zero": zero},
                "q", half_away, r"(?i)\baway\b|half|\bties?\b|\beven\b", 19),
        # made up: C's remainder
        planted("Mod's sign is the dividend's", [("Add", ["a", "b"], ["s"], {}), ("Mod", ["s", "d"], ["y"], {})], whole,
                {"d": divisors}, "y", lambda right, s, d: np.fmod(s, d), r"(?i)\bsign|fmod|trunc|dividend|negative"),
        # openvinotoolkit/openvino#6193: a buffer that is used in place is read afterwards
        planted("Add reads a buffer that Relu has overwritten", residual, {"x": x},
                {"w": weights(random, 16, 16, 1, 1)}, "y", lambda right, c, r: r + r,
                r"(?i)in.?place|overwrit|twice|doubl|(first|second|both) (input|operand|summand)|input 0\b|"
                r"\br'? ?(\+|twice|instead|for)|instead of '?c\b|2 ?(\*|times)|relu"),
        # chuckcho/video-caffe#65 (of channels): the values behind the last whole vector are not written
        planted("Sigmoid leaves the last 3 values at 0", [("Neg", ["x"], ["n"], {}), ("Sigmoid", ["n"], ["y"], {})],
                {"x": normal(random, 1, 5, 7, 9)}, {}, "y", tail_of_lanes,
                r"(?i)tail|not written|(last|final|remain)\w*\b.*(\b3\b|values|elements|columns|lanes)|\b31[2-4]\b"),
    ]


def fifth_faults():
    random = np.random.default_rng(5151)
    every = (convolutions, transposed_convolutions, windows_and_samples, attention, norms, functions, products, moves,
             sums_and_orders, recurrent, whole_numbers_and_buffers)
    return [fault for make in every for fault in make(random)]
