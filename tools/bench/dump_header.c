/* SPDX-License-Identifier: Apache-2.0 */
/* bench_dump_header [FOLDER]: plumb_dump.h's npy dump against plain fwrite of the same bytes, and the memory it takes.
 * bench_dump_header forward with|without: ten Forwards of a hundred small layers, with the dumper's calls (off) or
 * without them; tools/bench/run.py counts the instructions of Forward.
 *
 * Into fresh files under FOLDER (default /dev/shm, so that no disk is measured), dense tensors and such of NHWC; best
 * of seven rounds, processor time of the one thread, system calls included: a busy machine disturbs it least. */
#define _GNU_SOURCE /* clock_gettime, getrusage in C99 */
#define PLUMB_DUMP_IMPLEMENTATION
#include "plumb_dump.h"

#include <sys/resource.h>
#include <unistd.h>

enum { kLayers = 100, kChannels = 8, kPixels = 16 * 16, kTensors = 60, kSide = 112, kWide = 64, kRounds = 7 };

static float blobs[2][kChannels * kPixels], weights[kLayers][kChannels][kChannels];

/* One layer of 16,384 products: less than most have, so that calls weigh more. */
__attribute__((noinline)) static void Layer(const float* from, float* to, float matrix[kChannels][kChannels]) {
  for (int o = 0; o < kChannels; ++o) {
    for (int p = 0; p < kPixels; ++p) {
      float sum = 0;
      for (int c = 0; c < kChannels; ++c) sum += matrix[o][c] * from[c * kPixels + p];
      to[o * kPixels + p] = sum > 0 ? sum : 0;
    }
  }
}

__attribute__((noinline)) void ForwardWith(plumb_dumper* dumper, const char* const* names) {
  const int64_t dims[] = {1, kChannels, 16, 16};
  plumb_dump_forward(dumper);
  for (int i = 0; i < kLayers; ++i) {
    Layer(blobs[i % 2], blobs[1 - i % 2], weights[i]);
    plumb_dump(dumper, names[i], blobs[1 - i % 2], PLUMB_F32, 4, dims, NULL);
  }
}

__attribute__((noinline)) void ForwardWithout(void) {
  for (int i = 0; i < kLayers; ++i) Layer(blobs[i % 2], blobs[1 - i % 2], weights[i]);
}

static int Forwards(const char* how) {
  static char text[kLayers][16];
  const char* names[kLayers];
  plumb_dumper* volatile dumper = plumb_dump_open("bench", NULL); /* the compiler does not know that it is off */
  for (int i = 0; i < kLayers; ++i) {
    (void)snprintf(text[i], sizeof(text[i]), "layer%d", i);
    names[i] = text[i];
  }
  for (int i = 0; i < 10; ++i) {
    if (strcmp(how, "with") == 0) ForwardWith(dumper, names);
    if (strcmp(how, "without") == 0) ForwardWithout();
  }
  return plumb_dump_close(dumper);
}

