/* SPDX-License-Identifier: Apache-2.0 */
/* What plumb_c.h promises, on a model of one input x and with the names that the arguments say: c_api MODEL FOLDER.
 * Each failure has its code and a sentence; a fault in another runtime's tensors, in memory, is named. */
#include <plumb_c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT(condition)                                                                \
  do {                                                                                   \
    if (!(condition)) {                                                                  \
      printf("line %d: %s; last error: %s\n", __LINE__, #condition, plumb_last_error()); \
      exit(1);                                                                           \
    }                                                                                    \
  } while (0)

static int fails(plumb_code found, plumb_code code, const char* words) {
  return found == code && strstr(plumb_last_error(), words) != NULL;
}

static void errors(const char* path, plumb_model* model) {
  plumb_model* none = model;
  plumb_network* network;
  plumb_report* report;
  plumb_check_options options = {0};
  plumb_tensor tensor;
  float value = 0;
  EXPECT(fails(plumb_model_load("nowhere.onnx", NULL, 0, &none), PLUMB_NOT_FOUND, "nowhere.onnx") && none == NULL);
  EXPECT(fails(plumb_model_load(NULL, NULL, 0, &none), PLUMB_INVALID_ARGUMENT, "path is NULL"));
  EXPECT(fails(plumb_network_create(model, "X87", 0, &network), PLUMB_INVALID_ARGUMENT, "X87") && network == NULL);
  EXPECT(fails(plumb_model_input(model, 7, &tensor), PLUMB_INVALID_ARGUMENT, "none of number 7"));
  EXPECT(plumb_model_output_name(model, 7) == NULL);
  EXPECT(plumb_network_create(model, "NAIVE", 1, &network) == PLUMB_OK);
  EXPECT(fails(plumb_network_run(network), PLUMB_INVALID_ARGUMENT, "input"));
  EXPECT(plumb_model_input(model, 0, &tensor) == PLUMB_OK && tensor.data == NULL && tensor.rank == 4);
  EXPECT(fails(plumb_network_set_input(network, &tensor), PLUMB_INVALID_ARGUMENT, "is NULL"));
  tensor.data = &value;
  tensor.rank = 1;
  tensor.dims[0] = 1;
  EXPECT(fails(plumb_network_set_input(network, &tensor), PLUMB_INVALID_ARGUMENT, "[1]"));
  tensor.rank = 99;
  EXPECT(fails(plumb_network_set_input(network, &tensor), PLUMB_INVALID_ARGUMENT, "rank of 0 to 16, found 99"));
  EXPECT(fails(plumb_network_output(network, "prob", &tensor), PLUMB_INVALID_ARGUMENT, "prob"));
  plumb_network_free(network);
  EXPECT(fails(plumb_check(&options, &report), PLUMB_INVALID_ARGUMENT, "model is NULL") && report == NULL);
  options.model = path;
  options.devices = "X87";
  EXPECT(fails(plumb_check(&options, &report), PLUMB_INVALID_ARGUMENT, "X87"));
  plumb_model_free(NULL);
  plumb_network_free(NULL);
  plumb_report_free(NULL);
}

/* The dump of a run is right as a subject; one value of its output, changed in memory, is not. */
static void faults(const char* path, plumb_model* model, const char* folder) {
  plumb_network* network;
  plumb_report* report;
  plumb_tensor tensors[2];
  plumb_check_options options = {0};
  float input[64], output[10];
  int i;
  for (i = 0; i < 64; ++i) input[i] = (float)(i % 17) / 8 - 1;
  EXPECT(plumb_network_create(model, "NAIVE", 1, &network) == PLUMB_OK);
  EXPECT(plumb_model_input(model, 0, &tensors[0]) == PLUMB_OK);
  tensors[0].data = input;
  EXPECT(plumb_network_set_input(network, &tensors[0]) == PLUMB_OK);
  EXPECT(plumb_network_dump(network, folder) == PLUMB_OK && plumb_network_run(network) == PLUMB_OK);
  EXPECT(plumb_network_output(network, plumb_model_output_name(model, 0), &tensors[1]) == PLUMB_OK);
  memcpy(output, tensors[1].data, sizeof(output));
  options.model = path;
  options.subject_path = folder;
  EXPECT(plumb_check(&options, &report) == PLUMB_OK && plumb_report_exit_code(report) == 0);
  EXPECT(plumb_report_first_wrong(report) == NULL && plumb_report_num_layers(report) == 10);
  EXPECT(strcmp(plumb_report_layer(report, 0)->run, "subject") == 0 && plumb_report_layer(report, 10) == NULL);
  EXPECT(strstr(plumb_report_json(report), "urn:plumb:check:1") && strstr(plumb_report_text(report), "conv"));
  plumb_report_free(report);
  options.subject_path = NULL;
  options.subject = tensors;
  options.num_subject = 2;
  output[3] += 0.01f;
  tensors[1].data = output;
  EXPECT(plumb_check(&options, &report) == PLUMB_OK && plumb_report_exit_code(report) == 1);
  EXPECT(plumb_report_first_wrong(report) != NULL && plumb_report_first_wrong(report)->excess > 4);
  EXPECT(strstr(plumb_report_summary(report), plumb_report_first_wrong(report)->name) != NULL);
  plumb_report_free(report);
  plumb_network_free(network);
}

/* ReLU of four values, right and with the last one wrong. */
static void one_operator(void) {
  const float x[4] = {1, 2, -3, 4}, right[4] = {1, 2, 0, 4}, wrong[4] = {1, 2, 0, 5};
  plumb_tensor input = {0}, output;
  plumb_judgement* judgement;
  input.rank = 1;
  input.dims[0] = 4;
  output = input;
  input.data = x;
  output.data = right;
  EXPECT(plumb_judge("relu", NULL, &input, 1, &output, 1, NULL, &judgement) == PLUMB_OK);
  EXPECT(strcmp(plumb_judgement_verdict(judgement), "aligned") == 0 && plumb_judgement_excess(judgement) <= 1);
  plumb_judgement_free(judgement);
  output.data = wrong;
  EXPECT(plumb_judge("LeakyRelu", "alpha=0", &input, 1, &output, 1, "found", &judgement) == PLUMB_OK);
  EXPECT(strcmp(plumb_judgement_verdict(judgement), "wrong") == 0);
  EXPECT(strstr(plumb_judgement_text(judgement), "worst at [3]: 5 for 4") != NULL);
  plumb_judgement_free(judgement);
  EXPECT(fails(plumb_judge("relu", "axis", &input, 1, &output, 1, NULL, &judgement), PLUMB_INVALID_ARGUMENT, "axis"));
  EXPECT(fails(plumb_judge("relu", NULL, NULL, 1, &output, 1, NULL, &judgement), PLUMB_INVALID_ARGUMENT, "inputs"));
  plumb_judgement_free(NULL);
}

int main(int argc, char** argv) {
  plumb_model* model;
  EXPECT(argc == 3);
  EXPECT(plumb_model_load(argv[1], NULL, 0, &model) == PLUMB_OK);
  EXPECT(plumb_model_num_inputs(model) == 1 && plumb_model_num_outputs(model) == 1);
  errors(argv[1], model);
  faults(argv[1], model, argv[2]);
  one_operator();
  plumb_model_free(model);
  puts("the C API keeps its word");
  return 0;
}
