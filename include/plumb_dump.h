/* plumb_dump.h: any runtime dumps what its layers computed, for model_check --subject (Plumb).
 * SPDX-License-Identifier: MIT-0. This one file may be copied into any project, which is why it is long. C99 and later,
 * C++11 and later; no dependencies but the C library and POSIX (mkdir, threads).
 *
 *   #define PLUMB_DUMP_IMPLEMENTATION   // in one source file, before the include; the others only include it
 *   #include "plumb_dump.h"
 *
 *   plumb_dumper* dump = plumb_dump_open("my NPU 1.2", "net.onnx");   // NULL unless the environment asks for a dump
 *   plumb_dump_forward(dump);                                         // before each run of the network
 *   const int64_t dims[] = {1, 64, 112, 112};
 *   plumb_dump(dump, "conv1", values, PLUMB_F32, 4, dims, NULL);      // after each layer; NULL: dense, C order
 *   plumb_dump_close(dump);                                           // writes the manifest
 *
 *   DUMP_OUTPUT_BLOB=1 ./program && model_check -m net.onnx --subject plumb_dump
 *
 * Names are those of the model's tensors; the network's inputs are dumped, too, so that the check runs on the same
 * ones.
 *
 * Off (dumper NULL) every call is one load and one branch. On, a tensor is written in its logical order in pieces of
 * 16 KiB, whatever its strides; files are complete or not there; the manifest comes last, so a run that was killed
 * leaves no dump. All functions may be called from several threads. The first error is said once on standard error and
 * in the manifest ("complete": false); the program goes on.
 *
 * The environment (as of Plumb's own dumps, doc/dump.md): DUMP_OUTPUT_BLOB, DUMP_INPUT_BLOB (1 or 0), DUMP_BLOB_DIR
 * (plumb_dump), DUMP_BLOB_FORMAT (npy or raw), DUMP_BLOB_LAYERS (globs and index ranges, by commas), DUMP_BLOB_TYPES,
 * DUMP_BLOB_FORWARDS (0; "0,5-9,20-" or "all"), DUMP_BLOB_STATS=1 (statistics only); what it cannot follow is said, and
 * nothing is dumped. What the folder holds: doc/dump_format.md. */
#ifndef PLUMB_DUMP_C_H_
#define PLUMB_DUMP_C_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PLUMB_DUMP_MAX_RANK 16

typedef enum plumb_dtype {
  PLUMB_F32,
  PLUMB_F16,
  PLUMB_BF16,
  PLUMB_F64,
  PLUMB_I8,
  PLUMB_U8,
  PLUMB_I16,
  PLUMB_U16,
  PLUMB_I32,
  PLUMB_U32,
  PLUMB_I64,
  PLUMB_BOOL
} plumb_dtype;

typedef struct plumb_dumper plumb_dumper;

/* What is known of a tensor beyond its values. Begin with PLUMB_DUMP_PLACE_INIT: nothing is known. */
typedef struct plumb_dump_place {
  const char* layer;             /* NULL: the tensor's own name */
  const char* type;              /* "Conv"; NULL: not known */
  int index;                     /* of the layer in the order of execution; negative: the one after the last */
  int is_input;                  /* 1: what the layer reads (DUMP_INPUT_BLOB), 0: what it wrote (DUMP_OUTPUT_BLOB) */
  int slot;                      /* which input or output of the layer */
  int constant;                  /* 1: a weight, no computed value */
  int pack;                      /* 4: channels (dim 1) lie in blocks of four (NC4HW4); 0 and 1: they do not */
  const char* layout;            /* words for the manifest: "NHWC" */
  const char* kernel;            /* what computed it */
  const char* const* inputs;     /* names of the layer's inputs, then NULL; or NULL */
  const char* const* attributes; /* name, value, name, value, then NULL; or NULL */
} plumb_dump_place;
#define PLUMB_DUMP_PLACE_INIT \
  { NULL, NULL, -1, 0, 0, 0, 0, NULL, NULL, NULL, NULL }

/* runtime: its name and version. model: the file, or NULL. NULL when no dump was asked for or it cannot begin (which is
 * said); everything below takes NULL. The second one of a process writes to <folder>/network-2. */
plumb_dumper* plumb_dump_open(const char* runtime, const char* model);

/* Begins the next Forward: the first one written goes to the folder itself, others to forward-00001/ ... */
void plumb_dump_forward(plumb_dumper* dumper);

/* strides: bytes from one element to the next along each dim, possibly negative or 0; NULL: dense. With `pack` dim 1's
 * stride is that of a whole block, and inside one the channels are neighbours. dims and data are the caller's. 0, or -1
 * when it could not be written. */
int plumb_dump_write(plumb_dumper* dumper, const plumb_dump_place* place, const char* name, const void* data,
                     plumb_dtype dtype, int rank, const int64_t* dims, const int64_t* strides);

/* Whether plumb_dump_write would write that: for values that must first be fetched from a device. */
int plumb_dump_wants(plumb_dumper* dumper, const plumb_dump_place* place, const char* name);

/* Writes the manifest and frees the dumper. 0 when the dump is complete. */
int plumb_dump_close(plumb_dumper* dumper);

/* A layer's output, layers in the order of the calls. */
static inline int plumb_dump(plumb_dumper* dumper, const char* name, const void* data, plumb_dtype dtype, int rank,
                             const int64_t* dims, const int64_t* strides) {
  return dumper == NULL ? 0 : plumb_dump_write(dumper, NULL, name, data, dtype, rank, dims, strides);
}

#ifdef __cplusplus
}
#endif
#endif /* PLUMB_DUMP_C_H_ */

#if defined(PLUMB_DUMP_IMPLEMENTATION) && !defined(PLUMB_DUMP_IMPLEMENTED)
#define PLUMB_DUMP_IMPLEMENTED

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define PLUMB__PATH 4096
#define PLUMB__PIECE 16384 /* bytes; a multiple of every element's size */