static double Seconds(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static long PeakKiB(void) {
  struct rusage usage;
  (void)getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

static double Plain(const char* folder, const float* values, size_t size) {
  const double start = Seconds();
  char path[4096];
  for (int i = 0; i < kTensors; ++i) {
    (void)snprintf(path, sizeof(path), "%s/%d.raw", folder, i);
    FILE* file = fopen(path, "wb");
    if (file == NULL || fwrite(values, 1, size, file) != size || fclose(file) != 0) exit(2);
  }
  return Seconds() - start;
}

/* One way to dump a tensor; `strides` count values here. */
typedef struct Layout {
  const char* name;
  int tensors;
  int64_t dims[4], strides[4];
} Layout;

/* The header's own work, the manifest included. */
static double Dumped(const char* folder, const void* values, plumb_dtype dtype, const Layout* layout, int is_dense) {
  char name[16];
  int64_t strides[4];
  for (int i = 0; i < 4; ++i) strides[i] = layout->strides[i] * plumb__dtypes[dtype].size;
  setenv("DUMP_BLOB_DIR", folder, 1);
  setenv("DUMP_OUTPUT_BLOB", "1", 1);
  plumb__networks = 0; /* a folder of its own */
  const double start = Seconds();
  plumb_dumper* dumper = plumb_dump_open("bench", NULL);
  plumb_dump_forward(dumper);
  for (int i = 0; i < layout->tensors; ++i) {
    (void)snprintf(name, sizeof(name), "t%d", i);
    if (plumb_dump(dumper, name, values, dtype, 4, layout->dims, is_dense ? NULL : strides) != 0) exit(2);
  }
  if (plumb_dump_close(dumper) != 0) exit(2);
  return Seconds() - start;
}

static void Remove(const char* folder) {
  char command[4200];
  (void)snprintf(command, sizeof(command), "rm -rf '%s'", folder);
  if (system(command) != 0) exit(2);
}

/* The same values dense and by strides, in turns; best of the rounds. */
static void Strided(const char* folder, const char* inside, const void* values) {
  static const Layout layouts[] = {{"NHWC, 64 x 112 x 112", 20, {1, 64, 112, 112}, {802816, 1, 7168, 64}},
                                   {"NHWC, 3 x 512 x 512", 20, {1, 3, 512, 512}, {786432, 1, 1536, 3}},
                                   {"NHWC, 64 x 512 x 512", 1, {1, 64, 512, 512}, {16777216, 1, 32768, 64}},
                                   {"HWCN, 8 x 64 x 112 x 56", 5, {8, 64, 112, 56}, {1, 8, 28672, 512}},
                                   {"transposed, 4096 x 4096", 1, {1, 1, 4096, 4096}, {1, 1, 1, 4096}},
                                   {"transposed, 1000 x 1001", 10, {1, 1, 1000, 1001}, {1, 1, 1, 1000}},
                                   {"rows of 70 in 77", 20, {1, 64, 160, 70}, {1, 12320, 77, 1}}};
  static const plumb_dtype dtypes[] = {PLUMB_F32, PLUMB_F16, PLUMB_I8, PLUMB_F64};
  printf("times dense, by strides      f32   f16   i8    f64\n");
  for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); ++i) {
    printf("%-27s", layouts[i].name);
    for (int type = 0; type < 4; ++type) {
      double best[2] = {1e9, 1e9};
      for (int round = 0; round < 2 * kRounds; ++round) {
        if (mkdir(folder, 0777) != 0) exit(2);
        const double took = Dumped(inside, values, dtypes[type], &layouts[i], round % 2);
        if (took < best[round % 2]) best[round % 2] = took;
        Remove(folder);
      }
      printf("  %-4.2f", best[0] / best[1]);
      fflush(stdout);
    }
    printf("\n");
  }
}

int main(int argc, char** argv) {
  if (argc == 3 && strcmp(argv[1], "forward") == 0) return Forwards(argv[2]);
  const Layout layout = {"", kTensors, {1, kWide, kSide, kSide}, {kWide * kSide * kSide, 1, kWide * kSide, kWide}};
  const size_t count = (size_t)kWide * kSide * kSide, size = count * sizeof(float), all = (size_t)1 << 27;
  float* values = malloc(all);
  char folder[2048], inside[2100];
  double best[3] = {1e9, 1e9, 1e9};
  if (values == NULL) return 2;
  for (size_t i = 0; i < all / sizeof(float); ++i) values[i] = (float)(i % 1009) * 0.37f;
  (void)snprintf(folder, sizeof(folder), "%s/bench_dump_header.%d", argc > 1 ? argv[1] : "/dev/shm", (int)getpid());
  (void)snprintf(inside, sizeof(inside), "%s/dump", folder);
  freopen("/dev/null", "w", stderr); /* "the dump is complete" */
  const long before = PeakKiB();
  for (int round = 0; round < kRounds; ++round) {
    for (int way = 0; way < 3; ++way) {
      if (mkdir(folder, 0777) != 0) return 2;
      const double took = way == 0 ? Plain(folder, values, size) : Dumped(inside, values, PLUMB_F32, &layout, way == 1);
      if (took < best[way]) best[way] = took;
      Remove(folder);
    }
  }
  const char* names[] = {"plain fwrite", "npy dump, dense", "npy dump, NHWC"};
  printf("%d tensors of %.1f MB, one thread\n%-16s  ms      GB/s  x plain\n", kTensors, 1e-6 * (double)size, "");
  for (int way = 0; way < 3; ++way) {
    printf("%-16s  %-6.1f  %-4.2f  %.2f\n", names[way], 1e3 * best[way], 1e-9 * kTensors * (double)size / best[way],
           best[0] / best[way]);
  }
  printf("memory: a dumper has %zu bytes; the process grew by %ld KiB while it wrote\n", sizeof(struct plumb_dumper),
         PeakKiB() - before);
  Strided(folder, inside, values);
  free(values);
  return 0;
}
