/* SPDX-License-Identifier: Apache-2.0 */
/* A runtime of one's own, for device_check --program: the network y = max(x, 0), dumped through plumb_dump.h. With an
 * argument it computes another thing; "crash" and "silent" as they say. */
#define PLUMB_DUMP_IMPLEMENTATION
#include "plumb_dump.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  const int64_t dims[] = {1, 1, 2, 4};
  float x[8], y[8];
  FILE* file = fopen("values.txt", "r");
  plumb_dumper* dump;
  int i;
  for (i = 0; i < 8; ++i) {
    if (file == NULL || fscanf(file, "%f", &x[i]) != 1) return fprintf(stderr, "values.txt: no value %d\n", i), 9;
    y[i] = x[i] > 0 ? x[i] : 0;
  }
  fclose(file);
  if (strcmp(how, "wrong") == 0) y[3] = -1;
  if (strcmp(how, "crash") == 0) printf("before the crash\n"), fflush(stdout), raise(SIGSEGV);
  if (strcmp(how, "silent") == 0) return 0;
  dump = plumb_dump_open("a runtime of one's own", "n.tnnproto");
  plumb_dump_forward(dump);
  plumb_dump(dump, "x", x, PLUMB_F32, 4, dims, NULL);
  plumb_dump(dump, "y", y, PLUMB_F32, 4, dims, NULL);
  plumb_dump_close(dump);
  return 0;
}
