/* SPDX-License-Identifier: Apache-2.0 */
/* Small networks on ggml's CPU backend, watched by examples/hooks/ggml_hook.h, for ggml_graph_test.py.
 * ggml_networks NETWORK WEIGHT_TYPE FAULT: values are drawn from a fixed seed; FAULT "none", or where a kernel goes
 * wrong. NETWORK: mlp, llama, rows (SET_ROWS writes the cache), flash32 and flash16 (flash attention, cache of that
 * width), tiles (the same of 70 queries), parts (of one query and 601 keys, shared by threads), experts (a mixture of
 * them), few (the same of one token), others. */
#define PLUMB_DUMP_IMPLEMENTATION
#include "ggml_hook.h"

#include <ggml-alloc.h>
#include <ggml-cpu.h>
#include <math.h>

typedef struct ggml_tensor* T;
static struct ggml_context* ctx;
static const char* fault;
static enum ggml_type weight_type;
static uint64_t drawn = 1;

static float Draw(void) { /* about normal */
  float sum = 0;
  for (int i = 0; i < 6; ++i) {
    drawn = drawn * 6364136223846793005ull + 1442695040888963407ull;
    sum += (float)(drawn >> 40) / 16777216.0f - 0.5f;
  }
  return sum * 1.4f;
}

static T Named(T tensor, const char* name) { return ggml_set_name(tensor, name); }
static T Leaf(enum ggml_type type, const char* name, int64_t a, int64_t b, int64_t c) {
  return Named(ggml_new_tensor_3d(ctx, type, a, b, c), name);
}
static T Input(enum ggml_type type, const char* name, int64_t a, int64_t b) {
  T tensor = Leaf(type, name, a, b, 1);
  ggml_set_input(tensor);
  return tensor;
}
static T Weight(const char* name, int64_t a, int64_t b) { return Leaf(weight_type, name, a, b, 1); }

/* --- networks */

enum { kWidth = 256, kHeads = 4, kKvHeads = 2, kSize = 64 };
static int tokens = 12, past = 8; /* what is computed, what the cache holds before */

static T Mlp(void) {
  T x = Input(GGML_TYPE_F32, "x", kWidth, tokens);
  T hidden = Named(ggml_mul_mat(ctx, Weight("w1", kWidth, 128 * 2), x), "h");
  T active = Named(ggml_relu(ctx, Named(ggml_add(ctx, hidden, Leaf(GGML_TYPE_F32, "b1", 256, 1, 1)), "hb")), "a");
  return Named(ggml_mul_mat(ctx, Weight("w2", kWidth, 10), active), "out");
}