static const struct {
  const char* name;
  const char* descr; /* of .npy; bf16 has none, so its bits */
  int size;
} plumb__dtypes[] = {{"f32", "<f4", 4}, {"f16", "<f2", 2}, {"bf16", "<u2", 2}, {"f64", "<f8", 8},
                     {"i8", "|i1", 1},  {"u8", "|u1", 1},  {"i16", "<i2", 2},  {"u16", "<u2", 2},
                     {"i32", "<i4", 4}, {"u32", "<u4", 4}, {"i64", "<i8", 8},  {"bool", "|b1", 1}};

/* XXH64 with seed 0 (github.com/Cyan4973/xxHash, doc/xxhash_spec.md). */
typedef struct plumb__xxh {
  uint64_t lanes[4];
  uint64_t total;
  unsigned char held[32];
} plumb__xxh;

#define PLUMB__P1 0x9E3779B185EBCA87ull
#define PLUMB__P2 0xC2B2AE3D27D4EB4Full
#define PLUMB__P3 0x165667B19E3779F9ull
#define PLUMB__P4 0x85EBCA77C2B2AE63ull
#define PLUMB__P5 0x27D4EB2F165667C5ull

static uint64_t plumb__rotate(uint64_t x, int bits) { return (x << bits) | (x >> (64 - bits)); }
static uint64_t plumb__little(const unsigned char* bytes, int count) {
  uint64_t value = 0;
  while (count-- > 0) value = (value << 8) | bytes[count];
  return value;
}
static uint64_t plumb__round(uint64_t lane, uint64_t word) {
  return plumb__rotate(lane + word * PLUMB__P2, 31) * PLUMB__P1;
}

static void plumb__xxh_begin(plumb__xxh* x) {
  x->lanes[0] = PLUMB__P1 + PLUMB__P2;
  x->lanes[1] = PLUMB__P2;
  x->lanes[2] = 0;
  x->lanes[3] = 0u - PLUMB__P1;
  x->total = 0;
}

static void plumb__xxh_add(plumb__xxh* x, const void* data, size_t size) {
  const unsigned char* bytes = (const unsigned char*)data;
  while (size > 0) {
    size_t held = (size_t)(x->total % 32), take = 32 - held < size ? 32 - held : size;
    memcpy(x->held + held, bytes, take);
    x->total += take;
    bytes += take;
    size -= take;
    if (held + take == 32) {
      int i;
      for (i = 0; i < 4; ++i) x->lanes[i] = plumb__round(x->lanes[i], plumb__little(x->held + 8 * i, 8));
    }
  }
}

static uint64_t plumb__xxh_end(const plumb__xxh* x) {
  const unsigned char* rest = x->held;
  int left = (int)(x->total % 32), i;
  uint64_t hash = PLUMB__P5;
  if (x->total >= 32) {
    hash = plumb__rotate(x->lanes[0], 1) + plumb__rotate(x->lanes[1], 7) + plumb__rotate(x->lanes[2], 12) +
           plumb__rotate(x->lanes[3], 18);
    for (i = 0; i < 4; ++i) hash = (hash ^ plumb__round(0, x->lanes[i])) * PLUMB__P1 + PLUMB__P4;
  }
  hash += x->total;
  for (; left >= 8; left -= 8, rest += 8) {
    hash = plumb__rotate(hash ^ plumb__round(0, plumb__little(rest, 8)), 27) * PLUMB__P1 + PLUMB__P4;
  }
  for (; left >= 4; left -= 4, rest += 4) {
    hash = plumb__rotate(hash ^ (plumb__little(rest, 4) * PLUMB__P1), 23) * PLUMB__P2 + PLUMB__P3;
  }
  for (; left > 0; --left, ++rest) hash = plumb__rotate(hash ^ (*rest * PLUMB__P5), 11) * PLUMB__P1;
  hash = (hash ^ (hash >> 33)) * PLUMB__P2;
  hash = (hash ^ (hash >> 29)) * PLUMB__P3;
  return hash ^ (hash >> 32);
}

/* The statistics of doc/dump_format.md, with DUMP_BLOB_STATS=1. */
typedef struct plumb__statistics {
  int64_t count, finite, zeros, subnormals, nans, infinities;
  double min, max, sum, mean, squares;
  int64_t min_integer, max_integer;
} plumb__statistics;

struct plumb_dumper {
  pthread_mutex_t mutex;
  char root[PLUMB__PATH];   /* of this network */
  char folder[PLUMB__PATH]; /* of this Forward */
  char* runtime;
  char* model;
  int network, forward, written_forwards, next_index;
  int in_forward, writes_forward, raw, inputs, outputs, statistics_only, failed;
  int64_t files;
  FILE* manifest;                  /* under construction, while a Forward is written */
  char *layers, *types, *forwards; /* copies: the environment may change under us */
  char error[512];
  unsigned char piece[PLUMB__PIECE];
  plumb__statistics statistics;
};

static pthread_mutex_t plumb__open_mutex = PTHREAD_MUTEX_INITIALIZER;
static char plumb__run_root[PLUMB__PATH]; /* that this process claimed */
static int plumb__networks;

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static int
plumb__fail(plumb_dumper* d, const char* format, ...) {
  char text[sizeof(d->error)];
  va_list list;
  va_start(list, format);
  (void)vsnprintf(text, sizeof(text), format, list);
  va_end(list);
  if (d->error[0] == 0) {
    memcpy(d->error, text, sizeof(text));
    fprintf(stderr, "plumb_dump: %s; the dump is not complete, the program goes on\n", text);
  }
  return -1;
}

/* --- words of the environment */

static const char* plumb__variable(const char* name) {
  const char* value = getenv(name);
  return value != NULL && value[0] != 0 ? value : NULL;
}

static int plumb__is_one_of(const char* value, const char* const* words) {
  for (; *words != NULL; ++words) {
    if (strcmp(value, *words) == 0) return 1;
  }
  return 0;
}

/* 1 or 0; -1 when the value is neither. */
static int plumb__flag(const char* name) {
  static const char* const yes[] = {"1", "on", "ON", "true", "TRUE", "yes", NULL};
  static const char* const no[] = {"0", "off", "OFF", "false", "FALSE", "no", NULL};
  const char* value = plumb__variable(name);
  if (value == NULL || plumb__is_one_of(value, no)) return 0;
  if (plumb__is_one_of(value, yes)) return 1;
  fprintf(stderr, "plumb_dump: %s: expected 1 or 0, found '%s'; nothing is dumped\n", name, value);
  return -1;
}

