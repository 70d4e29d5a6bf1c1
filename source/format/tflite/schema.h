// SPDX-License-Identifier: Apache-2.0
// What flatc makes of tflite.fbs while Plumb is built.
#ifndef PLUMB_FORMAT_TFLITE_SCHEMA_H_
#define PLUMB_FORMAT_TFLITE_SCHEMA_H_

#include <tflite_generated.h>

#endif  // PLUMB_FORMAT_TFLITE_SCHEMA_H_
