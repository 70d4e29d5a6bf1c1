/* plumb_stage.h: a program in C writes down what it does to an image before the network, and to the outputs after it,
 * for stage_diff (Plumb). SPDX-License-Identifier: MIT-0. A file beside plumb_dump.h, which it includes: copy both.
 *
 *   #define PLUMB_DUMP_IMPLEMENTATION   // in one source file, before the include
 *   #include "plumb_stage.h"
 *
 *   const int64_t dims[] = {224, 224, 3};
 *   plumb_dump_stage("resize", pixels, PLUMB_U8, 3, dims, "HWC", "BGR", "OpenCV 4.6.0", "\"method\":
 * \"INTER_LINEAR\"");
 *
 *   DUMP_STAGE_DIR=port ./program && stage_diff original port
 *
 * Without DUMP_STAGE_DIR a call looks at nothing. Values are dense, in C order. A folder that holds stages already is
 * not mixed with new ones: they go to <folder>-2. Calls come from one thread. Errors are said once on standard error.
 */
#ifndef PLUMB_STAGE_C_H_
#define PLUMB_STAGE_C_H_

#include "plumb_dump.h"

#ifdef __cplusplus
extern "C" {
#endif

/* layout ("HWC"), color ("RGB"), library ("OpenCV 4.6.0") and parameters may be NULL. parameters: the inside of a JSON
 * object ("of": the stages that it reads, by ", ", where that is not the one before it). 0; -1 when it could not be
 * written, or name, data, dtype or dims say nothing that can be. */
int plumb_dump_stage(const char* name, const void* data, plumb_dtype dtype, int rank, const int64_t* dims,
                     const char* layout, const char* color, const char* library, const char* parameters);

/* The stages from now on are those of another sample, in a folder of this name. 0, or -1. */
int plumb_dump_sample(const char* name);

#ifdef __cplusplus
}
#endif
#endif /* PLUMB_STAGE_C_H_ */

#if defined(PLUMB_DUMP_IMPLEMENTATION) && !defined(PLUMB_STAGE_IMPLEMENTED)
#define PLUMB_STAGE_IMPLEMENTED

#include <fcntl.h>

/* Of this process: its folder, the sample's, the manifest so far. */
static struct {
  long process;
  char root[PLUMB__TEXT], sample[PLUMB__TEXT], first[256];
  FILE* entries; /* of the manifest, by commas */
  int stages, samples, named, said;
} plumb__stage;

