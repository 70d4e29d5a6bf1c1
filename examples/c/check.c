/* SPDX-License-Identifier: Apache-2.0 */
/* check MODEL [DEVICE [DUMP_FOLDER]]: runs a model on a device, prints its outputs and the first layer that computes
 * something else than it should; then judges the same outputs as if another runtime had computed them. Exit code:
 * model_check's.
 *
 *   cmake --install build/release --prefix /opt/plumb && export PKG_CONFIG_PATH=/opt/plumb/lib/pkgconfig
 *   cc -std=c99 examples/c/check.c $(pkg-config --cflags --libs plumb) -o check
 *   LD_LIBRARY_PATH=/opt/plumb/lib ./check examples/digits/digits.tnnproto X86                                   */
#include <plumb_c.h>
#include <stdio.h>
#include <stdlib.h>

/* Ends the program with the library's sentence where a call failed. */
static void must(plumb_code code) {
  if (code == PLUMB_OK) return;
  fprintf(stderr, "check: %s\n", plumb_last_error());
  exit(2);
}

static size_t elements(const plumb_tensor* tensor) {
  size_t count = 1;
  int i;
  for (i = 0; i < tensor->rank; ++i) count *= (size_t)tensor->dims[i];
  return count;
}

/* Values for a network input: a ramp; a program has its own. */
static float* ramp(size_t count) {
  float* values = malloc((count + 1) * sizeof(float));
  size_t i;
  if (values == NULL) exit(4);
  for (i = 0; i < count; ++i) values[i] = (float)(i % 17) / 8 - 1;
  return values;
}

/* Judges the device, or with tensors what somebody computed; prints the verdict. Returns the exit code. */
static int judge(plumb_check_options options) {
  plumb_report* report;
  const plumb_layer* wrong;
  int exit_code;
  must(plumb_check(&options, &report));
  puts(plumb_report_summary(report));
  wrong = plumb_report_first_wrong(report);
  if (wrong != NULL) {
    printf("the first wrong layer of %s is %d '%s' (%s): E %g: %s%s\n", wrong->run, wrong->index, wrong->name,
           wrong->type, wrong->excess, wrong->reason, wrong->cause);
  }
  exit_code = plumb_report_exit_code(report);
  plumb_report_free(report);
  return exit_code;
}

int main(int argc, char** argv) {
  const char* device = argc > 2 ? argv[2] : "NAIVE";
  plumb_tensor tensors[2]; /* one input, one output: as many as the example's networks have */
  plumb_check_options options = {0};
  plumb_model* model;
  plumb_network* network;
  float* values;
  int device_code, subject_code;
  if (argc < 2) {
    fprintf(stderr, "usage: %s MODEL [DEVICE [DUMP_FOLDER]]\n", argv[0]);
    return 2;
  }
  must(plumb_model_load(argv[1], NULL, 0, &model));
  must(plumb_network_create(model, device, 0, &network));
  must(plumb_model_input(model, 0, &tensors[0]));
  values = ramp(elements(&tensors[0]));
  tensors[0].data = values;
  must(plumb_network_set_input(network, &tensors[0]));
  if (argc > 3) must(plumb_network_dump(network, argv[3]));
  must(plumb_network_run(network));
  must(plumb_network_output(network, plumb_model_output_name(model, 0), &tensors[1]));
  printf("Plumb %s: '%s' begins with %g\n", plumb_version(), tensors[1].name, ((const float*)tensors[1].data)[0]);

  options.model = argv[1];
  options.devices = device;
  options.inputs = tensors;
  options.num_inputs = 1;
  device_code = judge(options);

  options.devices = NULL;
  options.inputs = NULL;
  options.num_inputs = 0;
  options.subject = tensors;
  options.num_subject = 2;
  subject_code = judge(options);

  free(values);
  plumb_network_free(network);
  plumb_model_free(model);
  return device_code > subject_code ? device_code : subject_code;
}
