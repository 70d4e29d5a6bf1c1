# SPDX-License-Identifier: Apache-2.0
"""One node of ONNX Runtime's own operators (com.microsoft) per case: what exported and optimised transformers consist
of, each optional input, output and attribute somewhere."""
import numpy as np

RNG = np.random.default_rng(20)
F = np.float32


def real(*dims, scale=1.0):
    return (RNG.standard_normal(dims) * scale).astype(F)


def whole(low, high, *dims, dtype=np.int32):
    return RNG.integers(low, high, dims).astype(dtype)


def u8(*dims):
    return whole(0, 256, *dims, dtype=np.uint8)


def i8(*dims):
    """Of 7 bits: without VNNI ONNX Runtime's u8 x s8 kernels saturate sums of two products beyond 16 bits."""
    return whole(-64, 64, *dims, dtype=np.int8)


def scalar(value, dtype=F):
    return np.array(value, dtype)


class Const:
    """An input that is an initialiser."""

    def __init__(self, value):
        self.value = value


def K(value):
    return Const(value)


CASES = {}


def case(name, op, inputs, outputs=1, domain="com.microsoft", slack=2e-5, wanted=None, **attributes):
    """`wanted`: which outputs stand in the node, by default the first `outputs`."""
    CASES[name] = (op, inputs, list(range(outputs)) if wanted is None else wanted, domain, slack, attributes)


def activations():
    x, b = real(2, 3, 8, scale=2), real(8)
    case("gelu", "Gelu", [x])
    case("fast_gelu", "FastGelu", [x])
    case("fast_gelu_bias", "FastGelu", [x, K(b)])
    case("bias_gelu", "BiasGelu", [x, K(b)])
    case("bias_gelu_blob", "BiasGelu", [x, b])
    case("quick_gelu", "QuickGelu", [x])
    case("quick_gelu_silu", "QuickGelu", [x], alpha=1.0)


def norms():
    x, skip, g, b, bias = real(2, 5, 16), real(2, 5, 16), real(16), real(16), real(16)
    case("skip_layer_norm", "SkipLayerNormalization", [x, skip, K(g), K(b), K(bias)], epsilon=1e-5)
    case("skip_layer_norm_sum", "SkipLayerNormalization", [x, skip, K(g), K(b)], wanted=[0, 3], epsilon=1e-5)
    case("skip_layer_norm_no_beta", "SkipLayerNormalization", [x, skip, K(g)])
    case("skip_layer_norm_bias_only", "SkipLayerNormalization", [x, skip, K(g), None, K(bias)], wanted=[0, 3])
    case("skip_layer_norm_broadcast", "SkipLayerNormalization", [x, real(5, 16), K(g), K(b)])
    case("skip_layer_norm_broadcast1", "SkipLayerNormalization", [x, real(1, 5, 16), K(g), K(b)])
    case("skip_rms_norm", "SkipSimplifiedLayerNormalization", [x, skip, K(g)], epsilon=1e-6)
    case("skip_rms_norm_bias_sum", "SkipSimplifiedLayerNormalization", [x, skip, K(g), K(bias)], wanted=[0, 3])
    case("rms_norm", "SimplifiedLayerNormalization", [x, K(g)], domain="", axis=-1, epsilon=1e-6, stash_type=1)
    case("rms_norm_inverse", "SimplifiedLayerNormalization", [x, K(g)], 2, domain="")
    case("layer_norm", "LayerNormalization", [x, K(g), K(b)], domain="")
    ids, seg, mask = whole(0, 11, 2, 5), whole(0, 2, 2, 5), whole(0, 2, 2, 5)
    tables = [K(real(11, 16)), K(real(9, 16))]
    case("embed", "EmbedLayerNormalization", [ids, seg, *tables, K(real(2, 16)), K(g), K(b), mask], 2)
    case("embed_sum", "EmbedLayerNormalization", [ids, seg, *tables, K(real(2, 16)), K(g), K(b)], 3, epsilon=1e-5)
    case("embed_no_segments", "EmbedLayerNormalization", [ids, None, *tables, None, K(g), K(b), mask], 2)
    case("embed_positions", "EmbedLayerNormalization", [ids, None, *tables, None, K(g), K(b), None, whole(0, 9, 2, 5)],
         2)