/* Copies the next item of a list by commas, without spaces around it. Returns what follows, or NULL at the end. */
static const char* plumb__item(const char* list, char* item, size_t size) {
  size_t length;
  const char* end;
  if (list == NULL || *list == 0) return NULL;
  end = strchr(list, ',');
  if (end == NULL) end = list + strlen(list);
  while (list < end && (*list == ' ' || *list == '\t')) ++list;
  length = (size_t)(end - list);
  while (length > 0 && (list[length - 1] == ' ' || list[length - 1] == '\t')) --length;
  if (length >= size) length = size - 1;
  memcpy(item, list, length);
  item[length] = 0;
  return *end == ',' ? end + 1 : end;
}

/* "7", "5-9", "20-": 1 when the number is in it, 0 when not, -1 when the item is no range. */
static int plumb__in_range(const char* item, int64_t number) {
  char* end;
  long long first, last;
  if (!isdigit((unsigned char)item[0])) return -1;
  first = strtoll(item, &end, 10);
  last = first;
  if (*end == '-') {
    last = INT64_MAX;
    if (end[1] != 0) {
      if (!isdigit((unsigned char)end[1])) return -1;
      last = strtoll(end + 1, &end, 10);
    } else {
      ++end;
    }
  }
  return *end != 0 || last < first ? -1 : number >= first && number <= last;
}

/* One [set]; *pattern moves behind it. -1 when it is not closed, so that '[' means itself. */
static int plumb__in_set(const char** pattern, char c) {
  const char* p = *pattern + 1;
  int negated = *p == '!' || *p == '^', found = 0, first = 1;
  if (negated) ++p;
  for (; *p != 0 && (first || *p != ']'); first = 0) {
    char low = *p++, high = low;
    if (*p == '-' && p[1] != 0 && p[1] != ']') {
      high = p[1];
      p += 2;
    }
    found = found || (low <= c && c <= high);
  }
  if (*p == 0) return -1;
  *pattern = p + 1;
  return found != negated;
}

static int plumb__glob(const char* pattern, const char* text) {
  const char *star = NULL, *from = NULL;
  for (;;) {
    const char* next = pattern;
    int takes = 0;
    if (*pattern == '*') {
      star = ++pattern;
      from = text;
      continue;
    }
    if (*text == 0) return *pattern == 0;
    if (*pattern == '?') {
      takes = 1;
      next = pattern + 1;
    } else if (*pattern == '[' && (takes = plumb__in_set(&next, *text)) >= 0) {
    } else {
      takes = *pattern == *text;
      next = pattern + 1;
    }
    if (takes && *pattern != 0) {
      pattern = next;
      ++text;
    } else if (star != NULL) {
      pattern = star;
      text = ++from;
    } else {
      return 0;
    }
  }
}

static int plumb__same_word(const char* a, const char* b) {
  for (; *a != 0 && tolower((unsigned char)*a) == tolower((unsigned char)*b); ++a, ++b) {
  }
  return *a == 0 && *b == 0;
}

static int plumb__writes_forward(const plumb_dumper* d) {
  char item[64];
  const char* list = d->forwards;
  if (list == NULL) return d->forward == 0;
  while ((list = plumb__item(list, item, sizeof(item))) != NULL) {
    if (plumb__same_word(item, "all") || plumb__in_range(item, d->forward) == 1) return 1;
  }
  return 0;
}

static int plumb__wants(const plumb_dumper* d, const plumb_dump_place* place, int index, const char* name) {
  char item[1024];
  const char *list, *layer = place->layer != NULL ? place->layer : name;
  int found = 0;
  if (place->is_input ? !d->inputs : !d->outputs) return 0;
  for (list = d->layers; (list = plumb__item(list, item, sizeof(item))) != NULL;) {
    int range = plumb__in_range(item, index);
    found = found || range == 1 || (range < 0 && plumb__glob(item, layer));
  }
  if (d->layers != NULL && !found) return 0;
  found = 0;
  for (list = d->types; (list = plumb__item(list, item, sizeof(item))) != NULL;) {
    found = found || (place->type != NULL && plumb__same_word(item, place->type));
  }
  return d->types == NULL || found;
}

/* --- text of the manifest */

static int plumb__is_utf8(const char* text) {
  const unsigned char* p = (const unsigned char*)text;
  while (*p != 0) {
    int more = *p < 0x80                 ? 0
               : *p >= 0xC2 && *p < 0xE0 ? 1
               : *p >= 0xE0 && *p < 0xF0 ? 2
               : *p >= 0xF0 && *p < 0xF5 ? 3
                                         : -1;
    if (more < 0 || (*p == 0xE0 && p[1] < 0xA0) || (*p == 0xED && p[1] > 0x9F) || (*p == 0xF0 && p[1] < 0x90) ||
        (*p == 0xF4 && p[1] > 0x8F)) {
      return 0;
    }
    for (++p; more > 0; --more, ++p) {
      if ((*p & 0xC0) != 0x80) return 0;
    }
  }
  return 1;
}

/* A JSON string; {"hex": "..."} for bytes that are no UTF-8. */
static void plumb__name(FILE* file, const char* text) {
  const unsigned char* p = (const unsigned char*)(text != NULL ? text : "");
  if (!plumb__is_utf8((const char*)p)) {
    fputs("{\"hex\":\"", file);
    for (; *p != 0; ++p) fprintf(file, "%02x", *p);
    fputs("\"}", file);
    return;
  }
  fputc('"', file);
  for (; *p != 0; ++p) {
    if (*p == '"' || *p == '\\') {
      fprintf(file, "\\%c", *p);
    } else if (*p < 0x20) {
      fprintf(file, "\\u%04x", *p);
    } else {
      fputc(*p, file);
    }
  }
  fputc('"', file);
}

/* A JSON number whatever the program's locale says about decimal points; null when there is none. */
static void plumb__number(FILE* file, int known, double value) {
  char text[40], *p;
  if (!known || !(fabs(value) <= 1.7976931348623157e308)) {
    fputs("null", file);
    return;
  }
  (void)snprintf(text, sizeof(text), "%.17g", value);
  for (p = text; *p != 0; ++p) {
    if (!isdigit((unsigned char)*p) && *p != '-' && *p != '+' && *p != 'e') *p = '.';
  }
  fputs(text, file);
}

