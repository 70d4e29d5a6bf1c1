// SPDX-License-Identifier: Apache-2.0
/* plumb_c.h: Plumb for C (C99) and for every language that calls C. The functions of libplumb.so that load a model, run
 * it on a device, write every layer's tensors, and judge a device or another runtime layer by layer.
 *
 *   plumb_model* model;
 *   if (plumb_model_load("net.onnx", NULL, 0, &model) != PLUMB_OK) { puts(plumb_last_error()); exit(2); }
 *
 * examples/c/check.c is a whole program. The C++ headers in plumb/ can more (doc/library.md).
 *
 * Errors: a function that can fail returns a plumb_code; plumb_last_error() then has one complete sentence (file, what
 * was expected, found, what to do), of this thread, until its next failure. What is returned through a pointer is set
 * to NULL where a call fails. No exception and no signal leaves the library.
 * Ownership: who gets a model, network or report frees it; free(NULL) does nothing. A network keeps what it needs of
 * its model. Strings and tensors that a function returns belong to the object that was asked, and live as long, those
 * of a network until its next run. What is passed in is copied or used during the call alone.
 * Threads: an object serves one thread at a time; different objects may be used at once. Models and reports may be read
 * by several threads.
 * Units: shapes in elements, NCHW for a feature map; tensors dense, in C order, in the machine's byte order.
 * Versions: the soname changes with each minor version of Plumb, and structures may grow then. */
#ifndef PLUMB_C_H_
#define PLUMB_C_H_

#include <stddef.h>
#include <stdint.h>

#include "plumb_dump.h" /* plumb_dtype; nothing is to be linked for it */