/* One layer of a Llama with a cache of keys and values. */
static T Llama(int flash, int set_rows, enum ggml_type cache_type, struct ggml_cgraph* graph) {
  const float scale = 1.0f / sqrtf(kSize);
  const int kv = past + tokens;
  T ids = Input(GGML_TYPE_I32, "ids", tokens, 1), pos = Input(GGML_TYPE_I32, "pos", tokens, 1);
  T mask = Input(flash ? GGML_TYPE_F16 : GGML_TYPE_F32, "mask", kv, 128);
  T rows = set_rows ? Input(GGML_TYPE_I64, "rows", tokens, 1) : NULL;
  T cache_k = Leaf(cache_type, "cache_k", kKvHeads * kSize, past + tokens + 12, 1);
  T cache_v = Leaf(cache_type, "cache_v", kKvHeads * kSize, past + tokens + 12, 1);
  T x = Named(ggml_get_rows(ctx, Weight("embed", kWidth, 50), ids), "embedded");
  T norm = Named(ggml_mul(ctx, Named(ggml_rms_norm(ctx, x, 1e-5f), "norm"), Leaf(GGML_TYPE_F32, "g1", kWidth, 1, 1)),
                 "normed");
  T q = Named(ggml_mul_mat(ctx, Weight("wq", kWidth, kHeads * kSize), norm), "q");
  T k = Named(ggml_mul_mat(ctx, Weight("wk", kWidth, kKvHeads * kSize), norm), "k");
  T v = Named(ggml_mul_mat(ctx, Weight("wv", kWidth, kKvHeads * kSize), norm), "v");
  q = Named(ggml_rope_ext(ctx, ggml_reshape_3d(ctx, q, kSize, kHeads, tokens), pos, NULL, kSize, 0, 0, 10000, 1, 0, 1,
                          0, 0), "q_rope");
  k = Named(ggml_rope_ext(ctx, ggml_reshape_3d(ctx, k, kSize, kKvHeads, tokens), pos, NULL, kSize, 2, 0, 10000, 1, 0,
                          1, 0, 0), "k_rope");
  const size_t row = ggml_row_size(cache_type, kKvHeads * kSize);
  if (set_rows) {
    ggml_build_forward_expand(graph, Named(ggml_set_rows(ctx, cache_k, ggml_reshape_2d(ctx, k, kKvHeads * kSize,
                                                         tokens), rows), "k_set"));
    ggml_build_forward_expand(graph, Named(ggml_set_rows(ctx, cache_v, v, rows), "v_set"));
  } else {
    const int64_t n = kKvHeads * kSize * tokens;
    ggml_build_forward_expand(graph, ggml_cpy(ctx, k, ggml_view_1d(ctx, cache_k, n, row * past)));
    ggml_build_forward_expand(graph, ggml_cpy(ctx, v, ggml_view_1d(ctx, cache_v, n, row * past)));
  }
  const size_t head = ggml_row_size(cache_type, kSize);
  T keys = Named(ggml_view_3d(ctx, cache_k, kSize, kv, kKvHeads, row, head, 0), "keys");
  T values = Named(ggml_view_3d(ctx, cache_v, kSize, kv, kKvHeads, row, head, 0), "values");
  T queries = Named(ggml_permute(ctx, q, 0, 2, 1, 3), "queries"), mixed;
  if (flash) {
    mixed = Named(ggml_flash_attn_ext(ctx, queries, keys, values, mask, scale, 0, 0), "attended");
    mixed = ggml_reshape_2d(ctx, mixed, kHeads * kSize, tokens);
  } else {
    T scores = Named(ggml_mul_mat(ctx, keys, queries), "scores");
    T weights = Named(ggml_soft_max_ext(ctx, scores, mask, scale, 0), "weights");
    T turned = Named(ggml_cont(ctx, ggml_transpose(ctx, values)), "values_t");
    mixed = ggml_cont_2d(ctx, ggml_permute(ctx, Named(ggml_mul_mat(ctx, turned, weights), "heads"), 0, 2, 1, 3),
                         kHeads * kSize, tokens);
  }
  x = Named(ggml_add(ctx, x, Named(ggml_mul_mat(ctx, Weight("wo", kHeads * kSize, kWidth), mixed), "o")), "x1");
  norm = Named(ggml_mul(ctx, ggml_rms_norm(ctx, x, 1e-5f), Leaf(GGML_TYPE_F32, "g2", kWidth, 1, 1)), "normed2");
  T gate = Named(ggml_mul_mat(ctx, Weight("w_gate", kWidth, 512), norm), "gate");
  T up = Named(ggml_mul_mat(ctx, Weight("w_up", kWidth, 512), norm), "up");
  T act = Named(ggml_swiglu_split(ctx, gate, up), "swiglu");
  x = Named(ggml_add_inplace(ctx, Named(ggml_mul_mat(ctx, Weight("w_down", 512, kWidth), act), "down"), x), "x2");
  return Named(ggml_mul_mat(ctx, Weight("head", kWidth, 50), Named(ggml_norm(ctx, x, 1e-5f), "last")), "logits");
}