static int plumb__stage_fail(const char* what, const char* path) {
  if (!plumb__stage.said) fprintf(stderr, "plumb_stage: cannot %s '%s': %s\n", what, path, strerror(errno));
  plumb__stage.said = 1;
  return -1;
}
/* What a file may be called: letters, digits, - _ and, not in front, dots. */
static void plumb__stage_plain(const char* name, char* plain, size_t room) {
  size_t length = 0;
  for (; *name != '\0' && length + 1 < room && length < 80; ++name) {
    const int kept = isalnum((unsigned char)*name) || *name == '-' || *name == '_' || (*name == '.' && length > 0);
    plain[length++] = kept ? *name : '_';
  }
  if (length == 0) plain[length++] = '_';
  plain[length] = '\0';
}
/* A text inside a JSON string. */
static void plumb__stage_quoted(FILE* file, const char* key, const char* text) {
  if (text == NULL) return;
  fprintf(file, ", \"%s\": \"", key);
  for (; *text != '\0'; ++text) {
    const unsigned char c = (unsigned char)*text;
    if (c == '"' || c == '\\') {
      fprintf(file, "\\%c", c);
    } else if (c < 32) {
      fprintf(file, "\\u%04x", c);
    } else {
      fputc(c, file);
    }
  }
  fputc('"', file);
}
/* Takes the folder that the environment names, or the next free one. */
static int plumb__stage_claim(const char* wanted) {
  if (plumb__stage.process == (long)getpid()) return 0;
  for (int run = 1; run < 10000; ++run) {
    char mark[PLUMB__TEXT + 32];
    int fd;
    if (run == 1) {
      snprintf(plumb__stage.root, sizeof(plumb__stage.root), "%s", wanted);
    } else {
      snprintf(plumb__stage.root, sizeof(plumb__stage.root), "%.3000s-%d", wanted, run);
    }
    if (mkdir(plumb__stage.root, 0777) != 0 && errno != EEXIST) return plumb__stage_fail("make", plumb__stage.root);
    snprintf(mark, sizeof(mark), "%s/.plumb-stages", plumb__stage.root);
    fd = open(mark, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (fd < 0 && errno == EEXIST) continue;
    if (fd < 0) return plumb__stage_fail("make", mark);
    close(fd);
    plumb__stage.process = (long)getpid();
    plumb__stage.sample[0] = '\0';
    plumb__stage.samples = plumb__stage.stages = plumb__stage.named = 0;
    return 0;
  }
  return plumb__stage_fail("find a free folder beside", wanted);
}
static int plumb__stage_begin(const char* name) {
  char plain[128], root[3000];
  plumb__stage_plain(name, plain, sizeof(plain));
  snprintf(root, sizeof(root), "%.2900s", plumb__stage.root);
  snprintf(plumb__stage.sample, sizeof(plumb__stage.sample), "%s/%s", root, plain);
  for (int next = 2; mkdir(plumb__stage.sample, 0777) != 0; ++next) {
    if (errno != EEXIST || next > 100000) return plumb__stage_fail("make", plumb__stage.sample);
    snprintf(plumb__stage.sample, sizeof(plumb__stage.sample), "%s/%s-%d", root, plain, next);
  }
  if (plumb__stage.entries != NULL) fclose(plumb__stage.entries);
  plumb__stage.entries = tmpfile();
  if (plumb__stage.entries == NULL) return plumb__stage_fail("describe the stages of", plumb__stage.sample);
  plumb__stage.stages = 0;
  ++plumb__stage.samples;
  return 0;
}
int plumb_dump_sample(const char* name) {
  const char* wanted = getenv("DUMP_STAGE_DIR");
  if (wanted == NULL || *wanted == '\0') return 0;
  if (plumb__stage_claim(wanted) != 0) return -1;
  plumb__stage.named = 1;
  return plumb__stage_begin(name);
}
/* numpy's format, version 1: the header fills a multiple of 64 bytes. */
static int plumb__stage_npy(const char* path, const void* data, plumb_dtype dtype, int rank, const int64_t* dims) {
  char header[512], shape[256] = "";
  size_t count = 1, length = 0;
  FILE* file = fopen(path, "wb");
  if (file == NULL) return plumb__stage_fail("write", path);
  for (int i = 0; i < rank; ++i) {
    length += (size_t)snprintf(shape + length, sizeof(shape) - length, "%lld,%s", (long long)dims[i],
                               i + 1 < rank ? " " : "");
    count *= (size_t)dims[i];
  }
  snprintf(header, sizeof(header), "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }",
           plumb__dtypes[dtype].descr, shape);
  length = strlen(header);
  while ((10 + length + 1) % 64 != 0 && length + 2 < sizeof(header)) header[length++] = ' ';
  header[length++] = '\n';
  fwrite("\x93NUMPY\x01\x00", 1, 8, file);
  fputc((int)(length & 255), file);
  fputc((int)(length >> 8), file);
  fwrite(header, 1, length, file);
  fwrite(data, (size_t)plumb__dtypes[dtype].size, count, file);
  if (ferror(file) != 0) {
    fclose(file);
    return plumb__stage_fail("write", path);
  }
  return fclose(file) == 0 ? 0 : plumb__stage_fail("write", path);
}
/* The manifest anew, complete or not there. */
static int plumb__stage_manifest(void) {
  char path[PLUMB__TEXT + 64], part[PLUMB__TEXT + 64], text[4096];
  size_t length;
  FILE* file;
  snprintf(path, sizeof(path), "%s/manifest.json", plumb__stage.sample);
  snprintf(part, sizeof(part), "%s/manifest.json.part", plumb__stage.sample);
  file = fopen(part, "wb");
  if (file == NULL) return plumb__stage_fail("write", part);
  fprintf(file, "{\"format\": \"plumb-dump\", \"version\": 1, \"complete\": true");
  plumb__stage_quoted(file, "sample", strrchr(plumb__stage.sample, '/') + 1);
  fprintf(file, ", \"files\": [\n");
  rewind(plumb__stage.entries);
  while ((length = fread(text, 1, sizeof(text), plumb__stage.entries)) > 0) fwrite(text, 1, length, file);
  fprintf(file, "\n]}\n");
  if (ferror(file) != 0 || fclose(file) != 0 || rename(part, path) != 0) return plumb__stage_fail("write", path);
  return 0;
}
static int plumb__stage_writable(const char* name, const void* data, plumb_dtype dtype, int rank, const int64_t* dims) {
  const int known = (int)dtype >= 0 && (size_t)dtype < sizeof(plumb__dtypes) / sizeof(plumb__dtypes[0]);
  if (name == NULL || data == NULL || !known || rank < 0 || rank > 8 || (rank > 0 && dims == NULL)) return 0;
  for (int i = 0; i < rank; ++i) {
    if (dims[i] < 0) return 0;
  }
  return PLUMB__LITTLE;
}
int plumb_dump_stage(const char* name, const void* data, plumb_dtype dtype, int rank, const int64_t* dims,
                     const char* layout, const char* color, const char* library, const char* parameters) {
  const char* wanted = getenv("DUMP_STAGE_DIR");
  char plain[128], path[PLUMB__TEXT + 160], sample[32];
  FILE* text;
  if (wanted == NULL || *wanted == '\0') return 0;
  if (!plumb__stage_writable(name, data, dtype, rank, dims))
    return errno = EINVAL, plumb__stage_fail("write the values of", name == NULL ? "(no name)" : name);
  if (plumb__stage_claim(wanted) != 0) return -1;
  if (plumb__stage.sample[0] == '\0' ||
      (!plumb__stage.named && plumb__stage.stages > 0 && strcmp(plumb__stage.first, name) == 0)) {
    snprintf(sample, sizeof(sample), "sample-%05d", plumb__stage.samples);
    if (plumb__stage_begin(sample) != 0) return -1;
  }
  if (plumb__stage.stages == 0) snprintf(plumb__stage.first, sizeof(plumb__stage.first), "%s", name);
  plumb__stage_plain(name, plain, sizeof(plain));
  snprintf(path, sizeof(path), "%s/%05d-%s.npy", plumb__stage.sample, plumb__stage.stages, plain);
  if (plumb__stage_npy(path, data, dtype, rank, dims) != 0) return -1;
  text = plumb__stage.entries;
  fseek(text, 0, SEEK_END);
  if (plumb__stage.stages > 0) fprintf(text, ",\n");
  fprintf(text, "{\"layer_index\": %d, \"direction\": \"out\", \"slot\": 0", plumb__stage.stages);
  plumb__stage_quoted(text, "file", strrchr(path, '/') + 1);
  plumb__stage_quoted(text, "layer", name);
  plumb__stage_quoted(text, "blob", name);
  plumb__stage_quoted(text, "dtype", plumb__dtypes[dtype].name);
  plumb__stage_quoted(text, "layout", layout);
  plumb__stage_quoted(text, "color", color);
  plumb__stage_quoted(text, "library", library);
  fprintf(text, ", \"shape\": [");
  for (int i = 0; i < rank; ++i) fprintf(text, "%s%lld", i > 0 ? ", " : "", (long long)dims[i]);
  fprintf(text, "], \"parameters\": {%s}}", parameters == NULL ? "" : parameters);
  if (fflush(text) != 0) return plumb__stage_fail("describe", path);
  ++plumb__stage.stages;
  return plumb__stage_manifest();
}

#endif
