/* ggml and llama.cpp: what each operator computed, what it read and its parameters, written by plumb_dump.h from where
 * it lies, whatever its strides. With DUMP_INPUT_BLOB=1, too, such a dump carries its own graph: no model is needed.
 *
 *   plumb_dumper* dump = plumb_dump_open("llama.cpp b6000", "net.gguf");    with DUMP_OUTPUT_BLOB=1, else NULL
 *   params.cb_eval = plumb_ggml_hook; params.cb_eval_user_data = dump;      llama_context_params, or in ggml alone:
 *   ggml_backend_sched_set_eval_callback(sched, plumb_ggml_hook, dump);
 *   plumb_dump_forward(dump);                                               before each llama_decode
 *   plumb_dump_close(dump);
 *
 * Tensors are named as the graph names them (ggml_set_name, ggml_format_name); the second one of a name is x@2. */
#include <ggml-backend.h>
#include <ggml.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plumb_dump.h"

typedef struct plumb_ggml_known {
  const struct ggml_tensor* tensor;
  char base[GGML_MAX_NAME], name[GGML_MAX_NAME + 16];
} plumb_ggml_known;

static const char* plumb_ggml_name(const struct ggml_tensor* tensor) {
  static plumb_ggml_known* all[1 << 16];
  int i, same = 1;
  for (i = 0; i < (1 << 16) - 1 && all[i] != NULL; ++i) {
    if (strcmp(all[i]->base, tensor->name) != 0) continue;
    if (all[i]->tensor == tensor) return all[i]->name;
    ++same;
  }
  if (all[i] == NULL) all[i] = (plumb_ggml_known*)calloc(1, sizeof(plumb_ggml_known));
  if (all[i] == NULL) return tensor->name;
  all[i]->tensor = tensor;
  memcpy(all[i]->base, tensor->name, GGML_MAX_NAME);
  snprintf(all[i]->name, sizeof(all[i]->name), same > 1 ? "%s@%d" : "%s", tensor->name, same);
  return all[i]->name;
}

static int plumb_ggml_dtype(enum ggml_type type) {
  switch (type) {
    case GGML_TYPE_F32: return PLUMB_F32;
    case GGML_TYPE_F16: return PLUMB_F16;
    case GGML_TYPE_BF16: return PLUMB_BF16;
    case GGML_TYPE_I32: return PLUMB_I32;
    case GGML_TYPE_I64: return PLUMB_I64;
    default: return PLUMB_U8; /* the bytes of its blocks */
  }
}

/* Whole numbers behind each other, of 4 or 8 bytes; returns where they were written. */
static const char* plumb_ggml_list(char text[256], const void* values, int count, int is_wide) {
  int i, length = 0;
  for (i = 0; i < count && length < 240; ++i) {
    const int64_t value = is_wide ? ((const int64_t*)values)[i] : ((const int32_t*)values)[i];
    length += snprintf(text + length, (size_t)(256 - length), i == 0 ? "%" PRId64 : " %" PRId64, value);
  }
  return text;
}

/* `reader`: the operator that reads it in that slot; NULL: it was just computed. */
static void plumb_ggml_write(plumb_dumper* dump, const struct ggml_tensor* tensor, const struct ggml_tensor* reader,
                             int slot) {
  char text[4][256];
  plumb_dump_place place = PLUMB_DUMP_PLACE_INIT;
  const char* inputs[GGML_MAX_SRC + 1] = {NULL};
  int64_t dims[GGML_MAX_DIMS], strides[GGML_MAX_DIMS], nb[GGML_MAX_DIMS], offset = (int64_t)tensor->view_offs;
  const int rank = ggml_n_dims(tensor), dtype = plumb_ggml_dtype(tensor->type), blocks = dtype == PLUMB_U8;
  void *copy = NULL, *data = tensor->data;
  int count = GGML_MAX_SRC; /* of inputs; one in their midst may be missing */
  while (count > 0 && tensor->src[count - 1] == NULL) --count;
  for (int i = 0; i < count; ++i) inputs[i] = tensor->src[i] == NULL ? "" : plumb_ggml_name(tensor->src[i]);
  for (int i = 0; i < GGML_MAX_DIMS; ++i) nb[i] = (int64_t)tensor->nb[i];
  for (int i = 0; i < rank; ++i) { /* ggml counts dims from the innermost one; here the outermost comes first */
    dims[i] = tensor->ne[rank - 1 - i];
    strides[i] = nb[rank - 1 - i];
  }
  if (blocks) {
    dims[rank - 1] = (int64_t)ggml_row_size(tensor->type, tensor->ne[0]);
    strides[rank - 1] = 1;
  }
  const char* attributes[] = {"type",        ggml_type_name(tensor->type),
                              "ne",          plumb_ggml_list(text[0], tensor->ne, GGML_MAX_DIMS, 1),
                              "nb",          plumb_ggml_list(text[1], nb, GGML_MAX_DIMS, 1),
                              "op_params",   plumb_ggml_list(text[2], tensor->op_params, 16, 0),
                              "view_of",     tensor->view_src == NULL ? "" : plumb_ggml_name(tensor->view_src),
                              "view_offset", plumb_ggml_list(text[3], &offset, 1, 1),
                              "buffer",      tensor->buffer == NULL ? "" : ggml_backend_buffer_name(tensor->buffer),
                              NULL};
  place.type = ggml_op_desc(tensor);
  place.inputs = inputs;
  place.attributes = attributes;
  place.is_input = reader != NULL;
  place.slot = slot;
  if (reader != NULL) place.layer = plumb_ggml_name(reader);
  place.constant = blocks || (reader != NULL && tensor->buffer != NULL &&
                              ggml_backend_buffer_get_usage(tensor->buffer) == GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
  if (!plumb_dump_wants(dump, &place, plumb_ggml_name(tensor))) return;
  if (tensor->buffer != NULL && !ggml_backend_buffer_is_host(tensor->buffer)) {
    const char* place_name = ggml_backend_buffer_name(tensor->buffer); /* weights in an order of a CPU's own: */
    if (strncmp(place_name, "CPU", 3) == 0 || strncmp(place_name, "AMX", 3) == 0) return; /* use_extra_bufts = false */
    data = copy = malloc(ggml_nbytes(tensor));
    if (copy != NULL) ggml_backend_tensor_get(tensor, copy, 0, ggml_nbytes(tensor));
  }
  plumb_dump_write(dump, &place, plumb_ggml_name(tensor), data, (plumb_dtype)dtype, rank, dims, strides);
  free(copy);
}

/* ask: whether the scheduler shall stop behind this tensor; then it comes once more, computed. Before that, what it
 * reads and no operator computed is there as it is read: weights, inputs, caches. */
static bool plumb_ggml_hook(struct ggml_tensor* tensor, bool ask, void* dump) {
  for (int i = 0; ask && dump != NULL && i < GGML_MAX_SRC; ++i) {
    if (tensor->src[i] != NULL && tensor->src[i]->op == GGML_OP_NONE)
      plumb_ggml_write((plumb_dumper*)dump, tensor->src[i], tensor, i);
  }
  if (!ask) plumb_ggml_write((plumb_dumper*)dump, tensor, NULL, 0);
  return ask ? dump != NULL : true;
}