static void plumb__names(FILE* file, const char* const* names) {
  int i;
  fputc('[', file);
  for (i = 0; names != NULL && names[i] != NULL; ++i) {
    if (i > 0) fputc(',', file);
    plumb__name(file, names[i]);
  }
  fputc(']', file);
}

/* --- folders and file names */

/* Makes the folder and those above it. */
static int plumb__make_path(const char* path) {
  char part[PLUMB__PATH];
  size_t i, length = strlen(path);
  if (length >= sizeof(part)) return -1;
  for (i = 1; i <= length; ++i) {
    if (path[i] != '/' && path[i] != 0) continue;
    memcpy(part, path, i);
    part[i] = 0;
    if (mkdir(part, 0777) != 0 && errno != EEXIST) return -1;
  }
  return 0;
}

static int plumb__join(char* to, const char* folder, const char* separator, const char* name, const char* ending) {
  int length = snprintf(to, PLUMB__PATH, "%s%s%s%s", folder, separator, name, ending);
  return length > 0 && length < PLUMB__PATH ? 0 : -1;
}

/* The manifest under construction marks a folder as taken: opened so that no other process can do the same. */
static FILE* plumb__claim(const char* folder) {
  char path[PLUMB__PATH];
  FILE* file;
  errno = ENAMETOOLONG;
  if (plumb__join(path, folder, "/", "manifest.json", "") != 0) return NULL;
  file = fopen(path, "rb");
  if (file != NULL) {
    (void)fclose(file);
    errno = EEXIST;
    return NULL;
  }
  return plumb__join(path, folder, "/", "manifest.json", ".part") == 0 ? fopen(path, "wxb") : NULL;
}

/* The first of <folder>, <folder>-2 ... that holds no dump. */
static int plumb__claim_root(plumb_dumper* d, const char* wanted) {
  char base[PLUMB__PATH - 16];
  size_t length = strlen(wanted);
  int i;
  while (length > 1 && wanted[length - 1] == '/') --length;
  if (length >= sizeof(base)) return plumb__fail(d, "the folder's name has more than %d bytes", PLUMB__PATH - 16);
  memcpy(base, wanted, length);
  base[length] = 0;
  for (i = 1; i < 100000; ++i) {
    if (i == 1) {
      memcpy(d->root, base, length + 1);
    } else {
      (void)snprintf(d->root, sizeof(d->root), "%s-%d", base, i);
    }
    if (plumb__make_path(d->root) != 0) {
      return plumb__fail(d, "cannot create the dump folder '%s': %s", d->root, strerror(errno));
    }
    d->manifest = plumb__claim(d->root);
    if (d->manifest != NULL) {
      if (i > 1)
        fprintf(stderr, "plumb_dump: the dump goes to '%s', because '%s' holds a dump already\n", d->root, base);
      return 0;
    }
    if (errno != EEXIST) return plumb__fail(d, "cannot write into '%s': %s", d->root, strerror(errno));
  }
  return plumb__fail(d, "'%s' and all folders up to -99999 hold dumps already", base);
}

/* A layer's or blob's name as a part of a file name (doc/dump_format.md, "File names"); returns its end. */
static char* plumb__part(char* to, const char* name, size_t max_size) {
  size_t length = strlen(name), i;
  int changed = 0;
  for (i = 0; i < length; ++i) {
    unsigned char c = (unsigned char)name[i];
    int plain = c < 0x80 && (isalnum(c) || strchr("-_.+=@#$%&(){}[]!,;^'~", c) != NULL);
    changed = changed || (!plain && c != '/' && c != ':');
    if (i < max_size) to[i] = plain ? (char)c : '_';
  }
  if (changed || length > max_size) {
    plumb__xxh hash;
    if (length > max_size - 9) length = max_size - 9;
    plumb__xxh_begin(&hash);
    plumb__xxh_add(&hash, name, strlen(name));
    (void)snprintf(to + length, 10, "~%08x", (unsigned)(plumb__xxh_end(&hash) >> 32));
    length += 9;
  }
  to[length] = 0;
  return to + length;
}

static void plumb__file_name(char* to, const plumb_dump_place* place, int index, const char* name, int rank,
                             const int64_t* dims, const char* ending) {
  char text[PLUMB_DUMP_MAX_RANK * 21 + 1];
  char* end = text;
  int i;
  *end = 0;
  for (i = 0; i < rank; ++i) end += sprintf(end, "-%lld", (long long)dims[i]);
  to += sprintf(to, "%05d-", index);
  to = plumb__part(to, place->layer != NULL ? place->layer : name, 80);
  to += sprintf(to, "-%s-%d-", place->is_input ? "in" : "out", place->slot);
  to = plumb__part(to, name, 80);
  to += sprintf(to, "-dims");
  to = plumb__part(to, text, 48);
  (void)strcpy(to, ending);
}

/* --- statistics */

static float plumb__half(uint16_t bits) {
  uint32_t exponent = (bits >> 10) & 31u, fraction = bits & 0x3FFu;
  double value = exponent == 0 ? ldexp((double)fraction, -24) : ldexp((double)(fraction | 0x400u), (int)exponent - 25);
  if (exponent == 31) value = fraction == 0 ? HUGE_VAL : (double)NAN;
  return (float)(bits & 0x8000u ? -value : value);
}

static float plumb__bf16(uint16_t bits) {
  uint32_t word = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &word, sizeof(value));
  return value;
}

/* One element as double and, for integers, as int64. */
static void plumb__value(const unsigned char* at, plumb_dtype dtype, double* value, int64_t* integer) {
  uint64_t bits = plumb__little(at, plumb__dtypes[dtype].size);
  float single;
  *integer = 0;
  switch (dtype) {
    case PLUMB_F32: {
      uint32_t word = (uint32_t)bits;
      memcpy(&single, &word, sizeof(single));
      *value = (double)single;
      break;
    }
    case PLUMB_F16: *value = (double)plumb__half((uint16_t)bits); break;
    case PLUMB_BF16: *value = (double)plumb__bf16((uint16_t)bits); break;
    case PLUMB_F64: memcpy(value, &bits, sizeof(*value)); break;
    case PLUMB_I8: *integer = (int8_t)bits; break;
    case PLUMB_I16: *integer = (int16_t)bits; break;
    case PLUMB_I32: *integer = (int32_t)bits; break;
    default: *integer = (int64_t)bits; break;
  }
  if (dtype > PLUMB_F64) *value = (double)*integer;
}

