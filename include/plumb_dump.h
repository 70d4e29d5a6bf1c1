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
 * 64 KiB, whatever its strides; files are complete or not there; the manifest comes last, so a run that was killed
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
#include <fnmatch.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PLUMB__PATH 4096
#define PLUMB__PIECE 65536 /* bytes; a multiple of every element's size */

static const struct {
  const char* name;
  const char* descr; /* of .npy; bf16 has none, so its bits */
  int size;
} plumb__dtypes[] = {{"f32", "<f4", 4}, {"f16", "<f2", 2}, {"bf16", "<u2", 2}, {"f64", "<f8", 8},
                     {"i8", "|i1", 1},  {"u8", "|u1", 1},  {"i16", "<i2", 2},  {"u16", "<u2", 2},
                     {"i32", "<i4", 4}, {"u32", "<u4", 4}, {"i64", "<i8", 8},  {"bool", "|b1", 1}};

/* XXH64 with seed 0 (github.com/Cyan4973/xxHash, doc/xxhash_spec.md), twice in one pass: of everything, and of what
 * came since plumb__xxh_mark, which is called at a multiple of 32 bytes. */
typedef struct plumb__xxh {
  uint64_t lanes[2][4];
  uint64_t total, marked;
  unsigned char held[32];
} plumb__xxh;

#define PLUMB__P1 0x9E3779B185EBCA87ull
#define PLUMB__P2 0xC2B2AE3D27D4EB4Full
#define PLUMB__P3 0x165667B19E3779F9ull
#define PLUMB__P4 0x85EBCA77C2B2AE63ull
#define PLUMB__P5 0x27D4EB2F165667C5ull

static uint64_t plumb__rotate(uint64_t x, int bits) { return (x << bits) | (x >> (64 - bits)); }
static uint64_t plumb__u32(const unsigned char* b) {
  return b[0] | (uint64_t)b[1] << 8 | (uint64_t)b[2] << 16 | (uint64_t)b[3] << 24;
}
static uint64_t plumb__u64(const unsigned char* b) { return plumb__u32(b) | plumb__u32(b + 4) << 32; }
static uint64_t plumb__round(uint64_t lane, uint64_t product) { return plumb__rotate(lane + product, 31) * PLUMB__P1; }

static void plumb__xxh_mark(plumb__xxh* x) {
  static const uint64_t first[] = {PLUMB__P1 + PLUMB__P2, PLUMB__P2, 0, 0u - PLUMB__P1};
  memcpy(x->lanes[1], first, sizeof(first));
  x->marked = x->total;
}

static void plumb__xxh_begin(plumb__xxh* x) {
  x->total = 0;
  plumb__xxh_mark(x);
  memcpy(x->lanes[0], x->lanes[1], sizeof(x->lanes[0]));
}

static void plumb__xxh_stripes(plumb__xxh* x, const unsigned char* bytes, size_t size) {
  uint64_t lanes[2][4]; /* in registers */
  int i;
  memcpy(lanes, x->lanes, sizeof(lanes));
  for (; size >= 32; size -= 32, bytes += 32) {
    for (i = 0; i < 4; ++i) {
      uint64_t product = plumb__u64(bytes + 8 * i) * PLUMB__P2;
      lanes[0][i] = plumb__round(lanes[0][i], product);
      lanes[1][i] = plumb__round(lanes[1][i], product);
    }
  }
  memcpy(x->lanes, lanes, sizeof(lanes));
}

static void plumb__xxh_add(plumb__xxh* x, const void* data, size_t size) {
  const unsigned char* bytes = (const unsigned char*)data;
  while (size > 0) {
    size_t held = (size_t)(x->total % 32), take = 32 - held < size ? 32 - held : size;
    if (held == 0 && size >= 32) {
      take = size / 32 * 32;
      plumb__xxh_stripes(x, bytes, take);
    } else {
      memcpy(x->held + held, bytes, take);
      if (held + take == 32) plumb__xxh_stripes(x, x->held, 32);
    }
    x->total += take;
    bytes += take;
    size -= take;
  }
}