#ifdef __cplusplus
extern "C" {
#endif

/* clang-format off */
typedef enum plumb_code {
  PLUMB_OK,
  PLUMB_INVALID_ARGUMENT, /* asked for something that makes no sense: a wrong name, shape or value */
  PLUMB_NOT_SUPPORTED,    /* understood, but this device or build cannot do it */
  PLUMB_NOT_FOUND,        /* a file, tensor or device that is not there */
  PLUMB_CORRUPT_MODEL,    /* a file that is not what it says it is */
  PLUMB_IO_ERROR,         /* the operating system refused to read or write */
  PLUMB_DEVICE_ERROR,     /* a driver or library call failed */
  PLUMB_OUT_OF_MEMORY,
  PLUMB_MISMATCH,         /* two things that had to agree do not */
  PLUMB_INTERNAL          /* a mistake of Plumb's */
} plumb_code;
/* clang-format on */

typedef struct plumb_model plumb_model;
typedef struct plumb_network plumb_network;
typedef struct plumb_report plumb_report;
typedef struct plumb_judgement plumb_judgement;

typedef struct plumb_tensor {
  const char* name; /* as the model calls it */
  plumb_dtype dtype;
  int rank; /* 0 to PLUMB_DUMP_MAX_RANK */
  int64_t dims[PLUMB_DUMP_MAX_RANK];
  const void* data; /* dense, C order; NULL where only name, dtype and shape are meant */
} plumb_tensor;

/* A step of a device (one layer, or several as one kernel computes them) or a layer of a subject, as it was judged. */
typedef struct plumb_layer {
  const char* run;     /* "X86", or "subject" */
  int index;           /* place among the model's layers */
  const char* name;    /* "conv1" */
  const char* type;    /* "Convolution+ReLU" */
  const char* verdict; /* "aligned", "grey", "wrong" or "not tested" */
  const char* reason;  /* why, where it is not aligned; else "" */
  const char* cause;   /* what explains it, where that is known; else "" */
  double excess;       /* E: its largest introduced error in units of the rounding to be expected there */
} plumb_layer;

/* Begin with zeros: plumb_check_options options = {0}; only `model` is needed. */
typedef struct plumb_check_options {
  const char* model;   /* x.onnx or x.tnnproto (with x.tnnmodel beside it) */
  const char* devices; /* "X86", "X86,OPENCL" or "ALL" (those present but NAIVE); NULL: ALL, none with a subject */
  const plumb_tensor* inputs; /* by network input; those that are missing are the subject's, or generated */
  size_t num_inputs;
  const plumb_tensor* subject; /* what another runtime computed, tensors by their names in the model; in memory, */
  size_t num_subject;
  const char* subject_path; /* or a folder or file as `model_check --subject` takes it */
} plumb_check_options;

/* "0.1.0" */
const char* plumb_version(void);
/* The sentence of this thread's last failure; "" before one. */
const char* plumb_last_error(void);

/* Reads x.onnx or x.tnnproto. `shapes` (name and shape are used): of inputs whose dims the file leaves open, or to be
 * replaced; other open dims become usual ones that run. */
plumb_code plumb_model_load(const char* path, const plumb_tensor* shapes, size_t num_shapes, plumb_model** model);
void plumb_model_free(plumb_model* model);
size_t plumb_model_num_inputs(const plumb_model* model);
size_t plumb_model_num_outputs(const plumb_model* model);
/* Name, dtype and shape of the i-th network input, without data. */
plumb_code plumb_model_input(const plumb_model* model, size_t i, plumb_tensor* input);
/* Name of the i-th network output; NULL where there is none. */
const char* plumb_model_output_name(const plumb_model* model, size_t i);

/* Prepares the model on a device: NAIVE, X86, ARM, OPENCL or VULKAN. threads 0: as many as there are CPUs. DUMP_* in
 * the environment counts, as in any program that links Plumb. */
plumb_code plumb_network_create(const plumb_model* model, const char* device, int threads, plumb_network** network);
void plumb_network_free(plumb_network* network);
/* Copies the tensor in. */
plumb_code plumb_network_set_input(plumb_network* network, const plumb_tensor* input);
/* From the next run on, writes each layer's inputs and outputs as .npy files with a manifest into that folder
 * (doc/dump_format.md), or into <folder>-2 where it holds a dump already. */
plumb_code plumb_network_dump(plumb_network* network, const char* folder);
plumb_code plumb_network_run(plumb_network* network);
/* The output of the last run. Its data live until the next run or until the network is freed. */
plumb_code plumb_network_output(plumb_network* network, const char* name, plumb_tensor* output);

/* Judges devices, or a subject, layer by layer against the float64 reference. PLUMB_OK with a report also where a layer
 * is wrong or a device is not there: the report says it. */
plumb_code plumb_check(const plumb_check_options* options, plumb_report** report);
void plumb_report_free(plumb_report* report);
/* 0 aligned, 1 wrong or nothing compared, 2, 3, 4 could not be done: the exit code of model_check. */
int plumb_report_exit_code(const plumb_report* report);
/* The last line of model_check: "ALIGNED: X86 aligned; 6 of 6 steps ... (exit 0)". */
const char* plumb_report_summary(const plumb_report* report);
/* The whole report as model_check prints it, and as its --json (doc/check.schema.json). */
const char* plumb_report_text(const plumb_report* report);
const char* plumb_report_json(const plumb_report* report);
/* The layers of all runs, in the order in which they were computed; NULL past the last. */
size_t plumb_report_num_layers(const plumb_report* report);
const plumb_layer* plumb_report_layer(const plumb_report* report, size_t i);
/* The first wrong layer of the first run that has one; NULL where none is. */
const plumb_layer* plumb_report_first_wrong(const plumb_report* report);

/* One call of an operator, judged: is what somebody computed for it what rounding explains on these inputs?
 * (doc/judge.md) op: "Softmax", "layer_norm", an .onnx file ...; attributes: words such as "axis=-1 epsilon=1e-5", or
 * NULL; inputs in the operator's order (their names do not matter; dtype and data are used), outputs likewise;
 * arithmetic: NULL (as the output's dtype says), "found", "fp32", "fp16+f16-sums" ... PLUMB_OK also where the output is
 * wrong. */
plumb_code plumb_judge(const char* op, const char* attributes, const plumb_tensor* inputs, size_t num_inputs,
                       const plumb_tensor* outputs, size_t num_outputs, const char* arithmetic,
                       plumb_judgement** judgement);
void plumb_judgement_free(plumb_judgement* judgement);
/* "aligned", "grey", "wrong" or "not tested"; the largest error in units of what rounding explains; the whole in one
 * line, with the worst element and the cause. */
const char* plumb_judgement_verdict(const plumb_judgement* judgement);
double plumb_judgement_excess(const plumb_judgement* judgement);
const char* plumb_judgement_text(const plumb_judgement* judgement);

#ifdef __cplusplus
}
#endif

#endif /* PLUMB_C_H_ */
