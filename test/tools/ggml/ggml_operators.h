// SPDX-License-Identifier: Apache-2.0
/* Operators of ggml one by one, for ggml_networks.c: networks "images", "states", "elements". */
#ifndef PLUMB_TEST_TOOLS_GGML_OPERATORS_H_
#define PLUMB_TEST_TOOLS_GGML_OPERATORS_H_

/* All summed up, so that each is read. */
static T Total(T total, T part) {
  part = ggml_sum(ctx, part->type == GGML_TYPE_F16 ? ggml_cast(ctx, part, GGML_TYPE_F32) : part);
  return total == NULL ? part : ggml_add(ctx, total, part);
}

static T Images(void) {
  T x = Named(ggml_new_tensor_4d(ctx, GGML_TYPE_F32, 11, 9, 6, 2), "x");
  ggml_set_input(x);
  T filter = Named(ggml_new_tensor_4d(ctx, weight_type, 3, 2, 6, 5), "w_conv");
  T own = Named(ggml_new_tensor_4d(ctx, weight_type, 3, 3, 1, 6), "w_dw");
  T rows = ggml_reshape_3d(ctx, x, 11, 27, 4);
  T total = Total(NULL, Named(ggml_conv_2d_direct(ctx, filter, x, 2, 1, 1, 0, 1, 2), "convolved"));
  total = Total(total, Named(ggml_conv_2d_dw_direct(ctx, own, x, 1, 2, 1, 1, 1, 1), "depthwise"));
  T columns = Named(ggml_im2col(ctx, filter, x, 1, 2, 1, 0, 2, 1, true, GGML_TYPE_F32), "columns");
  total = Total(total, columns);
  total = Total(total, Named(ggml_im2col(ctx, Leaf(GGML_TYPE_F32, "w_row", 4, 27, 3), rows, 2, 0, 3, 0, 1, 0, false,
                                         GGML_TYPE_F16),
                             "row_columns"));
  total = Total(total, Named(ggml_pool_2d(ctx, x, GGML_OP_POOL_MAX, 3, 2, 2, 1, 1, 0), "largest"));
  total = Total(total, Named(ggml_pool_2d(ctx, x, GGML_OP_POOL_AVG, 3, 2, 1, 2, 1, 1), "average"));
  total = Total(total, Named(ggml_pool_1d(ctx, x, GGML_OP_POOL_AVG, 2, 2, 0), "row_average"));
  total = Total(total, Named(ggml_pad_ext(ctx, x, 1, 2, 0, 3, 1, 0, 0, 1), "padded"));
  total = Total(total, Named(ggml_pad_reflect_1d(ctx, x, 2, 3), "reflected"));
  total = Total(total, Named(ggml_group_norm(ctx, x, 3, 1e-5f), "group_norm"));
  total = Total(total, Named(ggml_upscale(ctx, x, 2, GGML_SCALE_MODE_NEAREST), "nearest"));
  total = Total(total, Named(ggml_interpolate(ctx, x, 17, 5, 6, 2, GGML_SCALE_MODE_NEAREST), "uneven"));
  total = Total(total, Named(ggml_interpolate(ctx, x, 17, 5, 6, 2, GGML_SCALE_MODE_BILINEAR), "bilinear"));
  total = Total(total,
                Named(ggml_interpolate(ctx, x, 17, 5, 6, 2, GGML_SCALE_MODE_BILINEAR | GGML_SCALE_FLAG_ALIGN_CORNERS),
                      "corners"));
  total = Total(total, Named(ggml_interpolate(ctx, x, 17, 14, 6, 2, GGML_SCALE_MODE_BICUBIC), "bicubic"));
  T times = Named(ggml_scale(ctx, Input(GGML_TYPE_F32, "t", 5, 1), 300), "times");
  return Total(total, Named(ggml_timestep_embedding(ctx, times, 33, 10000), "embedded"));
}

static T Positive(const char* name, int64_t a, int64_t b, int64_t c, int64_t d) { /* between 0 and 1 */
  return ggml_sigmoid(ctx, Named(ggml_new_tensor_4d(ctx, GGML_TYPE_F32, a, b, c, d), name));
}
static T Drawn(const char* name, int64_t a, int64_t b, int64_t c, int64_t d) {
  return Named(ggml_new_tensor_4d(ctx, GGML_TYPE_F32, a, b, c, d), name);
}