static void plumb__add_piece(plumb__statistics* s, const unsigned char* piece, size_t count, plumb_dtype dtype) {
  static const double smallest[] = {1.1754943508222875e-38, 6.103515625e-5, 1.1754943508222875e-38,
                                    2.2250738585072014e-308};
  size_t size = (size_t)plumb__dtypes[dtype].size, i;
  double value, before;
  int64_t integer;
  for (i = 0; i < count; ++i) {
    plumb__value(piece + i * size, dtype, &value, &integer);
    ++s->count;
    s->zeros += value == 0;
    if (!(fabs(value) <= 1.7976931348623157e308)) {
      s->nans += value != value;
      s->infinities += value == value;
      continue;
    }
    if (dtype <= PLUMB_F64) s->subnormals += value != 0 && fabs(value) < smallest[dtype];
    if (s->finite == 0 || value < s->min) s->min = value;
    if (s->finite == 0 || value > s->max) s->max = value;
    if (s->finite == 0 || integer < s->min_integer) s->min_integer = integer;
    if (s->finite == 0 || integer > s->max_integer) s->max_integer = integer;
    before = value - s->mean; /* Welford */
    s->mean += before / (double)++s->finite;
    s->squares += before * (value - s->mean);
    s->sum += value;
  }
}

static void plumb__write_statistics(FILE* file, const plumb__statistics* s, int is_float) {
  int known = s->finite > 0;
  fprintf(file, ",\"statistics\":{\"count\":%lld,\"min\":", (long long)s->count);
  if (is_float || !known) {
    plumb__number(file, known, s->min);
    fputs(",\"max\":", file);
    plumb__number(file, known, s->max);
  } else {
    fprintf(file, "%lld,\"max\":%lld", (long long)s->min_integer, (long long)s->max_integer);
  }
  fputs(",\"mean\":", file);
  plumb__number(file, known, s->mean);
  fputs(",\"std\":", file);
  plumb__number(file, known, known ? sqrt(s->squares / (double)s->finite) : 0);
  fputs(",\"sum\":", file);
  plumb__number(file, known, s->sum);
  fprintf(file, ",\"zeros\":%lld,\"subnormals\":%lld,\"nan\":%lld,\"inf\":%lld}", (long long)s->zeros,
          (long long)s->subnormals, (long long)s->nans, (long long)s->infinities);
}

/* --- values */

typedef struct plumb__output {
  FILE* file; /* NULL: statistics only */
  plumb__xxh of_file, of_values;
  int64_t bytes;
  size_t filled;
  int failed;
} plumb__output;

static void plumb__write_bytes(plumb__output* out, const void* data, size_t size) {
  if (out->file != NULL && fwrite(data, 1, size, out->file) != size) out->failed = 1;
  plumb__xxh_add(&out->of_file, data, size);
  out->bytes += (int64_t)size;
}

static void plumb__flush_piece(plumb_dumper* d, plumb__output* out, plumb_dtype dtype) {
  plumb__write_bytes(out, d->piece, out->filled);
  plumb__xxh_add(&out->of_values, d->piece, out->filled);
  if (d->statistics_only) {
    plumb__add_piece(&d->statistics, d->piece, out->filled / (size_t)plumb__dtypes[dtype].size, dtype);
  }
  out->filled = 0;
}

static int plumb__is_little_endian(void) {
  const uint16_t one = 1;
  unsigned char first;
  memcpy(&first, &one, 1);
  return first == 1;
}

/* One row along the last dim into pieces. */
static void plumb__write_row(plumb_dumper* d, plumb__output* out, plumb_dtype dtype, const unsigned char* from,
                             int64_t count, int64_t stride) {
  size_t size = (size_t)plumb__dtypes[dtype].size;
  int straight = stride == (int64_t)size && plumb__is_little_endian();
  while (count > 0 && !out->failed) {
    size_t room = (PLUMB__PIECE - out->filled) / size, i, b;
    size_t take = (uint64_t)count < room ? (size_t)count : room;
    unsigned char* to = d->piece + out->filled;
    if (straight) {
      memcpy(to, from, take * size);
    } else {
      for (i = 0; i < take; ++i) {
        const unsigned char* at = from + (int64_t)i * stride;
        for (b = 0; b < size; ++b) to[i * size + b] = at[plumb__is_little_endian() ? b : size - 1 - b];
      }
    }
    from += (int64_t)take * stride;
    count -= (int64_t)take;
    out->filled += take * size;
    if (out->filled == PLUMB__PIECE) plumb__flush_piece(d, out, dtype);
  }
}

/* All rows in logical order: an odometer over all dims but the last. A packed last dim (rank 2) goes value by value. */
static void plumb__write_values(plumb_dumper* d, plumb__output* out, plumb_dtype dtype, const void* data, int rank,
                                const int64_t* dims, const int64_t* strides, int pack) {
  int64_t at[PLUMB_DUMP_MAX_RANK] = {0};
  int64_t size = plumb__dtypes[dtype].size;
  int packed_row = pack > 1 && rank == 2, outer = packed_row || rank == 0 ? rank : rank - 1, i;
  for (;;) {
    const unsigned char* from = (const unsigned char*)data;
    for (i = 0; i < outer; ++i) {
      from += pack > 1 && i == 1 ? at[i] / pack * strides[i] + at[i] % pack * size : at[i] * strides[i];
    }
    plumb__write_row(d, out, dtype, from, outer < rank ? dims[rank - 1] : 1, outer < rank ? strides[rank - 1] : size);
    for (i = outer - 1; i >= 0 && ++at[i] == dims[i]; --i) at[i] = 0;
    if (i < 0 || out->failed) break;
  }
  plumb__flush_piece(d, out, dtype);
}