static uint64_t plumb__xxh_end(const plumb__xxh* x, int since_mark) {
  static const int turns[] = {1, 7, 12, 18};
  const unsigned char* rest = x->held;
  const uint64_t *lanes = x->lanes[since_mark], total = x->total - (since_mark ? x->marked : 0);
  int left = (int)(total % 32), i;
  uint64_t hash = total < 32 ? PLUMB__P5 : 0;
  for (i = 0; i < 4 && total >= 32; ++i) hash += plumb__rotate(lanes[i], turns[i]);
  for (i = 0; i < 4 && total >= 32; ++i) hash = (hash ^ plumb__round(0, lanes[i] * PLUMB__P2)) * PLUMB__P1 + PLUMB__P4;
  hash += total;
  for (; left >= 8; left -= 8, rest += 8) {
    hash = plumb__rotate(hash ^ plumb__round(0, plumb__u64(rest) * PLUMB__P2), 27) * PLUMB__P1 + PLUMB__P4;
  }
  for (; left >= 4; left -= 4, rest += 4) {
    hash = plumb__rotate(hash ^ (plumb__u32(rest) * PLUMB__P1), 23) * PLUMB__P2 + PLUMB__P3;
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
  char root[PLUMB__PATH];                            /* of this network */
  char folder[PLUMB__PATH];                          /* of this Forward */
  char *runtime, *model, *layers, *types, *forwards; /* copies: the environment may change under us */
  int network, forward, written_forwards, next_index;
  int writes_forward, raw, inputs, outputs, statistics_only, failed;
  int64_t files;
  FILE* manifest; /* under construction, while a Forward is written */
  char error[512];
  unsigned char piece[PLUMB__PIECE];
  size_t filled;
  plumb__statistics statistics;
};

static pthread_mutex_t plumb__open_mutex = PTHREAD_MUTEX_INITIALIZER;
static char plumb__run_root[PLUMB__PATH]; /* that this process claimed */
static int plumb__networks;

#if defined(__GNUC__)
#define PLUMB__PRINTF __attribute__((format(printf, 2, 3))) /* the second argument, of what follows it */
#else
#define PLUMB__PRINTF
#endif

PLUMB__PRINTF static int plumb__fail(plumb_dumper* d, const char* format, ...) {
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

/* 1 or 0; -1 when the value is neither. */
static int plumb__flag(const char* name) {
  static const char* const words[2][6] = {{"0", "off", "OFF", "false", "FALSE", "no"},
                                          {"1", "on", "ON", "true", "TRUE", "yes"}};
  const char* value = plumb__variable(name);
  int i;
  for (i = 0; value != NULL && i < 12; ++i) {
    if (strcmp(value, words[i / 6][i % 6]) == 0) return i / 6;
  }
  if (value == NULL) return 0;
  fprintf(stderr, "plumb_dump: %s: expected 1 or 0, found '%s'; nothing is dumped\n", name, value);
  return -1;
}

/* Copies the next item of a list by commas, without spaces around it. Returns what follows, or NULL at the end. */
static const char* plumb__item(const char* list, char* item, size_t size) {
  size_t length;
  const char* end;
  if (list == NULL || *list == 0) return NULL;
  list += strspn(list, " \t");
  length = strcspn(list, ",");
  end = list + length;
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
  last = first = strtoll(item, &end, 10);
  if (*end == '-' && isdigit((unsigned char)end[1])) {
    last = strtoll(end + 1, &end, 10);
  } else if (*end == '-') {
    last = INT64_MAX;
    ++end;
  }
  return *end != 0 || last < first ? -1 : number >= first && number <= last;
}

/* Whether one item of the list is the text (a glob of it, or whatever its case) or a range with the number in it. */
static int plumb__listed(const char* list, int64_t number, const char* text, int is_glob) {
  char item[1024];
  while ((list = plumb__item(list, item, sizeof(item))) != NULL) {
    int range = plumb__in_range(item, number);
    if (range < 0) range = (is_glob ? fnmatch(item, text, 0) : strcasecmp(item, text)) == 0;
    if (range == 1) return 1;
  }
  return 0;
}

static int plumb__wants(const plumb_dumper* d, const plumb_dump_place* place, int index, const char* name) {
  const char* layer = place->layer != NULL ? place->layer : name;
  return d->writes_forward && !d->failed && (place->is_input ? d->inputs : d->outputs) &&
         (d->layers[0] == 0 || plumb__listed(d->layers, index, layer, 1)) &&
         (d->types[0] == 0 || (place->type != NULL && plumb__listed(d->types, -1, place->type, 0)));
}

/* --- text of the manifest */

static int plumb__is_utf8(const char* text) {
  static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
  const unsigned char* p = (const unsigned char*)text;
  while (*p != 0) {
    int more = *p < 0x80 ? 0 : *p < 0xE0 ? 1 : *p < 0xF0 ? 2 : 3, i;
    uint32_t code = more == 0 ? *p : *p & (0x3Fu >> more);
    if (*p >= 0xF8 || (*p >= 0x80 && *p < 0xC0)) return 0;
    for (i = 0, ++p; i < more; ++i, ++p) {
      if ((*p & 0xC0) != 0x80) return 0;
      code = code << 6 | (*p & 0x3Fu);
    }
    if (code < least[more] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return 0;
  }
  return 1;
}

/* A JSON string; {"hex": "..."} for bytes that are no UTF-8. */
static void plumb__name(FILE* file, const char* text) {
  const unsigned char* p = (const unsigned char*)(text != NULL ? text : "");
  int plain = plumb__is_utf8((const char*)p);
  fputs(plain ? "\"" : "{\"hex\":\"", file);
  for (; *p != 0; ++p) {
    if (!plain) {
      fprintf(file, "%02x", *p);
    } else if (*p == '"' || *p == '\\') {
      fprintf(file, "\\%c", *p);
    } else if (*p < 0x20) {
      fprintf(file, "\\u%04x", *p);
    } else {
      fputc(*p, file);
    }
  }
  fputs(plain ? "\"" : "\"}", file);
}

/* A JSON number whatever the program's locale says about decimal points; null for what is none. */
static void plumb__number(FILE* file, double value) {
  char text[40] = "null", *p;
  if (fabs(value) <= 1.7976931348623157e308) {
    (void)snprintf(text, sizeof(text), "%.17g", value);
    for (p = text; *p != 0; ++p) {
      if (!isdigit((unsigned char)*p) && *p != '-' && *p != '+' && *p != 'e') *p = '.';
    }
  }
  fputs(text, file);
}

/* What printf lacks: %s text as it is, %n a name, %w words (none where they are no UTF-8), %a a list of names, %b true
 * or false, %d an int64_t, %x a checksum, %f a double. */
static void plumb__print(FILE* file, const char* format, ...) {
  va_list list;
  va_start(list, format);
  for (; *format != 0; ++format) {
    const char *text, *const *names, *separator = "";
    if (*format != '%') {
      fputc(*format, file);
      continue;
    }
    switch (*++format) {
      case 's': fputs(va_arg(list, const char*), file); break;
      case 'n': plumb__name(file, va_arg(list, const char*)); break;
      case 'w':
        text = va_arg(list, const char*);
        plumb__name(file, text != NULL && plumb__is_utf8(text) ? text : "");
        break;
      case 'a':
        for (names = va_arg(list, const char* const*); *names != NULL; ++names, separator = ",") {
          fputs(separator, file);
          plumb__name(file, *names);
        }
        break;
      case 'b': fputs(va_arg(list, int) ? "true" : "false", file); break;
      case 'd': fprintf(file, "%lld", (long long)va_arg(list, int64_t)); break;
      case 'x': fprintf(file, "%016llx", (unsigned long long)va_arg(list, uint64_t)); break;
      default: plumb__number(file, va_arg(list, double)); break;
    }
  }
  va_end(list);
}

/* The dims with a separator between them; 22 bytes per dim are enough. */
static char* plumb__dims(char* to, const char* separator, int rank, const int64_t* dims) {
  int i;
  *to = 0;
  for (i = 0; i < rank; ++i) to += sprintf(to, "%s%lld", i == 0 ? "" : separator, (long long)dims[i]);
  return to;
}

/* --- folders and file names */

/* A path of PLUMB__PATH bytes. -1 and ENAMETOOLONG when it is longer. */
PLUMB__PRINTF static int plumb__path(char* to, const char* format, ...) {
  va_list list;
  int length;
  va_start(list, format);
  length = vsnprintf(to, PLUMB__PATH, format, list);
  va_end(list);
  errno = ENAMETOOLONG;
  return length > 0 && length < PLUMB__PATH ? 0 : -1;
}

/* Makes the folder and those above it. */
static int plumb__make_path(const char* path) {
  char part[PLUMB__PATH];
  size_t i, length = strlen(path);
  for (i = 1; i <= length; ++i) {
    if (path[i] != '/' && path[i] != 0) continue;
    memcpy(part, path, i);
    part[i] = 0;
    if (mkdir(part, 0777) != 0 && errno != EEXIST) return -1;
  }
  return 0;
}

/* The manifest under construction marks a folder as taken: opened so that no other process can do the same. */
static FILE* plumb__claim(const char* folder) {
  char path[PLUMB__PATH];
  if (plumb__path(path, "%s/manifest.json", folder) != 0) return NULL;
  if (access(path, F_OK) == 0) {
    errno = EEXIST;
    return NULL;
  }
  return plumb__path(path, "%s/manifest.json.part", folder) == 0 ? fopen(path, "wxb") : NULL;
}

/* The first of <folder>, <folder>-2 ... that holds no dump. */
static int plumb__claim_root(plumb_dumper* d, const char* wanted) {
  int length = (int)strlen(wanted), i;
  while (length > 1 && wanted[length - 1] == '/') --length;
  if (length >= PLUMB__PATH - 16) return plumb__fail(d, "the folder's name has more than %d bytes", PLUMB__PATH - 16);
  for (i = 1; i < 100000; ++i) {
    (void)(i == 1 ? plumb__path(d->root, "%.*s", length, wanted) : plumb__path(d->root, "%.*s-%d", length, wanted, i));
    if (plumb__make_path(d->root) != 0) {
      return plumb__fail(d, "cannot create the dump folder '%s': %s", d->root, strerror(errno));
    }
    d->manifest = plumb__claim(d->root);
    if (d->manifest != NULL && i > 1) {
      fprintf(stderr, "plumb_dump: the dump goes to '%s', because '%.*s' holds a dump already\n", d->root, length,
              wanted);
    }
    if (d->manifest != NULL) return 0;
    if (errno != EEXIST) return plumb__fail(d, "cannot write into '%s': %s", d->root, strerror(errno));
  }
  return plumb__fail(d, "'%.*s' and all folders up to -99999 hold dumps already", length, wanted);
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
    plumb__xxh_begin(&hash);
    plumb__xxh_add(&hash, name, length);
    if (length > max_size - 9) length = max_size - 9;
    length += (size_t)sprintf(to + length, "~%08x", (unsigned)(plumb__xxh_end(&hash, 0) >> 32));
  }
  to[length] = 0;
  return to + length;
}

static void plumb__file_name(char* to, const plumb_dump_place* place, int index, const char* name, int rank,
                             const int64_t* dims, const char* ending) {
  char text[PLUMB_DUMP_MAX_RANK * 22 + 2] = "-";
  plumb__dims(text + 1, "-", rank, dims);
  to += sprintf(to, "%05d-", index);
  to = plumb__part(to, place->layer != NULL ? place->layer : name, 80);
  to += sprintf(to, "-%s-%d-", place->is_input ? "in" : "out", place->slot);
  to = plumb__part(to, name, 80);
  to = plumb__part(to + sprintf(to, "-dims"), rank > 0 ? text : "", 48);
  (void)strcpy(to, ending);
}

/* --- statistics */

/* One element as double and, for integers, as int64. */
static double plumb__value(const unsigned char* at, plumb_dtype dtype, int64_t* integer) {
  int bits = 8 * plumb__dtypes[dtype].size, exponent;
  uint64_t word = 0;
  uint32_t single;
  double value;
  float narrow;
  memcpy(&word, at, (size_t)bits / 8); /* of a piece: little-endian */
  word = plumb__u64((const unsigned char*)&word);
  *integer = 0;
  if (dtype == PLUMB_F64) {
    memcpy(&value, &word, sizeof(value));
  } else if (dtype == PLUMB_F16) {
    exponent = (int)(word >> 10) & 31;
    value = ldexp((double)((word & 0x3FF) | (exponent > 0 ? 0x400u : 0u)), exponent > 0 ? exponent - 25 : -24);
    if (exponent == 31) value = (word & 0x3FF) == 0 ? HUGE_VAL : (double)NAN;
    if (word & 0x8000) value = -value;
  } else if (dtype == PLUMB_F32 || dtype == PLUMB_BF16) {
    single = (uint32_t)(dtype == PLUMB_BF16 ? word << 16 : word);
    memcpy(&narrow, &single, sizeof(narrow));
    value = (double)narrow;
  } else {
    if (plumb__dtypes[dtype].descr[1] == 'i' && bits < 64 && word >> (bits - 1)) word |= ~(uint64_t)0 << bits;
    memcpy(integer, &word, sizeof(word));
    value = (double)*integer;
  }
  return value;
}

static void plumb__add_piece(plumb__statistics* s, const unsigned char* piece, size_t size, plumb_dtype dtype) {
  static const double least_normal[] = {1.1754943508222875e-38, 6.103515625e-5, 1.1754943508222875e-38,
                                        2.2250738585072014e-308};
  const unsigned char* end = piece + size;
  for (; piece < end; piece += plumb__dtypes[dtype].size) {
    int64_t integer;
    double value = plumb__value(piece, dtype, &integer), before;
    ++s->count;
    s->zeros += value == 0;
    s->nans += value != value;
    if (!(fabs(value) <= 1.7976931348623157e308)) {
      s->infinities += value == value;
      continue;
    }
    s->subnormals += dtype <= PLUMB_F64 && value != 0 && fabs(value) < least_normal[dtype];
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
  double none = s->finite > 0 ? 0 : (double)NAN;
  plumb__print(file, ",\"statistics\":{\"count\":%d", s->count);
  if (is_float || s->finite == 0) {
    plumb__print(file, ",\"min\":%f,\"max\":%f", s->min + none, s->max + none);
  } else {
    plumb__print(file, ",\"min\":%d,\"max\":%d", s->min_integer, s->max_integer);
  }
  plumb__print(file, ",\"mean\":%f,\"std\":%f,\"sum\":%f,\"zeros\":%d,\"subnormals\":%d,\"nan\":%d,\"inf\":%d}",
               s->mean + none, sqrt(s->squares / (double)(s->finite + (s->finite == 0))) + none, s->sum + none,
               s->zeros, s->subnormals, s->nans, s->infinities);
}

/* --- values */

typedef struct plumb__output {
  FILE* file; /* NULL: statistics only */
  plumb_dtype dtype;
  plumb__xxh hash; /* of the file and of the values */
  int failed;
} plumb__output;

static void plumb__write_bytes(plumb__output* out, const void* data, size_t size) {
  if (out->file != NULL && fwrite(data, 1, size, out->file) != size) out->failed = 1;
  plumb__xxh_add(&out->hash, data, size);
}

/* Dense little-endian values: the caller's, or the piece. */
static void plumb__write_piece(plumb_dumper* d, plumb__output* out, const unsigned char* values, size_t size) {
  plumb__write_bytes(out, values, size);
  if (d->statistics_only) plumb__add_piece(&d->statistics, values, size, out->dtype);
  d->filled = 0;
}

static int plumb__is_little_endian(void) {
  const uint16_t one = 1;
  unsigned char first;
  memcpy(&first, &one, 1);
  return first == 1;
}

/* `count` values that lie `stride` bytes apart, by way of pieces; a whole piece of dense ones needs no copy. */
static void plumb__write_row(plumb_dumper* d, plumb__output* out, const unsigned char* from, int64_t count,
                             int64_t stride) {
  size_t size = (size_t)plumb__dtypes[out->dtype].size, i, b;
  int little = plumb__is_little_endian(), straight = little && stride == (int64_t)size;
  while (count > 0 && !out->failed) {
    size_t room = (PLUMB__PIECE - d->filled) / size, take = (uint64_t)count < room ? (size_t)count : room;
    unsigned char* to = d->piece + d->filled;
    d->filled += take * size;
    if (straight && take * size == PLUMB__PIECE) {
      plumb__write_piece(d, out, from, take * size);
    } else if (straight) {
      memcpy(to, from, take * size);
    } else {
      for (i = 0; i < take; ++i, to += size) {
        const unsigned char* at = from + (int64_t)i * stride;
        if (little && size == 4) {
          memcpy(to, at, 4); /* one instruction */
        } else {
          for (b = 0; b < size; ++b) to[b] = at[little ? b : size - 1 - b];
        }
      }
    }
    from += (int64_t)take * stride;
    count -= (int64_t)take;
    if (d->filled == PLUMB__PIECE) plumb__write_piece(d, out, d->piece, d->filled);
  }
}

/* All values in logical order: an odometer over the outer dims. Inner ones that lie one behind the other are one row; a
 * dim whose channels are packed is not. */
static void plumb__write_values(plumb_dumper* d, plumb__output* out, const void* data, int rank, const int64_t* dims,
                                const int64_t* strides, int pack) {
  int64_t at[PLUMB_DUMP_MAX_RANK] = {0};
  int64_t size = plumb__dtypes[out->dtype].size, count = 1, stride = size;
  int outer = rank, i;
  while (outer > 0 && !(pack > 1 && outer == 2) &&
         (outer == rank || dims[outer - 1] == 1 || strides[outer - 1] == count * stride)) {
    if (outer == rank) stride = strides[outer - 1];
    count *= dims[--outer];
  }
  do {
    const unsigned char* from = (const unsigned char*)data;
    for (i = 0; i < outer; ++i) {
      from += pack > 1 && i == 1 ? at[i] / pack * strides[i] + at[i] % pack * size : at[i] * strides[i];
    }
    plumb__write_row(d, out, from, count, stride);
    for (i = outer - 1; i >= 0 && ++at[i] == dims[i]; --i) at[i] = 0;
  } while (i >= 0 && !out->failed);
  plumb__write_piece(d, out, d->piece, d->filled);
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

static void plumb__npy_header(plumb__output* out, int rank, const int64_t* dims) {
  char header[128 + PLUMB_DUMP_MAX_RANK * 24] = "\x93NUMPY\1";
  char* end =
      header + 10 +
      sprintf(header + 10, "{'descr': '%s', 'fortran_order': False, 'shape': (", plumb__dtypes[out->dtype].descr);
  int length, total;
  end = plumb__dims(end, ", ", rank, dims);
  end += sprintf(end, rank == 1 ? ",), }" : "), }");
  length = (int)(end - header);
  total = (length + 1 + 63) / 64 * 64; /* the values begin at a multiple of 64 */
  memset(end, ' ', (size_t)(total - length));
  header[total - 1] = '\n';
  header[8] = (char)((total - 10) & 255);
  header[9] = (char)((total - 10) >> 8);
  plumb__write_bytes(out, header, (size_t)total);
  plumb__xxh_mark(&out->hash);
}

/* --- the manifest */

static int plumb__begin_manifest(plumb_dumper* d) {
  char created[32] = "";
  time_t now = time(NULL);
  struct tm* utc = gmtime(&now);
  if (d->written_forwards == 0) {
    memcpy(d->folder, d->root, sizeof(d->folder));
  } else if (plumb__path(d->folder, "%s/forward-%05d", d->root, d->forward) != 0 || plumb__make_path(d->folder) != 0) {
    return plumb__fail(d, "cannot create the folder of Forward %d in '%s': %s", d->forward, d->root, strerror(errno));
  }
  if (d->manifest == NULL) d->manifest = plumb__claim(d->folder);
  if (d->manifest == NULL) return plumb__fail(d, "cannot write into '%s': %s", d->folder, strerror(errno));
  ++d->written_forwards;
  d->files = 0;
  if (utc != NULL) (void)strftime(created, sizeof(created), "%Y-%m-%dT%H:%M:%SZ", utc);
  plumb__print(d->manifest,
               "{\n \"format\": \"plumb-dump\",\n \"version\": 1,\n \"tool\": \"plumb_dump.h 1\",\n \"created\": %n,\n"
               " \"model\": {\"source\":%n},\n \"device\": {\"name\":%w},\n \"network\": %d,\n \"forward\": %d,\n",
               created, d->model, d->runtime, (int64_t)d->network, (int64_t)d->forward);
  plumb__print(
      d->manifest,
      " \"options\": {\"inputs\":%b,\"outputs\":%b,\"format\":\"%s\",\"statistics_only\":%b,\"unfuse\":false},\n"
      " \"files\": [",
      d->inputs, d->outputs, d->raw ? "raw" : "npy", d->statistics_only);
  return 0;
}

/* complete and errors are known now; then the manifest gets its name. */
static void plumb__end_manifest(plumb_dumper* d) {
  char part[PLUMB__PATH], path[PLUMB__PATH];
  const char* const errors[] = {d->error[0] != 0 ? d->error : NULL, NULL};
  int bad;
  if (d->manifest == NULL) return;
  plumb__print(d->manifest, "%s],\n \"absent\": [],\n \"complete\": %b,\n \"errors\": [%a]\n}\n",
               d->files > 0 ? "\n " : "", d->error[0] == 0, errors);
  bad = ferror(d->manifest);
  bad = fclose(d->manifest) != 0 || bad;
  d->manifest = NULL;
  if (plumb__path(path, "%s/manifest.json", d->folder) != 0 ||
      plumb__path(part, "%s/manifest.json.part", d->folder) != 0 || bad || rename(part, path) != 0) {
    (void)plumb__fail(d, "cannot write the manifest in '%s': %s", d->folder, strerror(errno));
  }
}

static void plumb__entry(plumb_dumper* d, const plumb_dump_place* place, int index, const char* name,
                         const char* file_name, int rank, const int64_t* dims, const plumb__output* out) {
  char shape[PLUMB_DUMP_MAX_RANK * 22 + 1];
  FILE* file = d->manifest;
  plumb__dims(shape, ",", rank, dims);
  plumb__print(file, d->files++ > 0 ? ",\n  {\"file\":" : "\n  {\"file\":");
  plumb__print(file, d->statistics_only ? "null" : "%n", file_name);
  plumb__print(file, ",\"layer_index\":%d,\"layer\":%n,\"type\":%w,\"direction\":\"%s\",\"slot\":%d,\"blob\":%n",
               (int64_t)index, place->layer != NULL ? place->layer : name, place->type, place->is_input ? "in" : "out",
               (int64_t)place->slot, name);
  plumb__print(file, ",\"shape\":[%s],\"dtype\":\"%s\",\"constant\":%b,\"layout\":%w,\"kernel\":%w", shape,
               plumb__dtypes[out->dtype].name, place->constant, place->layout, place->kernel);
  if (place->inputs != NULL) plumb__print(file, ",\"layer_inputs\":[%a]", place->inputs);
  if (place->attributes != NULL) plumb__print(file, ",\"attributes\":[%a]", place->attributes);
  if (!d->statistics_only) {
    plumb__print(file, ",\"bytes\":%d,\"xxh64\":\"%x\"", (int64_t)out->hash.total, plumb__xxh_end(&out->hash, 0));
  }
  plumb__print(file, ",\"values_xxh64\":\"%x\"", plumb__xxh_end(&out->hash, 1));
  if (d->statistics_only) plumb__write_statistics(file, &d->statistics, out->dtype <= PLUMB_F64);
  fputc('}', file);
}

/* --- the functions */

static char* plumb__copy(const char* text) { /* of NULL: "" */
  size_t size = strlen(text != NULL ? text : "") + 1;
  char* copy = (char*)malloc(size);
  if (copy != NULL) memcpy(copy, text != NULL ? text : "", size);
  return copy;
}

static int plumb__read_environment(plumb_dumper* d) {
  char item[64];
  const char *list, *format = plumb__variable("DUMP_BLOB_FORMAT"), *compress = plumb__variable("DUMP_BLOB_COMPRESS");
  d->inputs = plumb__flag("DUMP_INPUT_BLOB");
  d->outputs = plumb__flag("DUMP_OUTPUT_BLOB");
  d->statistics_only = plumb__flag("DUMP_BLOB_STATS");
  if (d->inputs < 0 || d->outputs < 0 || d->statistics_only < 0 || d->inputs + d->outputs == 0) return -1;
  d->raw = format != NULL && strcmp(format, "raw") == 0;
  if (format != NULL && !d->raw && strcmp(format, "npy") != 0) {
    return plumb__fail(d, "DUMP_BLOB_FORMAT: this program writes npy or raw, found '%.64s'", format);
  }
  for (list = d->forwards; (list = plumb__item(list, item, sizeof(item))) != NULL;) {
    if (strcasecmp(item, "all") != 0 && plumb__in_range(item, 0) < 0) {
      return plumb__fail(d, "DUMP_BLOB_FORWARDS: expected numbers and ranges such as 0,5-9,20- or all, found '%s'",
                         item);
    }
  }
  if (d->layers[0] == '/' || strstr(d->layers, ",/") != NULL) {
    return plumb__fail(d, "DUMP_BLOB_LAYERS: this program knows globs and index ranges, no /regular expressions/");
  }
  if (plumb__flag("DUMP_BLOB_UNFUSE") != 0 || plumb__flag("SAVE_IO_TENSORS") != 0) {
    return plumb__fail(d, "DUMP_BLOB_UNFUSE, SAVE_IO_TENSORS: this program does neither; unset them");
  }
  if (compress != NULL && strcmp(compress, "none") != 0) {
    return plumb__fail(d, "DUMP_BLOB_COMPRESS: this program cannot compress");
  }
  return 0;
}

static int plumb__take_folder(plumb_dumper* d) {
  const char* wanted = plumb__variable("DUMP_BLOB_DIR");
  int result = 0;
  (void)pthread_mutex_lock(&plumb__open_mutex);
  d->network = ++plumb__networks;
  if (d->network == 1) {
    result = plumb__claim_root(d, wanted != NULL ? wanted : "plumb_dump");
    memcpy(plumb__run_root, d->root, sizeof(d->root));
  } else if (plumb__path(d->root, "%s/network-%d", plumb__run_root, d->network) != 0 ||
             plumb__make_path(d->root) != 0) {
    result = plumb__fail(d, "cannot create '%s': %s", d->root, strerror(errno));
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
  d->layers = plumb__copy(plumb__variable("DUMP_BLOB_LAYERS"));
  d->types = plumb__copy(plumb__variable("DUMP_BLOB_TYPES"));
  d->forwards = plumb__copy(plumb__variable("DUMP_BLOB_FORWARDS"));
  d->forward = -1;
  if (d->runtime == NULL || d->model == NULL || d->layers == NULL || d->types == NULL || d->forwards == NULL) {
    (void)plumb__fail(d, "no memory");
  } else if (plumb__read_environment(d) == 0 && plumb__take_folder(d) == 0) {
    return d;
  }
  plumb__free(d);
  return NULL;
}

/* Under the lock. A Forward that is not written opens nothing. */
static void plumb__next_forward(plumb_dumper* d) {
  if (d->forward >= 0 && d->writes_forward) plumb__end_manifest(d);
  ++d->forward;
  d->next_index = 0;
  d->writes_forward = d->forwards[0] == 0 ? d->forward == 0 : plumb__listed(d->forwards, d->forward, "all", 0);
  if (d->writes_forward) d->writes_forward = plumb__begin_manifest(d) == 0;
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
  out.dtype = dtype;
  plumb__xxh_begin(&out.hash);
  plumb__file_name(file_name, place, index, name, rank, dims, d->raw ? ".raw" : ".npy");
  if (!d->statistics_only) {
    if (plumb__path(path, "%s/%s", d->folder, file_name) != 0 || plumb__path(part, "%s.part", path) != 0) {
      return plumb__fail(d, "the path of '%s' is too long", file_name);
    }
    out.file = fopen(part, "wb");
    if (out.file == NULL) return plumb__fail(d, "cannot write '%s': %s", part, strerror(errno));
    if (!d->raw) plumb__npy_header(&out, rank, dims);
  }
  if (strides == NULL) plumb__dense(dense, rank, dims, plumb__dtypes[dtype].size, place->pack);
  if (count > 0) plumb__write_values(d, &out, data, rank, dims, strides != NULL ? strides : dense, place->pack);
  if (out.file != NULL) {
    out.failed = fclose(out.file) != 0 || out.failed;
    if (out.failed || rename(part, path) != 0) {
      int why = errno;
      (void)remove(part);
      d->failed = 1; /* the disk is full or gone: no further try */
      return plumb__fail(d, "cannot write '%s': %s", path, strerror(why));
    }
  }
  plumb__entry(d, place, index, name, file_name, rank, dims, &out);
  return 0;
}

static const plumb_dump_place plumb__unknown = PLUMB_DUMP_PLACE_INIT;

int plumb_dump_wants(plumb_dumper* d, const plumb_dump_place* place, const char* name) {
  int wants;
  if (d == NULL || name == NULL) return 0;
  if (place == NULL) place = &plumb__unknown;
  (void)pthread_mutex_lock(&d->mutex);
  if (d->forward < 0) plumb__next_forward(d);
  wants = plumb__wants(d, place, place->index >= 0 ? place->index : d->next_index, name);
  (void)pthread_mutex_unlock(&d->mutex);
  return wants;
}

int plumb_dump_write(plumb_dumper* d, const plumb_dump_place* place, const char* name, const void* data,
                     plumb_dtype dtype, int rank, const int64_t* dims, const int64_t* strides) {
  int result, index;
  int64_t count;
  if (d == NULL) return 0;
  if (place == NULL) place = &plumb__unknown;
  (void)pthread_mutex_lock(&d->mutex);
  if (d->forward < 0) plumb__next_forward(d);
  index = place->index >= 0 ? place->index : d->next_index;
  if (place->index >= 0 || !place->is_input) d->next_index = index + 1;
  count = plumb__check(d, place, name, data, dtype, rank, dims);
  result = count < 0 ? -1 : 0;
  if (count >= 0 && plumb__wants(d, place, index, name)) {
    result = plumb__write_tensor(d, place, index, name, data, dtype, rank, dims, strides, count);
  }
  (void)pthread_mutex_unlock(&d->mutex);
  return result;
}

int plumb_dump_close(plumb_dumper* d) {
  char part[PLUMB__PATH];
  int result;
  if (d == NULL) return 0;
  if (d->forward < 0) plumb__next_forward(d);
  result = d->error[0] == 0 ? 0 : -1;
  if (d->written_forwards == 0 && result == 0) { /* the mark of the folder goes, so that the next run may have it */
    if (d->manifest != NULL) (void)fclose(d->manifest);
    if (d->manifest != NULL && plumb__path(part, "%s/manifest.json.part", d->root) == 0) (void)remove(part);
    fprintf(stderr, "plumb_dump: nothing is dumped: of %d Forwards none is in DUMP_BLOB_FORWARDS=%s\n", d->forward + 1,
            d->forwards[0] != 0 ? d->forwards : "0");
  } else {
    plumb__end_manifest(d);
    result = d->error[0] == 0 ? 0 : -1;
    fprintf(stderr, "plumb_dump: %s in '%s'\n", result == 0 ? "the dump is complete" : "a dump that is not complete",
            d->root);
  }
  plumb__free(d);
  return result;
}

#endif /* PLUMB_DUMP_IMPLEMENTATION */