/* Two sequences of six tokens, four heads of 32. */
static T States(void) {
  enum { kSeqs = 2, kLength = 6, kHead = 32, kCount = 4, kAll = kSeqs * kLength, kState = 16 };
  T state = Drawn("state", kHead * kHead * kCount, kSeqs, 1, 1);
  T k = Drawn("k", kHead, kCount, kAll, 1), v = Drawn("v", kHead, kCount, kAll, 1);
  T r = Drawn("r", kHead, kCount, kAll, 1);
  T decay = Positive("decay", kHead, kCount, kAll, 1), first = Drawn("first", kHead, kCount, 1, 1);
  T total = Total(NULL, Named(ggml_rwkv_wkv6(ctx, k, v, r, first, decay, state), "wkv6"));
  T small = Named(ggml_scale(ctx, r, 0.1f), "small");
  total = Total(total, Named(ggml_rwkv_wkv7(ctx, r, decay, k, v, ggml_neg(ctx, small), small, state), "wkv7"));
  total = Total(total, Named(ggml_gated_linear_attn(ctx, k, v, r, decay, state, 0.35f), "gla"));
  T q4 = Drawn("q4", kHead, 2, kLength, kSeqs), k4 = ggml_l2_norm(ctx, Drawn("k4", kHead, 2, kLength, kSeqs), 1e-6f);
  T v4 = Drawn("v4", kHead, kCount, kLength, kSeqs), gate = Drawn("gate", 1, kCount, kLength, kSeqs);
  gate = ggml_neg(ctx, ggml_softplus(ctx, gate));
  T beta = Positive("beta", 1, kCount, kLength, kSeqs), s4 = ggml_reshape_4d(ctx, state, kHead, kHead, kCount, kSeqs);
  total = Total(total, Named(ggml_gated_delta_net(ctx, q4, k4, v4, gate, beta, s4, 3), "gdn"));
  T gates = ggml_neg(ctx, Positive("gates", kHead, kCount, kLength, kSeqs));
  total = Total(total, Named(ggml_gated_delta_net(ctx, q4, k4, v4, gates, beta, s4, 1), "kda"));
  T x = Drawn("x", kHead, kCount, kLength, kSeqs), dt = Drawn("dt", kCount, kLength, kSeqs, 1);
  T b = Drawn("b", kState, 2, kLength, kSeqs), c = Drawn("c", kState, 2, kLength, kSeqs);
  T slots = Drawn("slots", kState, kHead, kCount, 5), ids = Input(GGML_TYPE_I32, "slot_of", kSeqs, 1);
  T a = ggml_neg(ctx, Positive("a", 1, kCount, 1, 1)), a_each = ggml_neg(ctx, Positive("a_each", kState, kCount, 1, 1));
  total = Total(total, Named(ggml_ssm_scan(ctx, slots, x, dt, a, b, c, ids, 2), "mamba2"));
  total = Total(total, Named(ggml_ssm_scan(ctx, slots, x, dt, a_each, b, c, ids, 1), "mamba1"));
  T rows = Drawn("rows", kLength + 3, 7, kSeqs, 1), taps = Drawn("taps", 4, 7, 1, 1);
  total = Total(total, Named(ggml_ssm_conv(ctx, rows, taps), "ssm_conv"));
  return Total(total, Named(ggml_cumsum(ctx, rows), "cumsum"));
}

static T Elements(void) {
  T x = Named(ggml_scale(ctx, Input(GGML_TYPE_F32, "x", kWidth, tokens), 4), "x4"), total = NULL;
  T(*const unary[])
  (struct ggml_context*, T) = {ggml_sgn,   ggml_step, ggml_elu, ggml_hardswish, ggml_hardsigmoid, ggml_expm1,
                               ggml_floor, ggml_ceil, ggml_abs, ggml_round,     ggml_softplus,    ggml_trunc,
                               ggml_neg,   ggml_relu, ggml_exp, ggml_tanh,      ggml_gelu_erf,    ggml_sigmoid};
  for (size_t i = 0; i < sizeof(unary) / sizeof(unary[0]); ++i) {
    total = Total(total, ggml_scale(ctx, unary[i](ctx, x), 0.01f));
  }
  total = Total(total, Named(ggml_leaky_relu(ctx, x, 0.1f, false), "leaky"));
  total = Total(total, Named(ggml_xielu(ctx, x, 0.8f, 0.7f, 0.5f, -1e-6f), "xielu"));
  total = Total(total, Named(ggml_swiglu_clamp(ctx, x, Input(GGML_TYPE_F32, "y", kWidth, tokens), 2), "clamped"));
  T table = Named(ggml_reshape_4d(ctx, x, kWidth / 4, 4, tokens / 2, 2), "table");
  T ids = Input(GGML_TYPE_I32, "row_of", 3, tokens);
  return Total(total, Named(ggml_get_rows(ctx, table, ggml_reshape_3d(ctx, ids, 3, tokens / 2, 2)), "picked"));
}

#endif /* PLUMB_TEST_TOOLS_GGML_OPERATORS_H_ */