/* Two of six experts serve each token, their sums weighed as the router says. */
static T Experts(void) {
  enum { kExperts = 6, kUsed = 2, kHidden = 256 };
  T x = Input(GGML_TYPE_F32, "x", kWidth, tokens);
  T router = Named(ggml_mul_mat(ctx, Leaf(GGML_TYPE_F32, "w_router", kWidth, kExperts, 1), x), "router");
  T shares = Named(ggml_soft_max(ctx, router), "shares");
  T chosen = Named(ggml_argsort_top_k(ctx, shares, kUsed), "chosen");
  T weights = Named(ggml_get_rows(ctx, ggml_reshape_3d(ctx, shares, 1, kExperts, tokens), chosen), "scores");
  weights = ggml_reshape_2d(ctx, weights, kUsed, tokens);
  weights = Named(ggml_div(ctx, weights, Named(ggml_sum_rows(ctx, weights), "of_all")), "normal");
  T rows = ggml_reshape_3d(ctx, x, kWidth, 1, tokens);
  T up = Named(ggml_mul_mat_id(ctx, Leaf(weight_type, "w_up", kWidth, kHidden, kExperts), rows, chosen), "up");
  up = Named(ggml_add_id(ctx, up, Leaf(GGML_TYPE_F32, "b_up", kHidden, kExperts, 1), chosen), "up_biased");
  T gate = Named(ggml_mul_mat_id(ctx, Leaf(weight_type, "w_gate", kWidth, kHidden, kExperts), rows, chosen), "gate");
  T hidden = Named(ggml_swiglu_oai(ctx, gate, up, 1.702f, 3), "hidden");
  T down = Named(ggml_mul_mat_id(ctx, Leaf(weight_type, "w_down", kHidden, kWidth, kExperts), hidden, chosen), "down");
  T all = Named(ggml_mul(ctx, down, ggml_reshape_3d(ctx, weights, 1, kUsed, tokens)), "weighed");
  T sum = ggml_view_2d(ctx, all, kWidth, tokens, all->nb[2], 0);
  for (size_t i = 1; i < kUsed; ++i) {
    sum = ggml_add(ctx, sum, ggml_view_2d(ctx, all, kWidth, tokens, all->nb[2], i * all->nb[1]));
  }
  T best = Named(ggml_get_rows(ctx, sum, Named(ggml_top_k(ctx, Named(ggml_cont(ctx, ggml_transpose(ctx,
                 Named(ggml_sum_rows(ctx, sum), "sizes"))), "sizes_t"), tokens > 4 ? 4 : 1), "top")), "best");
  return Named(ggml_mul_mat(ctx, Weight("head", kWidth, 50), best), "logits");
}

#include "ggml_operators.h"

/* What the networks above have not. */
static T Others(void) {
  T x = Input(GGML_TYPE_F32, "x", kWidth, tokens);
  T y = Named(ggml_gelu(ctx, Named(ggml_scale(ctx, x, 4), "scaled")), "gelu");
  y = Named(ggml_concat(ctx, y, Named(ggml_silu(ctx, x), "silu"), 0), "both");
  y = Named(ggml_geglu(ctx, y), "geglu");
  y = Named(ggml_sub(ctx, y, Named(ggml_sqr(ctx, Named(ggml_gelu_quick(ctx, x), "quick")), "square")), "less");
  y = Named(ggml_soft_max(ctx, Named(ggml_diag_mask_inf(ctx, y, 3), "masked")), "softmax");
  y = Named(ggml_l2_norm(ctx, y, 1e-6f), "l2");
  y = Named(ggml_mul(ctx, y, Named(ggml_step(ctx, x), "step")), "chosen");
  y = Named(ggml_roll(ctx, y, 1, 0, 0, 0), "rolled"); /* ROLL is not in Plumb's table */
  return Named(ggml_mul_mat(ctx, Weight("w", kWidth, 30), y), "product");
}

/* --- faults: what a wrong kernel would have left behind, as soon as its operator is computed */

/* The attention that a kernel computes whose mask is one row further (mask), or that reads 0 for the values of the last
 * key (row). */
static void SpoilAttention(T tensor) {
  T q = tensor->src[0], k = tensor->src[1], v = tensor->src[2], mask = tensor->src[3];
  const int shifts = strcmp(fault, "mask") == 0, forgets = strcmp(fault, "row") == 0;
  for (int at = 0; at < tokens * kHeads && (shifts || forgets); ++at) {
    const int token = at / kHeads, head = at % kHeads, of = head * kKvHeads / kHeads;
    const int row = shifts && token + 1 < tokens ? token + 1 : token;
    const float* query = (const float*)((char*)q->data + token * q->nb[1] + head * q->nb[2]);
    double sum = 0, mixed[kSize] = {0};
    for (int i = 0; i < past + tokens; ++i) {
      const ggml_fp16_t* key = (const ggml_fp16_t*)((char*)k->data + i * k->nb[1] + of * k->nb[2]);
      const ggml_fp16_t* value = (const ggml_fp16_t*)((char*)v->data + i * v->nb[1] + of * v->nb[2]);
      double score = 0;
      for (int d = 0; d < kSize; ++d) {
        score += ggml_fp16_to_fp32(ggml_fp32_to_fp16(query[d])) * ggml_fp16_to_fp32(key[d]);
      }
      score = exp(score / 8 + ggml_fp16_to_fp32(((const ggml_fp16_t*)((char*)mask->data + row * mask->nb[1]))[i]));
      sum += score;
      if (forgets && i == past + tokens - 1) continue;
      for (int d = 0; d < kSize; ++d) mixed[d] += score * ggml_fp16_to_fp32(value[d]);
    }
    for (int d = 0; d < kSize; ++d) ((float*)tensor->data)[at * kSize + d] = (float)(mixed[d] / sum);
  }
}

