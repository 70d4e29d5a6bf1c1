/* ggml and llama.cpp: what each operator computed, written by plumb_dump.h from where it lies, whatever its strides.
 *
 *   plumb_dumper* dump = plumb_dump_open("llama.cpp b6000", "net.gguf");    with DUMP_OUTPUT_BLOB=1, else NULL
 *   params.cb_eval = plumb_ggml_hook; params.cb_eval_user_data = dump;      llama_context_params, or in ggml alone:
 *   ggml_backend_sched_set_eval_callback(sched, plumb_ggml_hook, dump);
 *   plumb_dump_forward(dump);                                               before each llama_decode
 *   plumb_dump_close(dump);
 *
 * Tensors are named as the graph names them (ggml_set_name, ggml_format_name). Quantised ones are weights, which no
 * operator computes. A view of another tensor (reshape, permute) is written as it is read. */
#include <ggml-backend.h>
#include <ggml.h>
#include <stdlib.h>

#include "plumb_dump.h"

static int plumb_ggml_dtype(enum ggml_type type) {
  switch (type) {
    case GGML_TYPE_F32: return PLUMB_F32;
    case GGML_TYPE_F16: return PLUMB_F16;
    case GGML_TYPE_BF16: return PLUMB_BF16;
    case GGML_TYPE_I32: return PLUMB_I32;
    case GGML_TYPE_I64: return PLUMB_I64;
    default: return -1;
  }
}

/* ggml counts dims from the innermost one; here the outermost comes first. */
static void plumb_ggml_write(plumb_dumper* dump, struct ggml_tensor* tensor, int is_input) {
  plumb_dump_place place = PLUMB_DUMP_PLACE_INIT;
  int64_t dims[GGML_MAX_DIMS], strides[GGML_MAX_DIMS];
  const char* inputs[GGML_MAX_SRC + 1] = {NULL};
  const int rank = ggml_n_dims(tensor), dtype = plumb_ggml_dtype(tensor->type);
  void *copy = NULL, *data = tensor->data;
  for (int i = 0; i < GGML_MAX_SRC && tensor->src[i] != NULL; ++i) inputs[i] = tensor->src[i]->name;
  for (int i = 0; i < rank; ++i) {
    dims[i] = tensor->ne[rank - 1 - i];
    strides[i] = (int64_t)tensor->nb[rank - 1 - i];
  }
  place.type = ggml_op_desc(tensor);
  place.inputs = inputs;
  place.is_input = is_input;
  if (dtype < 0 || !plumb_dump_wants(dump, &place, tensor->name)) return;
  if (tensor->buffer != NULL && !ggml_backend_buffer_is_host(tensor->buffer)) {
    data = copy = malloc(ggml_nbytes(tensor));
    if (copy != NULL) ggml_backend_tensor_get(tensor, copy, 0, ggml_nbytes(tensor));
  }
  plumb_dump_write(dump, &place, tensor->name, data, (plumb_dtype)dtype, rank, dims, strides);
  free(copy);
}

/* ask: whether the scheduler shall stop behind this tensor; then it comes once more, computed. */
static bool plumb_ggml_hook(struct ggml_tensor* tensor, bool ask, void* dump) {
  if (!ask) plumb_ggml_write((plumb_dumper*)dump, tensor, 0);
  return ask ? dump != NULL : true;
}