/* Dense strides in bytes, blocks of channels included. */
static void plumb__dense(int64_t* strides, int rank, const int64_t* dims, int64_t size, int pack) {
  int64_t step = pack > 1 ? size * pack : size;
  int i;
  for (i = rank - 1; i >= 0; --i) {
    strides[i] = step;
    step *= pack > 1 && i == 1 ? (dims[i] + pack - 1) / pack : dims[i];
  }
}

static void plumb__npy_header(plumb__output* out, plumb_dtype dtype, int rank, const int64_t* dims) {
  char header[128 + PLUMB_DUMP_MAX_RANK * 24];
  int length, i, total;
  length = sprintf(header + 10, "{'descr': '%s', 'fortran_order': False, 'shape': (", plumb__dtypes[dtype].descr);
  for (i = 0; i < rank; ++i) {
    length += sprintf(header + 10 + length, i == 0 ? "%lld" : ", %lld", (long long)dims[i]);
  }
  length += sprintf(header + 10 + length, rank == 1 ? ",), }" : "), }");
  total = (10 + length + 1 + 63) / 64 * 64; /* the values begin at a multiple of 64 */
  memset(header + 10 + length, ' ', (size_t)(total - 10 - length));
  header[total - 1] = '\n';
  memcpy(header, "\x93NUMPY\1\0", 8);
  header[8] = (char)((total - 10) & 255);
  header[9] = (char)((total - 10) >> 8);
  plumb__write_bytes(out, header, (size_t)total);
}

/* --- the manifest */

static int plumb__begin_manifest(plumb_dumper* d) {
  char number[32], created[32] = "";
  time_t now = time(NULL);
  struct tm* utc = gmtime(&now);
  if (d->written_forwards == 0) {
    memcpy(d->folder, d->root, sizeof(d->folder));
  } else {
    (void)snprintf(number, sizeof(number), "forward-%05d", d->forward);
    if (plumb__join(d->folder, d->root, "/", number, "") != 0 || plumb__make_path(d->folder) != 0) {
      return plumb__fail(d, "cannot create the folder of Forward %d in '%s': %s", d->forward, d->root, strerror(errno));
    }
  }
  if (d->manifest == NULL) d->manifest = plumb__claim(d->folder);
  if (d->manifest == NULL) return plumb__fail(d, "cannot write into '%s': %s", d->folder, strerror(errno));
  ++d->written_forwards;
  if (utc != NULL) (void)strftime(created, sizeof(created), "%Y-%m-%dT%H:%M:%SZ", utc);
  fprintf(d->manifest,
          "{\n \"format\": \"plumb-dump\",\n \"version\": 1,\n \"tool\": \"plumb_dump.h 1\",\n \"created\": \"%s\",\n",
          created);
  fputs(" \"model\": {\"source\":", d->manifest);
  plumb__name(d->manifest, d->model);
  fputs("},\n \"device\": {\"name\":", d->manifest);
  plumb__name(d->manifest, plumb__is_utf8(d->runtime) ? d->runtime : "");
  fprintf(d->manifest, "},\n \"network\": %d,\n \"forward\": %d,\n", d->network, d->forward);
  fprintf(d->manifest,
          " \"options\": {\"inputs\":%s,\"outputs\":%s,\"format\":\"%s\",\"statistics_only\":%s,\"unfuse\":false},\n",
          d->inputs ? "true" : "false", d->outputs ? "true" : "false", d->raw ? "raw" : "npy",
          d->statistics_only ? "true" : "false");
  fputs(" \"files\": [", d->manifest);
  d->files = 0;
  return 0;
}

/* complete and errors are known now; then the manifest gets its name. */
static void plumb__end_manifest(plumb_dumper* d) {
  char part[PLUMB__PATH], path[PLUMB__PATH];
  int bad;
  if (d->manifest == NULL) return;
  fprintf(d->manifest, "%s],\n \"absent\": [],\n \"complete\": %s,\n \"errors\": [", d->files > 0 ? "\n " : "",
          d->error[0] == 0 ? "true" : "false");
  if (d->error[0] != 0) plumb__name(d->manifest, d->error);
  fputs("]\n}\n", d->manifest);
  bad = ferror(d->manifest);
  bad = fclose(d->manifest) != 0 || bad;
  d->manifest = NULL;
  if (plumb__join(path, d->folder, "/", "manifest.json", "") != 0 ||
      plumb__join(part, d->folder, "/", "manifest.json", ".part") != 0 || bad || rename(part, path) != 0) {
    (void)plumb__fail(d, "cannot write the manifest in '%s': %s", d->folder, strerror(errno));
  }
}

static void plumb__entry(plumb_dumper* d, const plumb_dump_place* place, int index, const char* name,
                         const char* file_name, plumb_dtype dtype, int rank, const int64_t* dims,
                         const plumb__output* out) {
  FILE* file = d->manifest;
  int i;
  fputs(d->files++ > 0 ? ",\n  {\"file\":" : "\n  {\"file\":", file);
  if (d->statistics_only) {
    fputs("null", file);
  } else {
    plumb__name(file, file_name);
  }
  fprintf(file, ",\"layer_index\":%d,\"layer\":", index);
  plumb__name(file, place->layer != NULL ? place->layer : name);
  fputs(",\"type\":", file);
  plumb__name(file, place->type != NULL && plumb__is_utf8(place->type) ? place->type : "");
  fprintf(file, ",\"direction\":\"%s\",\"slot\":%d,\"blob\":", place->is_input ? "in" : "out", place->slot);
  plumb__name(file, name);
  fputs(",\"shape\":[", file);
  for (i = 0; i < rank; ++i) fprintf(file, i == 0 ? "%lld" : ",%lld", (long long)dims[i]);
  fprintf(file, "],\"dtype\":\"%s\",\"constant\":%s,\"layout\":", plumb__dtypes[dtype].name,
          place->constant ? "true" : "false");
  plumb__name(file, place->layout != NULL && plumb__is_utf8(place->layout) ? place->layout : "");
  fputs(",\"kernel\":", file);
  plumb__name(file, place->kernel != NULL && plumb__is_utf8(place->kernel) ? place->kernel : "");
  if (place->inputs != NULL) {
    fputs(",\"layer_inputs\":", file);
    plumb__names(file, place->inputs);
  }
  if (place->attributes != NULL) {
    fputs(",\"attributes\":", file);
    plumb__names(file, place->attributes);
  }
  if (!d->statistics_only) {
    fprintf(file, ",\"bytes\":%lld,\"xxh64\":\"%016llx\"", (long long)out->bytes,
            (unsigned long long)plumb__xxh_end(&out->of_file));
  }
  fprintf(file, ",\"values_xxh64\":\"%016llx\"", (unsigned long long)plumb__xxh_end(&out->of_values));
  if (d->statistics_only) plumb__write_statistics(file, &d->statistics, dtype <= PLUMB_F64);
  fputc('}', file);
}

