/* SPDX-License-Identifier: Apache-2.0 */
/* A small network on ggml's CPU backend, watched by examples/hooks/ggml_hook.h: one attention head and a classifier.
 * ggml_program WEIGHTS.raw [OUT.raw]: f32 values of x [12,32], the matrices q k v [32,32] and w [32,10], a bias [10]. */
#define PLUMB_DUMP_IMPLEMENTATION
#include "ggml_hook.h"

#include <ggml-cpu.h>
#include <stdio.h>

enum { kTokens = 12, kWidth = 32, kClasses = 10 };

static struct ggml_tensor* Named(struct ggml_tensor* tensor, const char* name) { return ggml_set_name(tensor, name); }

int main(int argc, char** argv) {
  const struct ggml_init_params params = {ggml_tensor_overhead() * 64 + ggml_graph_overhead(), NULL, true};
  struct ggml_context* ctx = ggml_init(params);
  const char* names[] = {"x", "q_w", "k_w", "v_w", "w", "b"};
  const int64_t rows[] = {kTokens, kWidth, kWidth, kWidth, kClasses, 1};
  struct ggml_tensor* given[6];
  for (int i = 0; i < 6; ++i) {
    given[i] = Named(ggml_new_tensor_2d(ctx, GGML_TYPE_F32, i == 5 ? kClasses : kWidth, rows[i]), names[i]);
  }
  struct ggml_tensor *q = Named(ggml_mul_mat(ctx, given[1], given[0]), "q"),
                     *k = Named(ggml_mul_mat(ctx, given[2], given[0]), "k"),
                     *v = Named(ggml_mul_mat(ctx, given[3], given[0]), "v"),
                     *scores = Named(ggml_mul_mat(ctx, k, q), "scores"),
                     *attention =
                         Named(ggml_soft_max(ctx, Named(ggml_scale(ctx, scores, 0.25f), "scaled")), "attention"),
                     *turned = Named(ggml_cont(ctx, Named(ggml_transpose(ctx, v), "v_t")), "v_dense"),
                     *mixed = Named(ggml_mul_mat(ctx, turned, attention), "mixed"),
                     *active = Named(ggml_relu(ctx, mixed), "active"),
                     *classes =
                         Named(ggml_add(ctx, Named(ggml_mul_mat(ctx, given[4], active), "logits"), given[5]), "out");
  struct ggml_cgraph* graph = ggml_new_graph(ctx);
  ggml_build_forward_expand(graph, classes);
  ggml_backend_t cpu = ggml_backend_cpu_init();
  ggml_backend_alloc_ctx_tensors(ctx, cpu);
  FILE* file = fopen(argc > 1 ? argv[1] : "", "rb");
  if (file == NULL) return 2;
  for (int i = 0; i < 6; ++i) {
    if (fread(given[i]->data, 1, ggml_nbytes(given[i]), file) != ggml_nbytes(given[i])) return 2;
  }
  fclose(file);

  plumb_dumper* dump = plumb_dump_open("ggml", "program");
  ggml_backend_sched_t sched = ggml_backend_sched_new(&cpu, NULL, 1, GGML_DEFAULT_GRAPH_SIZE, false, false);
  ggml_backend_sched_set_eval_callback(sched, plumb_ggml_hook, dump);
  plumb_dump_forward(dump);
  const enum ggml_status status = ggml_backend_sched_graph_compute(sched, graph);
  if (argc > 2 && (file = fopen(argv[2], "wb")) != NULL) {
    fwrite(classes->data, 1, ggml_nbytes(classes), file);
    fclose(file);
  }
  ggml_backend_sched_free(sched);
  ggml_backend_free(cpu);
  ggml_free(ctx);
  return plumb_dump_close(dump) == 0 && status == GGML_STATUS_SUCCESS ? 0 : 1;
}
