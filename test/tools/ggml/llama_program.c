/* SPDX-License-Identifier: Apache-2.0 */
/* llama.cpp watched by examples/hooks/ggml_hook.h, for llama_graph_test.py: llama_program MODEL.gguf FLASH STALE (0 or
 * 1). Twelve tokens at once, then one more. STALE: the first flash attention reads 0 for the values of a token. */
#define PLUMB_DUMP_IMPLEMENTATION
#include "ggml_hook.h"

#include <llama.h>

static void Silent(enum ggml_log_level level, const char* text, void* data) {
  (void)data;
  if (level == GGML_LOG_LEVEL_ERROR) fputs(text, stderr);
}

static int stale;

static bool Hook(struct ggml_tensor* tensor, bool ask, void* dump) {
  if (stale && ask && tensor->op == GGML_OP_FLASH_ATTN_EXT) {
    const struct ggml_tensor* values = tensor->src[2];
    memset((char*)values->data + 5 * values->nb[1], 0, (size_t)values->ne[0] * values->nb[0]);
    stale = 0;
  }
  return plumb_ggml_hook(tensor, ask, dump);
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  stale = argv[3][0] == '1';
  llama_log_set(Silent, NULL);
  llama_backend_init();
  struct llama_model_params of_model = llama_model_default_params();
  of_model.use_extra_bufts = false;
  struct llama_model* model = llama_model_load_from_file(argv[1], of_model);
  if (model == NULL) return 2;
  plumb_dumper* dump = plumb_dump_open("llama.cpp", argv[1]);
  struct llama_context_params params = llama_context_default_params();
  params.n_ctx = 64;
  params.n_threads = params.n_threads_batch = 2;
  params.flash_attn_type = argv[2][0] == '1' ? LLAMA_FLASH_ATTN_TYPE_ENABLED : LLAMA_FLASH_ATTN_TYPE_DISABLED;
  params.cb_eval = dump == NULL ? NULL : Hook;
  params.cb_eval_user_data = dump;
  struct llama_context* context = llama_init_from_model(model, params);
  if (context == NULL) return 2;
  llama_token tokens[12], next = 5;
  for (int i = 0; i < 12; ++i) tokens[i] = (i * 7 + 3) % 64;
  plumb_dump_forward(dump);
  int failed = llama_decode(context, llama_batch_get_one(tokens, 12));
  plumb_dump_forward(dump);
  if (failed == 0) failed = llama_decode(context, llama_batch_get_one(&next, 1));
  llama_free(context);
  llama_model_free(model);
  return plumb_dump_close(dump) == 0 && failed == 0 ? 0 : 1;
}