static void Spoil(T tensor) {
  float* values = (float*)tensor->data;
  if (strcmp(fault, "rope") == 0 && strcmp(tensor->name, "k_rope") == 0) { /* pairs side by side, not in halves */
    const float* from = (const float*)tensor->src[0]->data;
    const int32_t* pos = (const int32_t*)tensor->src[1]->data;
    for (int64_t i = 0; i < ggml_nelements(tensor); i += 2) {
      const int64_t at = i % kSize, token = i / (kSize * kKvHeads);
      const float angle = (float)pos[token] * powf(10000, -(float)at / kSize);
      values[i] = from[i] * cosf(angle) - from[i + 1] * sinf(angle);
      values[i + 1] = from[i] * sinf(angle) + from[i + 1] * cosf(angle);
    }
  }
  if (strcmp(fault, "mask") == 0 && strcmp(tensor->name, "weights") == 0) { /* each row may read one key more */
    const float *scores = (const float*)tensor->src[0]->data, *mask = (const float*)tensor->src[1]->data;
    const int64_t keys = tensor->ne[0], queries = tensor->ne[1];
    for (int64_t row = 0; row < ggml_nrows(tensor); ++row) {
      const int64_t next = row % queries + 1 < queries ? row % queries + 1 : row % queries;
      double sum = 0;
      for (int64_t i = 0; i < keys; ++i) sum += exp((double)(scores[row * keys + i] / 8 + mask[next * keys + i]));
      for (int64_t i = 0; i < keys; ++i) {
        values[row * keys + i] = (float)(exp((double)(scores[row * keys + i] / 8 + mask[next * keys + i])) / sum);
      }
    }
  }
  if (tensor->op == GGML_OP_FLASH_ATTN_EXT && strcmp(fault, "stale") != 0) SpoilAttention(tensor);
  if (strcmp(fault, "gain") == 0 && strcmp(tensor->name, "down") == 0) { /* as of a scale that is read twice */
    for (int64_t i = 0; i < ggml_nelements(tensor); ++i) values[i] *= 1.01f;
  }
  if (strcmp(fault, "places") == 0 && strcmp(tensor->name, "scores") == 0) { /* the first token's for all */
    for (int64_t i = tensor->ne[1]; i < ggml_nelements(tensor); ++i) values[i] = values[i % tensor->ne[1]];
  }
  if (strcmp(fault, "order") == 0 && tensor->op == GGML_OP_ARGSORT) { /* the second best comes first */
    int32_t* places = (int32_t*)tensor->data;
    const int32_t first = places[0];
    places[0] = places[1], places[1] = first;
  }
  if (strcmp(fault, "top") == 0 && strcmp(tensor->name, "top") == 0) { /* the one that comes last of all */
    const float* sizes = (const float*)tensor->src[0]->data;
    for (int32_t i = 0; i < tokens; ++i) {
      if (sizes[i] < sizes[((int32_t*)tensor->data)[0]]) ((int32_t*)tensor->data)[0] = i;
    }
  }
  if (strcmp(fault, "stale") == 0 && strcmp(tensor->name, "keys") == 0) { /* the cache's last row is the old one */
    memset((char*)tensor->data + (past + tokens - 1) * tensor->nb[1], 0, tensor->nb[1]);
  }
}

/* The scale of one block of the weight, between what the hook saw and what the kernel reads. */
static void SpoilBlock(T tensor) {
  if (strcmp(fault, "block") != 0 || tensor->op != GGML_OP_MUL_MAT || strcmp(tensor->src[0]->name, "w_up") != 0) return;
  uint8_t* block = (uint8_t*)tensor->src[0]->data + 7 * ggml_row_size(weight_type, kWidth);
  const int scale = weight_type == GGML_TYPE_Q6_K ? 208 : weight_type == GGML_TYPE_Q3_K ? 108
                    : weight_type == GGML_TYPE_Q2_K ? 80 : 0;
  block[scale + 1] ^= 4; /* the exponent of an f16 */
}