def fused():
    x, w, b = real(1, 4, 9, 9), real(6, 4, 3, 3), real(6)
    for name, params in (("Relu", None), ("Tanh", None), ("Sigmoid", None), ("LeakyRelu", [0.2]), ("Clip", [-0.5, 0.7]),
                         ("HardSigmoid", [0.3, 0.4])):
        extra = {} if params is None else {"activation_params": params}
        case(f"fused_conv_{name.lower()}", "FusedConv", [x, K(w), K(b)], activation=name, kernel_shape=[3, 3],
             pads=[1, 1, 1, 1], **extra)
    case("fused_conv_z", "FusedConv", [x, K(w), K(b), real(1, 6, 9, 9)], activation="Relu", pads=[1, 1, 1, 1])
    case("fused_conv_no_bias", "FusedConv", [x, K(w)], activation="Relu", strides=[2, 2])
    a, m = real(5, 7), real(7, 4)
    case("fused_gemm_relu", "FusedGemm", [a, K(m), K(real(4))], activation="Relu")
    case("fused_gemm_leaky", "FusedGemm", [a, K(real(4, 7)), K(real(4))], activation="LeakyRelu", activation_alpha=0.2,
         transB=1, alpha=0.5, beta=2.0)
    case("fused_gemm_blob", "FusedGemm", [a, m], activation="Tanh")
    case("fused_matmul", "FusedMatMul", [real(2, 5, 7), real(2, 7, 3)], alpha=0.125)
    case("fused_matmul_trans", "FusedMatMul", [real(2, 7, 5), real(2, 3, 7)], alpha=2.0, transA=1, transB=1)
    case("fused_matmul_weight", "FusedMatMul", [real(2, 5, 7), K(real(3, 7))], alpha=0.3, transB=1)
    case("fused_matmul_batch", "FusedMatMul", [real(5, 2, 3, 7), real(2, 3, 7, 4)], transBatchA=1)
    case("fused_matmul_batch_b", "FusedMatMul", [real(2, 3, 5, 7), real(7, 2, 3, 4)], transBatchB=1, transA=0)
    case("transpose_matmul", "TransposeMatMul", [real(2, 5, 7), real(2, 3, 7)], transB=1, alpha=0.5)