/* --- the functions */

static char* plumb__copy(const char* text) {
  size_t size = strlen(text != NULL ? text : "") + 1;
  char* copy = (char*)malloc(size);
  if (copy != NULL) memcpy(copy, text != NULL ? text : "", size);
  return copy;
}

static int plumb__take_words(char** to, const char* name) {
  const char* value = plumb__variable(name);
  *to = value != NULL ? plumb__copy(value) : NULL;
  return value != NULL && *to == NULL ? -1 : 0;
}

static int plumb__read_environment(plumb_dumper* d) {
  char item[64];
  const char* list;
  const char* format = plumb__variable("DUMP_BLOB_FORMAT");
  d->inputs = plumb__flag("DUMP_INPUT_BLOB");
  d->outputs = plumb__flag("DUMP_OUTPUT_BLOB");
  d->statistics_only = plumb__flag("DUMP_BLOB_STATS");
  if (d->inputs < 0 || d->outputs < 0 || d->statistics_only < 0 || d->inputs + d->outputs == 0) return -1;
  d->raw = format != NULL && strcmp(format, "raw") == 0;
  if (format != NULL && !d->raw && strcmp(format, "npy") != 0) {
    return plumb__fail(d, "DUMP_BLOB_FORMAT: this program writes npy or raw, found '%.64s'", format);
  }
  if (plumb__take_words(&d->layers, "DUMP_BLOB_LAYERS") != 0 || plumb__take_words(&d->types, "DUMP_BLOB_TYPES") != 0 ||
      plumb__take_words(&d->forwards, "DUMP_BLOB_FORWARDS") != 0) {
    return plumb__fail(d, "no memory");
  }
  for (list = d->forwards; (list = plumb__item(list, item, sizeof(item))) != NULL;) {
    if (!plumb__same_word(item, "all") && plumb__in_range(item, 0) < 0) {
      return plumb__fail(d, "DUMP_BLOB_FORWARDS: expected numbers and ranges such as 0,5-9,20- or all, found '%s'",
                         item);
    }
  }
  if (d->layers != NULL && (d->layers[0] == '/' || strstr(d->layers, ",/") != NULL)) {
    return plumb__fail(d, "DUMP_BLOB_LAYERS: this program knows globs and index ranges, no /regular expressions/");
  }
  if (plumb__flag("DUMP_BLOB_UNFUSE") != 0 || plumb__flag("SAVE_IO_TENSORS") != 0) {
    return plumb__fail(d, "DUMP_BLOB_UNFUSE, SAVE_IO_TENSORS: this program does neither; unset them");
  }
  if (plumb__variable("DUMP_BLOB_COMPRESS") != NULL && strcmp(plumb__variable("DUMP_BLOB_COMPRESS"), "none") != 0) {
    return plumb__fail(d, "DUMP_BLOB_COMPRESS: this program cannot compress");
  }
  return 0;
}

static int plumb__take_folder(plumb_dumper* d) {
  const char* wanted = plumb__variable("DUMP_BLOB_DIR");
  char number[32];
  int result = 0;
  (void)pthread_mutex_lock(&plumb__open_mutex);
  d->network = ++plumb__networks;
  if (d->network == 1) {
    result = plumb__claim_root(d, wanted != NULL ? wanted : "plumb_dump");
    memcpy(plumb__run_root, d->root, sizeof(d->root));
  } else {
    (void)snprintf(number, sizeof(number), "network-%d", d->network);
    if (plumb__join(d->root, plumb__run_root, "/", number, "") != 0 || plumb__make_path(d->root) != 0) {
      result = plumb__fail(d, "cannot create '%s': %s", d->root, strerror(errno));
    }
  }
  if (result != 0) --plumb__networks;
  (void)pthread_mutex_unlock(&plumb__open_mutex);
  return result;
}

static void plumb__free(plumb_dumper* d) {
  free(d->runtime);
  free(d->model);
  free(d->layers);
  free(d->types);
  free(d->forwards);
  (void)pthread_mutex_destroy(&d->mutex);
  free(d);
}

plumb_dumper* plumb_dump_open(const char* runtime, const char* model) {
  plumb_dumper* d;
  if (plumb__variable("DUMP_OUTPUT_BLOB") == NULL && plumb__variable("DUMP_INPUT_BLOB") == NULL) return NULL;
  d = (plumb_dumper*)calloc(1, sizeof(*d));
  if (d == NULL) return NULL;
  (void)pthread_mutex_init(&d->mutex, NULL);
  d->runtime = plumb__copy(runtime);
  d->model = plumb__copy(model);
  if (d->runtime == NULL || d->model == NULL || plumb__read_environment(d) != 0 || plumb__take_folder(d) != 0) {
    plumb__free(d);
    return NULL;
  }
  d->forward = -1;
  return d;
}

/* Under the lock. A Forward that is not written opens nothing. */
static void plumb__next_forward(plumb_dumper* d) {
  if (d->forward >= 0 && d->writes_forward) plumb__end_manifest(d);
  ++d->forward;
  d->next_index = 0;
  d->writes_forward = plumb__writes_forward(d);
  if (d->writes_forward && plumb__begin_manifest(d) != 0) d->writes_forward = 0;
}

void plumb_dump_forward(plumb_dumper* d) {
  if (d == NULL) return;
  (void)pthread_mutex_lock(&d->mutex);
  plumb__next_forward(d);
  (void)pthread_mutex_unlock(&d->mutex);
}

