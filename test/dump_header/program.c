/* SPDX-License-Identifier: Apache-2.0 */
/* A program in C that dumps two layers: the smallest hook. */
#define PLUMB_DUMP_IMPLEMENTATION
#include "plumb_dump.h"

int main(void) {
  const int64_t dims[] = {1, 6, 2, 2}, nhwc[] = {96, 4, 48, 24};
  float values[24];
  int i;
  plumb_dumper* dump = plumb_dump_open("my NPU 1.2", "net.onnx");
  for (i = 0; i < 24; ++i) values[i] = (float)i;
  plumb_dump_forward(dump);
  plumb_dump(dump, "conv1", values, PLUMB_F32, 4, dims, NULL);
  plumb_dump(dump, "conv/2", values, PLUMB_F32, 4, dims, nhwc);
  return plumb_dump_close(dump) == 0 ? 0 : 1;
}