def attention():
    heads, size, inner = 2, 4, 12
    hidden = heads * size
    x, w, b = real(2, 5, inner), real(inner, 3 * hidden, scale=0.3), real(3 * hidden, scale=0.3)
    lengths = np.array([3, 5], np.int32)
    raw = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)
    past = real(2, 2, heads, 3, size)
    case("attention", "Attention", [x, K(w), K(b)], num_heads=heads)
    case("attention_no_bias", "Attention", [x, K(w)], num_heads=heads)
    case("attention_weight_blob", "Attention", [x, w, b], num_heads=heads)
    case("attention_scale", "Attention", [x, K(w), K(b)], num_heads=heads, scale=0.3)
    case("attention_lengths", "Attention", [x, K(w), K(b), lengths], num_heads=heads)
    case("attention_start_end", "Attention", [x, K(w), K(b), np.array([4, 5, 1, 2], np.int32)], num_heads=heads)
    case("attention_raw_mask", "Attention", [x, K(w), K(b), raw], num_heads=heads,
         mask_filter_value=-3.4028234663852886e38)
    case("attention_3d_mask", "Attention", [x, K(w), K(b), np.tril(np.ones((2, 5, 5), np.int32))], num_heads=heads)
    case("attention_causal", "Attention", [x, K(w), K(b)], num_heads=heads, unidirectional=1)
    case("attention_causal_mask", "Attention", [x, K(w), K(b), raw], num_heads=heads, unidirectional=1)
    case("attention_past", "Attention", [x, K(w), K(b), None, past], 2, num_heads=heads)
    case("attention_past_causal", "Attention", [x, K(w), K(b), whole(1, 2, 2, 8), past], 2, num_heads=heads,
         unidirectional=1)
    case("attention_present", "Attention", [x, K(w), K(b)], 2, num_heads=heads)
    case("attention_bias_input", "Attention", [x, K(w), K(b), None, None, real(1, heads, 5, 5)], num_heads=heads)
    case("attention_other_v", "Attention", [x, K(real(inner, 2 * hidden + 6)), K(real(2 * hidden + 6))],
         num_heads=heads, qkv_hidden_sizes=[hidden, hidden, 6])
    qx, qw = u8(2, 5, inner), i8(inner, 3 * hidden)
    scales = [K(scalar(0.01)), K(scalar(0.005))]
    zero = [K(scalar(130, np.uint8)), K(scalar(0, np.int8))]
    case("qattention", "QAttention", [qx, K(qw), K(b), *scales, None, *zero], num_heads=heads)
    case("qattention_no_zero", "QAttention", [qx, K(qw), K(b), *scales], num_heads=heads)
    case("qattention_columns", "QAttention",
         [qx, K(qw), K(b), scales[0], K(np.abs(real(3 * hidden, scale=0.01)) + F(0.001)), lengths, zero[0],
                                              K(i8(3 * hidden) // 16)], num_heads=heads)
    case("qattention_past", "QAttention", [qx, K(qw), K(b), *scales, None, *zero, past], 2, num_heads=heads,
         unidirectional=1)


def multi_head():
    n, h = 2, 4
    q, k, v = real(2, 3, n * h), real(2, 6, n * h), real(2, 6, n * 5)
    case("mha", "MultiHeadAttention", [q, k, v], num_heads=n)
    case("mha_bias", "MultiHeadAttention", [q, k, v, K(real(2 * n * h + n * 5))], num_heads=n)
    case("mha_scale", "MultiHeadAttention", [q, k, v], num_heads=n, scale=0.2)
    case("mha_lengths", "MultiHeadAttention", [q, k, v, None, np.array([4, 6], np.int32)], num_heads=n)
    case("mha_mask", "MultiHeadAttention", [q, k, v, None, whole(0, 2, 2, 6)], num_heads=n)
    case("mha_mask_3d", "MultiHeadAttention", [q, k, v, None, whole(0, 2, 2, 3, 6)], num_heads=n)
    case("mha_attention_bias", "MultiHeadAttention", [q, k, v, None, None, real(1, n, 3, 6)], num_heads=n)
    case("mha_attention_bias_batch", "MultiHeadAttention", [q, k, v, None, None, real(2, 1, 3, 6)], num_heads=n)
    s = [real(2, 3, n * h) for _ in range(3)]
    past = [real(2, n, 4, h), real(2, n, 4, h)]
    case("mha_past", "MultiHeadAttention", [*s, None, None, None, *past], 3, num_heads=n)
    case("mha_past_bias", "MultiHeadAttention", [*s, K(real(3 * n * h)), None, None, *past], 3, num_heads=n)
    case("mha_past_causal", "MultiHeadAttention", [*s, None, None, None, *past], 3, num_heads=n, unidirectional=1)
    case("mha_past_mask", "MultiHeadAttention", [*s, None, whole(1, 2, 2, 7), real(2, n, 3, 7), *past], 3, num_heads=n)
    case("mha_causal", "MultiHeadAttention", s, num_heads=n, unidirectional=1)
    case("mha_present", "MultiHeadAttention", s, 3, num_heads=n)
    case("mha_cross_ready", "MultiHeadAttention", [q, real(2, n, 6, h), real(2, n, 6, h)], num_heads=n)
    case("mha_cross_ready_bias", "MultiHeadAttention", [q, real(2, n, 6, h), real(2, n, 6, h), K(real(3 * n * h))],
         num_heads=n)
    case("mha_qk", "MultiHeadAttention", s, 4, num_heads=n)
    case("mha_packed_qkv", "MultiHeadAttention", [real(2, 3, n, 3, h)], num_heads=n)
    case("mha_packed_kv", "MultiHeadAttention", [q, real(2, 6, n, 2, h)], num_heads=n)


def group_query():
    n, few, h, s, p = 4, 2, 16, 3, 5
    op = "GroupQueryAttention"

    def qkv(batch, length):
        return [real(batch, length, n * h), real(batch, length, few * h), real(batch, length, few * h)]

    def past(batch, length=p):
        return [real(batch, few, length, h), real(batch, few, length, h)]

    def sizes(*totals):
        """What is in the cache afterwards, for each batch entry."""
        return [np.array(totals, np.int32) - 1, K(scalar(max(totals), np.int32))]
    cache = [K(np.cos(real(16, h // 2))), K(np.sin(real(16, h // 2)))]
    base = dict(num_heads=n, kv_num_heads=few)
    first = [*qkv(2, s), None, None, *sizes(s, s)]
    later = [*qkv(1, s), *past(1), *sizes(p + s)]
    each = [*qkv(2, 1), *past(2), *sizes(p + 1, p - 1)]
    case("gqa_prompt", op, first, 3, **base)
    padded = [*first[:5], *sizes(s, s - 2)]
    case("gqa_padded", op, padded, 3, **base)
    case("gqa_padded_rotary", op, [*padded, *cache], 3, do_rotary=1, **base)
    case("gqa_padded_window", op, padded, 3, local_window_size=1, **base)
    case("gqa_padded_known", op, [*first[:5], K(padded[5]), padded[6]], 3, **base)
    case("gqa_padded_both_ways", op, padded, 3, causal=0, **base)
    case("gqa_later", op, later, 3, **base)
    case("gqa_later_known", op, [*later[:5], K(later[5]), later[6]], 3, **base)
    case("gqa_ragged", op, each, 3, **base)
    case("gqa_ragged_known", op, [*each[:5], K(each[5]), each[6]], 3, **base)
    case("gqa_rotary_prompt", op, [*first, *cache], 3, do_rotary=1, **base)
    case("gqa_rotary_later", op, [*later, *cache], 3, do_rotary=1, **base)
    case("gqa_rotary_ragged", op, [*each, *cache], 3, do_rotary=1, **base)
    case("gqa_rotary_interleaved", op, [*each, *cache], 3, do_rotary=1, rotary_interleaved=1, **base)
    case("gqa_rotary_part", op,
         [real(2, s, n * 32), real(2, s, few * 32), real(2, s, few * 32), None, None, *sizes(s, s),
                                 K(np.cos(real(16, 8))), K(np.sin(real(16, 8)))], 3, do_rotary=1, **base)
    case("gqa_positions", op, [*later, *cache, whole(0, 16, 1, s, dtype=np.int64)], 3, do_rotary=1, **base)
    case("gqa_positions_prompt", op, [*first, *cache, np.array([[4, 9, 2], [7, 8, 9]], np.int64)], 3, do_rotary=1,
         **base)
    case("gqa_packed", op, [real(1, s, (n + 2 * few) * h), None, None, *later[3:]], 3, **base)
    case("gqa_packed_rotary", op, [real(2, s, (n + 2 * few) * h), None, None, *first[3:], *cache], 3, do_rotary=1,
         **base)
    case("gqa_window", op, later, 3, local_window_size=3, **base)
    case("gqa_window_ragged", op, each, 3, local_window_size=2, **base)
    case("gqa_softcap", op, later, 3, softcap=0.7, **base)
    case("gqa_scale", op, later, 3, scale=0.2, **base)
    case("gqa_smooth", op, later, 3, smooth_softmax=1, **base)
    case("gqa_sink", op, [*later, *[None] * 4, K(real(n))], 3, **base)
    case("gqa_bias", op, [*later, *[None] * 3, real(1, n, s, p + s)], 3, **base)
    case("gqa_bias_softcap", op, [*later, *[None] * 3, real(1, 1, s, p + s)], 3, softcap=0.7, **base)
    case("gqa_norm", op, [*later, *cache, *[None] * 5, K(real(h)), K(real(h))], 3, do_rotary=1, qk_norm_epsilon=1e-5,
         **base)
    case("gqa_both_ways", op, later, 3, causal=0, **base)
    case("gqa_both_ways_prompt", op, first, 3, causal=0, **base)
    case("gqa_qk", op, first, 4, qk_output=2, **base)
    case("gqa_qk_before", op, first, 4, qk_output=1, **base)
    case("gqa_long_cache", op, [*qkv(2, 1), *past(2, 9), *sizes(6, 4)], 3, **base)
    case("gqa_long_cache_prompt", op, [*qkv(2, s), *past(2, 9), *sizes(s, s)], 3, **base)
    case("gqa_empty_past", op, [*qkv(2, s), *past(2, 0), *sizes(s, s)], 3, **base)


def rotary():
    cos, sin = K(np.cos(real(9, 4))), K(np.sin(real(9, 4)))
    op = "RotaryEmbedding"
    where = whole(0, 9, 2, 3, dtype=np.int64)
    case("rotary", op, [real(2, 3, 16), where, cos, sin])
    case("rotary_first", op, [real(2, 3, 16), np.array([2], np.int64), cos, sin])
    case("rotary_4d", op, [real(2, 5, 3, 8), where, cos, sin])
    case("rotary_interleaved", op, [real(2, 5, 3, 8), where, cos, sin], interleaved=1)
    case("rotary_part", op, [real(2, 3, 32), where, cos, sin], num_heads=2, rotary_embedding_dim=8)
    case("rotary_heads", op, [real(2, 3, 16), where, cos, sin], num_heads=2)
    case("rotary_scale", op, [real(2, 3, 16), where, cos, sin], scale=2.0)


def quantized():
    def q(x, scale, zero):
        return [x, K(scalar(scale)), K(scalar(zero, x.dtype))]
    a, b = u8(2, 3, 8), u8(2, 3, 8)
    out = [K(scalar(0.04)), K(scalar(120, np.uint8))]
    case("qlinear_add", "QLinearAdd", [*q(a, 0.02, 128), *q(b, 0.015, 100), *out])
    case("qlinear_add_i8", "QLinearAdd",
         [*q(i8(2, 8), 0.02, 3), *q(i8(8), 0.0153, -7), K(scalar(0.0391)), K(scalar(2, np.int8))])
    case("qlinear_add_no_zero", "QLinearAdd", [a, K(scalar(0.02)), None, b, K(scalar(0.01)), None, K(scalar(0.04))])
    case("qlinear_mul", "QLinearMul", [*q(a, 0.02, 128), *q(b, 0.015, 100), *out])
    case("qlinear_mul_broadcast", "QLinearMul", [*q(a, 0.02, 128), *q(u8(8), 0.015, 100), *out])
    case("qlinear_where", "QLinearWhere", [whole(0, 2, 2, 3, 8, dtype=bool), *q(a, 0.02, 128), *q(b, 0.015, 100), *out])
    case("qlinear_concat", "QLinearConcat", [*out, *q(a, 0.02, 128), *q(u8(2, 5, 8), 0.05, 90)], axis=1)
    x = u8(1, 3, 9, 8)
    pool = [*q(x, 0.0213, 128), K(scalar(0.018)), K(scalar(125, np.uint8))]
    case("qlinear_pool", "QLinearAveragePool", pool, kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2])
    case("qlinear_pool_count", "QLinearAveragePool", pool, kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1)
    case("qlinear_pool_ceil", "QLinearAveragePool", pool, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
    case("qlinear_pool_last", "QLinearAveragePool", pool, kernel_shape=[2, 2], channels_last=1)
    case("qlinear_pool_i8", "QLinearAveragePool",
         [*q(i8(1, 3, 9, 8), 0.02, 3), K(scalar(0.018)), K(scalar(-2, np.int8))], kernel_shape=[3, 3])
    case("qlinear_global", "QLinearGlobalAveragePool", pool)
    case("qlinear_global_last", "QLinearGlobalAveragePool", pool, channels_last=1)
    prob = [*q(a, 0.05, 128), K(scalar(1 / 256)), K(scalar(0, np.uint8))]
    case("qlinear_softmax", "QLinearSoftmax", prob, axis=-1, opset=13)
    case("qlinear_softmax_old", "QLinearSoftmax", prob, axis=1, opset=11)
    case("qlinear_softmax_i8", "QLinearSoftmax",
         [*q(i8(2, 3, 8), 0.05, 4), K(scalar(1 / 256)), K(scalar(-128, np.int8))], axis=-1, opset=13)
    case("qlinear_sigmoid", "QLinearSigmoid", prob)
    case("qlinear_leaky", "QLinearLeakyRelu", [*q(a, 0.05, 128), *out], alpha=0.1)
    case("ms_quantize", "QuantizeLinear", [real(2, 3, 8), K(scalar(0.001)), K(scalar(30000, np.uint16))])
    case("ms_quantize_axis", "QuantizeLinear",
         [real(2, 3, 8), K(np.array([0.01, 0.02, 0.03], F)), K(np.array([1, 2, 3], np.int8))], axis=1)
    case("ms_dequantize", "DequantizeLinear",
         [whole(0, 65536, 2, 3, 8, dtype=np.uint16), K(scalar(0.001)), K(scalar(30000, np.uint16))])
    case("ms_dequantize_i32", "DequantizeLinear", [whole(-999, 999, 2, 3), K(scalar(0.001))])
    x, w = u8(4, 12), i8(12, 6)
    bias = K(whole(-3000, 3000, 6))
    case("qgemm", "QGemm", [*q(x, 0.02, 128), K(w), K(scalar(0.01)), K(scalar(0, np.int8)), bias, K(scalar(0.1)),
                            K(scalar(120, np.uint8))])
    case("qgemm_float", "QGemm", [*q(x, 0.02, 128), K(w), K(scalar(0.01)), K(scalar(0, np.int8)), bias])
    case("qgemm_columns", "QGemm", [*q(x, 0.02, 128), K(w.T.copy()), K(np.abs(real(6)) * F(0.01) + F(0.001)),
                                    K(i8(6) // 16)], transB=1, alpha=0.5)
    case("matmul_to_float", "MatMulIntegerToFloat",
         [x, K(w), K(scalar(0.02)), K(scalar(0.01)), K(scalar(128, np.uint8)), K(scalar(1, np.int8)), K(real(6))])
    case("matmul_to_float_columns", "MatMulIntegerToFloat",
         [u8(2, 4, 12), K(u8(12, 6)), scalar(0.02), K(np.abs(real(6)) + F(0.1)), scalar(3, np.uint8), K(u8(6))])
    case("matmul_to_float_bare", "MatMulIntegerToFloat", [x, K(w), K(scalar(0.02)), K(scalar(0.01))])
    y = real(2, 4, 12)
    case("dynamic_matmul", "DynamicQuantizeMatMul", [y, K(w), K(scalar(0.01)), K(scalar(1, np.int8)), K(real(6))],
         slack=1e-4)
    case("dynamic_matmul_columns", "DynamicQuantizeMatMul",
         [y, K(u8(12, 6)), K(np.abs(real(6)) * F(0.01) + F(0.001)), K(u8(6))], slack=1e-4)
    case("dynamic_matmul_bare", "DynamicQuantizeMatMul", [y, K(w), K(scalar(0.01))], slack=1e-4)


def nbits():
    for bits in (2, 4, 8):
        for k, block in ((64, 32), (40, 16)):
            n, blocks = 6, -(-k // block)
            row = -(-blocks * bits // 8)
            w, scales = K(u8(n, blocks, block * bits // 8)), np.abs(real(n, blocks)) * F(0.1) + F(0.01)
            sizes = dict(K=k, N=n, bits=bits, block_size=block)
            name = f"nbits_{bits}_{k}"
            case(name, "MatMulNBits", [real(2, 3, k), w, K(scales)], **sizes)
            case(name + "_zero", "MatMulNBits", [real(2, 3, k), w, K(scales), K(u8(n, row))], **sizes)
            case(name + "_bias", "MatMulNBits",
                 [real(3, k), w, K(scales.reshape(-1)), K(u8(n * row)), None, K(real(n))], **sizes)
            case(name + "_float_zero", "MatMulNBits", [real(2, 3, k), w, K(scales), K(real(n, blocks))], **sizes)
            case(name + "_accuracy", "MatMulNBits", [real(2, 3, k), w, K(scales)], accuracy_level=4, **sizes)
    case("gather_block", "GatherBlockQuantized",
         [K(u8(9, 32)), whole(0, 9, 2, 3, dtype=np.int64), K(np.abs(real(9, 2)))], bits=8, block_size=16)
    case("gather_block_4", "GatherBlockQuantized",
         [K(u8(9, 32)), whole(0, 9, 2, 3, dtype=np.int64), K(np.abs(real(9, 4))), K(u8(9, 2))], bits=4, block_size=16)


for family in (activations, norms, fused, attention, multi_head, group_query, rotary, quantized, nbits):
    family()
