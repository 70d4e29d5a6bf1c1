/* SPDX-License-Identifier: Apache-2.0
 * plumb_stage.h in a program of its own: two stages of one sample (compile.cmake and test_stage.py read what it
 * writes). */
#define PLUMB_DUMP_IMPLEMENTATION
#include "plumb_stage.h"

int main(void) {
  const unsigned char pixels[12] = {0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110};
  const float scores[4] = {0.125f, 0.5f, 0.25f, 0.125f};
  const int64_t image[3] = {2, 2, 3}, classes[2] = {1, 4}, broken[2] = {1, -4};
  if (plumb_dump_sample("cat.jpg") != 0) return 1;
  if (plumb_dump_stage("decode", pixels, PLUMB_U8, 3, image, "HWC", "RGB", "a \"decoder\" 1.0",
                       "\"file\": \"cat.jpg\"") != 0)
    return 2;
  if (plumb_dump_stage("broken", scores, PLUMB_F32, 2, broken, NULL, NULL, NULL, NULL) != -1 ||
      plumb_dump_stage("broken", NULL, PLUMB_F32, 2, classes, NULL, NULL, NULL, NULL) != -1 ||
      plumb_dump_stage("broken", scores, (plumb_dtype)(PLUMB_BOOL + 1), 2, classes, NULL, NULL, NULL, NULL) != -1 ||
      plumb_dump_stage(NULL, scores, PLUMB_F32, 2, classes, NULL, NULL, NULL, NULL) != -1)
    return 4;
  return plumb_dump_stage("softmax", scores, PLUMB_F32, 2, classes, NULL, NULL, NULL, NULL) == 0 ? 0 : 3;
}