static bool Hook(T tensor, bool ask, void* dump) {
  if (!ask) Spoil(tensor);
  const bool more = plumb_ggml_hook(tensor, ask, dump);
  if (ask) SpoilBlock(tensor);
  return more;
}

static void Fill(T tensor) {
  const int64_t count = ggml_nelements(tensor);
  float* values = (float*)malloc(sizeof(float) * (size_t)count);
  for (int64_t i = 0; i < count; ++i) values[i] = Draw() / (tensor->type == weight_type && tensor->flags == 0 ? 16 : 1);
  if (strcmp(tensor->name, "mask") == 0) {
    for (int64_t i = 0; i < count; ++i) values[i] = i % tensor->ne[0] > past + i / tensor->ne[0] ? -INFINITY : 0;
  }
  if (tensor->type == GGML_TYPE_I32) {
    for (int32_t i = 0; i < count; ++i) {
      const int32_t few = strcmp(tensor->name, "slot_of") == 0 ? 5 : strcmp(tensor->name, "row_of") == 0 ? 4 : 50;
      ((int32_t*)tensor->data)[i] = strcmp(tensor->name, "pos") == 0 ? past + i : (i * 7 + 3) % few;
    }
  } else if (tensor->type == GGML_TYPE_I64) {
    for (int64_t i = 0; i < count; ++i) ((int64_t*)tensor->data)[i] = past + i;
  } else if (tensor->type == GGML_TYPE_F32) {
    memcpy(tensor->data, values, sizeof(float) * (size_t)count);
  } else {
    ggml_quantize_chunk(tensor->type, values, tensor->data, 0, count / tensor->ne[0], tensor->ne[0], NULL);
  }
  free(values);
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const char* network = argv[1];
  fault = argv[3];
  weight_type = GGML_TYPE_COUNT;
  for (int type = 0; type < GGML_TYPE_COUNT; ++type) {
    const char* name = ggml_type_name((enum ggml_type)type);
    if (name != NULL && strcmp(name, argv[2]) == 0) weight_type = (enum ggml_type)type;
  }
  const struct ggml_init_params params = {ggml_tensor_overhead() * 512 + ggml_graph_overhead(), NULL, true};
  ctx = ggml_init(params);
  struct ggml_cgraph* graph = ggml_new_graph(ctx);
  if (strcmp(network, "tiles") == 0) tokens = 70;
  if (strcmp(network, "parts") == 0) tokens = 1, past = 600;
  if (strcmp(network, "few") == 0) tokens = 1;
  T out = strcmp(network, "mlp") == 0      ? Mlp()
          : strcmp(network, "llama") == 0  ? Llama(0, 0, GGML_TYPE_F16, graph)
          : strcmp(network, "rows") == 0   ? Llama(0, 1, GGML_TYPE_F16, graph)
          : strcmp(network, "experts") == 0 || strcmp(network, "few") == 0 ? Experts()
          : strcmp(network, "images") == 0   ? Images()
          : strcmp(network, "states") == 0   ? States()
          : strcmp(network, "elements") == 0 ? Elements()
          : strcmp(network, "others") == 0 ? Others()
                                           : Llama(1, 1, network[5] == '3' ? GGML_TYPE_F32 : GGML_TYPE_F16, graph);
  ggml_build_forward_expand(graph, out);
  ggml_backend_t cpu = ggml_backend_cpu_init();
  ggml_backend_cpu_set_n_threads(cpu, strcmp(network, "parts") == 0 ? 2 : 1);
  ggml_backend_alloc_ctx_tensors(ctx, cpu);
  for (T tensor = ggml_get_first_tensor(ctx); tensor != NULL; tensor = ggml_get_next_tensor(ctx, tensor)) {
    if (tensor->op == GGML_OP_NONE && tensor->view_src == NULL) Fill(tensor);
  }
  plumb_dumper* dump = plumb_dump_open("ggml", network);
  ggml_backend_sched_t sched = ggml_backend_sched_new(&cpu, NULL, 1, GGML_DEFAULT_GRAPH_SIZE, false, false);
  ggml_backend_sched_set_eval_callback(sched, Hook, dump);
  plumb_dump_forward(dump);
  const enum ggml_status status = ggml_backend_sched_graph_compute(sched, graph);
  ggml_backend_sched_free(sched);
  ggml_backend_free(cpu);
  ggml_free(ctx);
  return plumb_dump_close(dump) == 0 && status == GGML_STATUS_SUCCESS ? 0 : 1;
}