/* The checks of a call. Returns the number of elements, -1 after an error. */
static int64_t plumb__check(plumb_dumper* d, const plumb_dump_place* place, const char* name, const void* data,
                            plumb_dtype dtype, int rank, const int64_t* dims) {
  int64_t count = 1;
  int i;
  if (name == NULL || name[0] == 0) return plumb__fail(d, "a tensor has no name");
  if ((int)dtype < 0 || dtype > PLUMB_BOOL) return plumb__fail(d, "tensor '%.200s': %d is no dtype", name, (int)dtype);
  if (rank < 0 || rank > PLUMB_DUMP_MAX_RANK || (rank > 0 && dims == NULL)) {
    return plumb__fail(d, "tensor '%.200s': expected 0 to %d dims, found %d", name, PLUMB_DUMP_MAX_RANK, rank);
  }
  if (place->slot < 0 || place->pack < 0 || (place->pack > 1 && rank < 2)) {
    return plumb__fail(d, "tensor '%.200s': slot %d, pack %d (needs two dims)", name, place->slot, place->pack);
  }
  for (i = 0; i < rank; ++i) {
    if (dims[i] < 0 || (dims[i] > 0 && count > INT64_MAX / 64 / dims[i])) {
      return plumb__fail(d, "tensor '%.200s': dim %d is %lld", name, i, (long long)dims[i]);
    }
    count *= dims[i];
  }
  if (count > 0 && data == NULL) return plumb__fail(d, "tensor '%.200s' has no data", name);
  return count;
}

static int plumb__write_tensor(plumb_dumper* d, const plumb_dump_place* place, int index, const char* name,
                               const void* data, plumb_dtype dtype, int rank, const int64_t* dims,
                               const int64_t* strides, int64_t count) {
  char file_name[512], path[PLUMB__PATH], part[PLUMB__PATH];
  int64_t dense[PLUMB_DUMP_MAX_RANK];
  plumb__output out;
  memset(&out, 0, sizeof(out));
  memset(&d->statistics, 0, sizeof(d->statistics));
  plumb__xxh_begin(&out.of_file);
  plumb__xxh_begin(&out.of_values);
  plumb__file_name(file_name, place, index, name, rank, dims, d->raw ? ".raw" : ".npy");
  if (!d->statistics_only) {
    if (plumb__join(path, d->folder, "/", file_name, "") != 0 ||
        plumb__join(part, d->folder, "/", file_name, ".part") != 0) {
      return plumb__fail(d, "the path of '%s' is too long", file_name);
    }
    out.file = fopen(part, "wb");
    if (out.file == NULL) return plumb__fail(d, "cannot write '%s': %s", part, strerror(errno));
    if (!d->raw) plumb__npy_header(&out, dtype, rank, dims);
  }
  if (strides == NULL) {
    plumb__dense(dense, rank, dims, plumb__dtypes[dtype].size, place->pack);
    strides = dense;
  }
  if (count > 0) plumb__write_values(d, &out, dtype, data, rank, dims, strides, place->pack);
  if (out.file != NULL) {
    out.failed = fclose(out.file) != 0 || out.failed;
    if (out.failed || rename(part, path) != 0) {
      int why = errno;
      (void)remove(part);
      d->failed = 1; /* the disk is full or gone: no further try */
      return plumb__fail(d, "cannot write '%s': %s", path, strerror(why));
    }
  }
  plumb__entry(d, place, index, name, file_name, dtype, rank, dims, &out);
  return 0;
}

int plumb_dump_wants(plumb_dumper* d, const plumb_dump_place* place, const char* name) {
  static const plumb_dump_place unknown = PLUMB_DUMP_PLACE_INIT;
  int wants;
  if (d == NULL || name == NULL) return 0;
  if (place == NULL) place = &unknown;
  (void)pthread_mutex_lock(&d->mutex);
  if (d->forward < 0) plumb__next_forward(d);
  wants =
      d->writes_forward && !d->failed && plumb__wants(d, place, place->index >= 0 ? place->index : d->next_index, name);
  (void)pthread_mutex_unlock(&d->mutex);
  return wants;
}

int plumb_dump_write(plumb_dumper* d, const plumb_dump_place* place, const char* name, const void* data,
                     plumb_dtype dtype, int rank, const int64_t* dims, const int64_t* strides) {
  static const plumb_dump_place unknown = PLUMB_DUMP_PLACE_INIT;
  int result = -1, index;
  int64_t count;
  if (d == NULL) return 0;
  if (place == NULL) place = &unknown;
  (void)pthread_mutex_lock(&d->mutex);
  if (d->forward < 0) plumb__next_forward(d);
  index = place->index >= 0 ? place->index : d->next_index;
  if (place->index >= 0 || !place->is_input) d->next_index = index + 1;
  count = plumb__check(d, place, name, data, dtype, rank, dims);
  if (count >= 0) {
    result = !d->writes_forward || d->failed || !plumb__wants(d, place, index, name)
                 ? 0
                 : plumb__write_tensor(d, place, index, name, data, dtype, rank, dims, strides, count);
  }
  (void)pthread_mutex_unlock(&d->mutex);
  return result;
}

/* No Forward was written: the mark of the folder goes, so that the next run may have it. */
static void plumb__leave_nothing(plumb_dumper* d) {
  char part[PLUMB__PATH];
  if (d->manifest != NULL) (void)fclose(d->manifest);
  if (d->manifest != NULL && plumb__join(part, d->root, "/", "manifest.json", ".part") == 0) (void)remove(part);
  fprintf(stderr, "plumb_dump: nothing is dumped: of %d Forwards none is in DUMP_BLOB_FORWARDS=%s\n", d->forward + 1,
          d->forwards != NULL ? d->forwards : "0");
}

int plumb_dump_close(plumb_dumper* d) {
  int result;
  if (d == NULL) return 0;
  if (d->forward < 0) plumb__next_forward(d);
  if (d->written_forwards == 0 && d->error[0] == 0) {
    plumb__leave_nothing(d);
    plumb__free(d);
    return 0;
  }
  plumb__end_manifest(d);
  result = d->error[0] == 0 ? 0 : -1;
  fprintf(stderr, "plumb_dump: %s in '%s'\n", result == 0 ? "the dump is complete" : "a dump that is not complete",
          d->root);
  plumb__free(d);
  return result;
}

#endif /* PLUMB_DUMP_IMPLEMENTATION */
