// SPDX-License-Identifier: Apache-2.0
/* ggml and llama.cpp: what each operator computed, read and was told, written by plumb_dump.h from where it lies; with
 * DUMP_INPUT_BLOB=1, too, the dump carries its own graph and needs no model (doc/subjects.md). In llama_context_params
 * cb_eval = plumb_ggml_hook, cb_eval_user_data = plumb_dump_open("llama.cpp b6000", "net.gguf"); in ggml alone
 * ggml_backend_sched_set_eval_callback(sched, plumb_ggml_hook, dump). plumb_dump_forward comes before each run. */
#include <ggml-backend.h>
#include <stdlib.h>
#include <string.h>
#include "names.h"
#include "plumb_dump.h"

/* What ggml_set_name said; the second tensor of that name is x@2. */
static const char* plumb_ggml_name(const struct ggml_tensor* t) { return plumb_hook_name(t, t->name); }

/* `by`: the operator that reads it in that slot; NULL: it was just computed. ggml says the innermost dim first. */
static void plumb_ggml_write(plumb_dumper* dump, const struct ggml_tensor* t, const struct ggml_tensor* by, int slot) {
  if (t->buffer == NULL) return; /* it takes no memory */
  static const char* const dtypes[] = {"f32", "f16", "bf16", "f64", "i8", "", "i16", "", "i32", "", "i64"};
  const char *type = ggml_type_name(t->type), *buffer = ggml_backend_buffer_name(t->buffer), *op = ggml_op_desc(t),
             *view_of = t->view_src == NULL ? "" : plumb_ggml_name(t->view_src), *inputs[GGML_MAX_SRC + 1] = {NULL},
             *layer = by == NULL ? NULL : plumb_ggml_name(by);
  int dtype = PLUMB_I64, rank = ggml_n_dims(t), is_input = by != NULL, host = ggml_backend_buffer_is_host(t->buffer);
  while (dtype >= 0 && strcmp(dtypes[dtype], type) != 0) --dtype; /* none: the bytes of blocks */
  const int64_t row = dtype < 0 ? (int64_t)ggml_row_size(t->type, t->ne[0]) : t->ne[0];
  const int64_t dims[] = {t->ne[3], t->ne[2], t->ne[1], row}, step = dtype < 0 ? 1 : (int64_t)t->nb[0];
  const int64_t strides[] = {(int64_t)t->nb[3], (int64_t)t->nb[2], (int64_t)t->nb[1], step};
  const int constant = dtype < 0 || ggml_backend_buffer_get_usage(t->buffer) == GGML_BACKEND_BUFFER_USAGE_WEIGHTS;
  char ne[128] = "", nb[128], offset[32], params[256] = "", *end = params, *to = ne;
  for (int i = 0; i < 4; ++i) to += sprintf(to, i == 0 ? "%lld" : " %lld", (long long)t->ne[i]);
  for (int i = 0; i < 16; ++i) end += sprintf(end, i == 0 ? "%d" : " %d", t->op_params[i]);
  sprintf(nb, "%zu %zu %zu %zu", t->nb[0], t->nb[1], t->nb[2], t->nb[3]), sprintf(offset, "%zu", t->view_offs);
  for (int i = GGML_MAX_SRC - 1; i >= 0; --i) /* one in their midst may be missing */
    inputs[i] = t->src[i] != NULL ? plumb_ggml_name(t->src[i]) : inputs[i + 1] != NULL ? "" : NULL;
  const char* attributes[] = {"type",    type,    "ne",          ne,     "nb",     nb,     "op_params", params,
                              "view_of", view_of, "view_offset", offset, "buffer", buffer, NULL};
  const plumb_dump_place place = {layer, op, -1, is_input, slot, constant, 0, NULL, NULL, inputs, attributes};
  if (!plumb_dump_wants(dump, &place, plumb_ggml_name(t))) return;
  if (!host && (strncmp(buffer, "CPU", 3) == 0 || strncmp(buffer, "AMX", 3) == 0)) return; /* packed */
  void* copy = host ? NULL : malloc(ggml_nbytes(t));
  if (copy != NULL) ggml_backend_tensor_get(t, copy, 0, ggml_nbytes(t));
  plumb_dump_write(dump, &place, plumb_ggml_name(t), host ? t->data : copy, dtype < 0 ? PLUMB_U8 : (plumb_dtype)dtype,
                   rank, dims + 4 - rank, strides + 4 - rank);
  free(copy);
}

/* Before an operator runs (ask): what it reads and no operator computed, as it is now. Then what it wrote. */
static bool plumb_ggml_hook(struct ggml_tensor* t, bool ask, void* dump) {
  for (int i = 0; ask && dump != NULL && i < GGML_MAX_SRC; ++i)
    if (t->src[i] != NULL && t->src[i]->op == GGML_OP_NONE) plumb_ggml_write((plumb_dumper*)dump, t->src[i], t, i);
  if (!ask) plumb_ggml_write((plumb_dumper*)dump, t, NULL, 0);
  return !ask || dump != NULL;
}
