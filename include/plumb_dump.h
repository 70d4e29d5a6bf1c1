/* plumb_dump.h: any runtime dumps what its layers computed, for model_check --subject (Plumb).
 * SPDX-License-Identifier: MIT-0. This one file may be copied into any project, which is why it is long. C99 and later,
 * C++11 and later; no dependencies but the C library and POSIX (mkdir, mutexes): nothing to link, no -lm.
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
 * Names are those of the model's tensors; the network's inputs are dumped, too: the check runs on the same ones.
 *
 * Off (dumper NULL) every call is one load and one branch. On, a tensor is written in its logical order in pieces of
 * 256 KiB, whatever its strides; files are complete or not there; the manifest comes last, so a run that was killed
 * leaves no dump. All functions may be called from several threads; a forked child writes nothing into its parent's
 * dump (plumb_dump_open in the child: one of its own). The first error is said once on standard error and in the
 * manifest ("complete": false); the program goes on.
 *
 * The environment (as of Plumb's own dumps, doc/dump.md): DUMP_OUTPUT_BLOB, DUMP_INPUT_BLOB (1 or 0), DUMP_BLOB_DIR
 * (plumb_dump), DUMP_BLOB_FORMAT (npy or raw), DUMP_BLOB_LAYERS (globs and index ranges, by commas), DUMP_BLOB_TYPES,
 * DUMP_BLOB_FORWARDS (0; "0,5-9,20-" or "all"); what it cannot follow is said, and nothing is dumped. What the folder
 * holds: doc/dump_format.md. */
#ifndef PLUMB_DUMP_C_H_
#define PLUMB_DUMP_C_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PLUMB_DUMP_MAX_RANK 16
/* clang-format off */
typedef enum plumb_dtype {
  PLUMB_F32, PLUMB_F16, PLUMB_BF16, PLUMB_F64, PLUMB_I8, PLUMB_U8, PLUMB_I16, PLUMB_U16, PLUMB_I32, PLUMB_U32,
  PLUMB_I64, PLUMB_BOOL
} plumb_dtype;
/* clang-format on */

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
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define PLUMB__TEXT 4096     /* bytes of a path or of a variable */
#define PLUMB__PIECE 262144  /* bytes; a multiple of every element's size */
#define PLUMB__MOST 16777216 /* bytes; the largest block of a tensor by strides */
#define PLUMB__LINE 128      /* bytes that a cache fetches at once: a line and its neighbour */
#define PLUMB__RUN 256       /* bytes that are stored one after the other */

static const struct {
  const char* name;
  const char* descr; /* of .npy; bf16 has none, so its bits */
  int size;
} plumb__dtypes[] = {{"f32", "<f4", 4}, {"f16", "<f2", 2}, {"bf16", "<u2", 2}, {"f64", "<f8", 8},
                     {"i8", "|i1", 1},  {"u8", "|u1", 1},  {"i16", "<i2", 2},  {"u16", "<u2", 2},
                     {"i32", "<i4", 4}, {"u32", "<u4", 4}, {"i64", "<i8", 8},  {"bool", "|b1", 1}};
static const uint16_t plumb__one = 1;
#define PLUMB__LITTLE (*(const unsigned char*)&plumb__one) /* 1 on a little-endian CPU */
/* XXH64 with seed 0 (github.com/Cyan4973/xxHash, doc/xxhash_spec.md). */
#define PLUMB__P1 0x9E3779B185EBCA87ull
#define PLUMB__P2 0xC2B2AE3D27D4EB4Full
#define PLUMB__P3 0x165667B19E3779F9ull
#define PLUMB__P4 0x85EBCA77C2B2AE63ull
#define PLUMB__P5 0x27D4EB2F165667C5ull
typedef struct plumb__xxh {
  uint64_t lanes[4], total;
  unsigned char rest[32]; /* behind the last whole stripe of 32 bytes */
} plumb__xxh;
static const plumb__xxh plumb__xxh_begin = {{PLUMB__P1 + PLUMB__P2, PLUMB__P2, 0, 0u - PLUMB__P1}, 0, {0}};
static inline uint64_t plumb__rotate(uint64_t x, int bits) { return (x << bits) | (x >> (64 - bits)); }
static inline uint64_t plumb__u32(const unsigned char* b) {
  return b[0] | (uint64_t)b[1] << 8 | (uint64_t)b[2] << 16 | (uint64_t)b[3] << 24;
}
static inline uint64_t plumb__u64(const unsigned char* b) { return plumb__u32(b) | plumb__u32(b + 4) << 32; }
static inline uint64_t plumb__round(uint64_t lane, uint64_t word) {
  return plumb__rotate(lane + word * PLUMB__P2, 31) * PLUMB__P1;
}
static void plumb__xxh_add(plumb__xxh* x, const void* data, size_t size) {
  const unsigned char *bytes = (const unsigned char*)data, *stripe;
  size_t filled = x->total % 32, some;
  uint64_t lanes[4]; /* in registers */
  memcpy(lanes, x->lanes, sizeof(lanes));
  x->total += size;
  for (; size > 0; bytes += some, size -= some, filled = (filled + some) % 32) {
    some = filled == 0 && size >= 32 ? size / 32 * 32 : size < 32 - filled ? size : 32 - filled;
    stripe = some < 32 ? x->rest : bytes;
    if (some < 32) memcpy(x->rest + filled, bytes, some);
    for (size_t left = (filled + some) / 32; left > 0; --left, stripe += 32) {
      for (int i = 0; i < 4; ++i) lanes[i] = plumb__round(lanes[i], plumb__u64(stripe + 8 * i));
    }
  }
  memcpy(x->lanes, lanes, sizeof(lanes));
}
static uint64_t plumb__xxh_end(const plumb__xxh* x) {
  static const int turns[] = {1, 7, 12, 18};
  const unsigned char *rest = x->rest, *end = rest + x->total % 32;
  uint64_t hash = x->total < 32 ? PLUMB__P5 : 0;
  for (int i = 0; i < 4 && x->total >= 32; ++i) hash += plumb__rotate(x->lanes[i], turns[i]);
  for (int i = 0; i < 4 && x->total >= 32; ++i) hash = (hash ^ plumb__round(0, x->lanes[i])) * PLUMB__P1 + PLUMB__P4;
  hash += x->total;
  for (; end - rest >= 8; rest += 8) {
    hash = plumb__rotate(hash ^ plumb__round(0, plumb__u64(rest)), 27) * PLUMB__P1 + PLUMB__P4;
  }
  for (; end - rest >= 4; rest += 4) {
    hash = plumb__rotate(hash ^ (plumb__u32(rest) * PLUMB__P1), 23) * PLUMB__P2 + PLUMB__P3;
  }
  for (; rest < end; ++rest) hash = plumb__rotate(hash ^ (*rest * PLUMB__P5), 11) * PLUMB__P1;
  hash = (hash ^ (hash >> 33)) * PLUMB__P2;
  hash = (hash ^ (hash >> 29)) * PLUMB__P3;
  return hash ^ (hash >> 32);
}
struct plumb_dumper {
  pthread_mutex_t mutex;
  long process;                                /* that opened it */
  char root[PLUMB__TEXT], folder[PLUMB__TEXT]; /* of this network, of this Forward */
  char runtime[PLUMB__TEXT], model[PLUMB__TEXT];
  char layers[PLUMB__TEXT], types[PLUMB__TEXT], forwards[PLUMB__TEXT]; /* the environment may change under us */
  int network, forward, written_forwards, next_index;
  int writes_forward, raw, inputs, outputs, failed;
  FILE* manifest;  /* under construction, while a Forward is written */
  int64_t entries; /* in it */
  char error[4096];
  /* The tensor that is being written. */
  FILE* file;
  plumb_dtype dtype;
  plumb__xxh hash;
  unsigned char piece[PLUMB__PIECE];
};
static pthread_mutex_t plumb__open_mutex = PTHREAD_MUTEX_INITIALIZER;
static char plumb__run_root[PLUMB__TEXT]; /* that this process claimed */
static int plumb__networks;
static long plumb__process; /* whose they are */
#if defined(__GNUC__)
#define PLUMB__PRINTF __attribute__((format(printf, 2, 3))) /* the second argument, of what follows it */
#else
#define PLUMB__PRINTF
#endif
/* `shown`: on a terminal, which obeys C1 controls and marks of direction. */
static int plumb__is_utf8(const char* text, int shown) {
  static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
  const unsigned char* p = (const unsigned char*)text;
  while (*p != 0) {
    int more = *p < 0x80 ? 0 : *p < 0xE0 ? 1 : *p < 0xF0 ? 2 : 3, i;
    uint32_t code = more == 0 ? *p : *p & (0x3Fu >> more);
    if (*p >= 0xF8 || (*p >= 0x80 && *p < 0xC0)) return 0;
    for (i = 0, ++p; i < more && (*p & 0xC0) == 0x80; ++i, ++p) code = code << 6 | (*p & 0x3Fu);
    if (i < more || code < least[more] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return 0;
    if (shown && more > 0 && (code < 0xA0 || code == 0x61C || (code >= 0x200B && code < 0x2070))) return 0;
  }
  return 1;
}
/* Whether a file may have so many bytes: beyond `ulimit -f` SIGXFSZ would end the program. */
static int plumb__may_grow(uint64_t size) {
  struct rlimit most;
  errno = EFBIG;
  return getrlimit(RLIMIT_FSIZE, &most) != 0 || most.rlim_cur == RLIM_INFINITY || size <= (uint64_t)most.rlim_cur;
}
/* The one way to the terminal: bytes that it would obey are \xNN. With a dumper it is an error; the first is said. */
PLUMB__PRINTF static int plumb__say(plumb_dumper* d, const char* format, ...) {
  char text[1024], shown[4 * sizeof(text)] = "", *to = shown;
  struct stat about;
  va_list list;
  if (d != NULL && d->error[0] != 0) return -1;
  va_start(list, format);
  (void)vsnprintf(text, sizeof(text), format, list);
  va_end(list);
  int utf8 = plumb__is_utf8(text, 1);
  for (const unsigned char* p = (const unsigned char*)text; *p != 0; ++p) {
    to += sprintf(to, *p >= 0x20 && *p != 0x7F && (*p < 0x80 || utf8) ? "%c" : "\\x%02x", *p);
  }
  if (d != NULL) memcpy(d->error, shown, sizeof(shown));
  if (fstat(2, &about) == 0 && S_ISREG(about.st_mode) && !plumb__may_grow((uint64_t)about.st_size + 8192)) return -1;
  fprintf(stderr, "plumb_dump: %s%s\n", shown, d != NULL ? "; the dump is not complete, the program goes on" : "");
  return -1;
}
/* A text of PLUMB__TEXT bytes. -1 and ENAMETOOLONG when it is longer. */
PLUMB__PRINTF static int plumb__text(char* to, const char* format, ...) {
  va_list list;
  va_start(list, format);
  int length = vsnprintf(to, PLUMB__TEXT, format, list);
  va_end(list);
  errno = ENAMETOOLONG;
  return length >= 0 && length < PLUMB__TEXT ? 0 : -1;
}

/* --- words of the environment */

static const char* plumb__variable(const char* name, const char* otherwise) {
  const char* value = getenv(name);
  return value != NULL && value[0] != 0 ? value : otherwise;
}
/* "7", "5-9", "20-": 1 when the number is in it, 0 when not, -1 when the item is no range. */
static int plumb__in_range(const char* item, int64_t number) {
  if (!isdigit((unsigned char)item[0])) return -1;
  char* end;
  long long first = strtoll(item, &end, 10), last = first;
  if (*end == '-') last = *++end == 0 ? INT64_MAX : strtoll(end, &end, 10);
  return *end != 0 || last < first ? -1 : number >= first && number <= last;
}
/* Whether an item of the list by commas is the text (a glob of it, or whatever its case) or a range with the number. */
static int plumb__listed(const char* list, int64_t number, const char* text, int is_glob) {
  char item[1024];
  while (*list != 0) {
    list += strspn(list, ", \t");
    size_t length = strcspn(list, ",");
    (void)snprintf(item, sizeof(item), "%.*s", (int)length, list);
    list += length;
    for (length = strlen(item); length > 0 && strchr(" \t", item[length - 1]) != NULL;) item[--length] = 0;
    int range = plumb__in_range(item, number);
    if (range < 0) range = (is_glob ? fnmatch(item, text, 0) : strcasecmp(item, text)) == 0;
    if (range == 1) return 1;
  }
  return 0;
}
/* 1 or 0; -1 when the value is neither. */
static int plumb__flag(const char* name) {
  const char* value = plumb__variable(name, "0");
  if (strcmp(value, "1") == 0 || plumb__listed("on,true,yes", -1, value, 0)) return 1;
  if (strcmp(value, "0") == 0 || plumb__listed("off,false,no", -1, value, 0)) return 0;
  return plumb__say(NULL, "%s: expected 1 or 0, found '%.64s'; nothing is dumped", name, value);
}
static int plumb__wants(const plumb_dumper* d, const plumb_dump_place* place, int index, const char* name) {
  const char* layer = place->layer != NULL ? place->layer : name;
  return d->writes_forward && !d->failed && (place->is_input ? d->inputs : d->outputs) &&
         (d->layers[0] == 0 || plumb__listed(d->layers, index, layer, 1)) &&
         (d->types[0] == 0 || (place->type != NULL && plumb__listed(d->types, -1, place->type, 0)));
}

/* --- text of the manifest */

/* A JSON string; {"hex": "..."} for bytes that are no UTF-8; null for NULL. */
static void plumb__name(FILE* file, const char* text) {
  int plain = text == NULL || plumb__is_utf8(text, 0);
  const unsigned char* p = (const unsigned char*)text;
  fputs(text == NULL ? "null" : plain ? "\"" : "{\"hex\":\"", file);
  for (; p != NULL && *p != 0; ++p) {
    int coded = !plain || *p < 0x20 || *p == '"' || *p == '\\';
    fprintf(file, !coded ? "%c" : plain ? "\\u%04x" : "%02x", *p);
  }
  fputs(text == NULL ? "" : plain ? "\"" : "\"}", file);
}
/* What printf lacks: %s text as it is, %n a name, %w words (none where they are no UTF-8), %a a list of names, %b true
 * or false, %d an int64_t, %x a checksum. */
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
      case 'n':
      case 'w':
        text = va_arg(list, const char*);
        plumb__name(file, *format == 'w' && (text == NULL || !plumb__is_utf8(text, 0)) ? "" : text);
        break;
      case 'a':
        for (names = va_arg(list, const char* const*); *names != NULL; ++names, separator = ",") {
          fputs(separator, file);
          plumb__name(file, *names);
        }
        break;
      case 'b': fputs(va_arg(list, int) ? "true" : "false", file); break;
      case 'd': fprintf(file, "%lld", (long long)va_arg(list, int64_t)); break;
      default: fprintf(file, "%016llx", (unsigned long long)va_arg(list, uint64_t)); break;
    }
  }
  va_end(list);
}
/* The dims with a separator between them; 22 bytes per dim are enough. */
static char* plumb__dims(char* to, const char* separator, int rank, const int64_t* dims) {
  *to = 0;
  for (int i = 0; i < rank; ++i) to += sprintf(to, "%s%lld", i == 0 ? "" : separator, (long long)dims[i]);
  return to;
}

/* --- folders and file names */

/* Makes the folder and takes it: its manifest under construction. NULL and EEXIST where there is one already. */
static FILE* plumb__claim(const char* folder) {
  char path[PLUMB__TEXT], part[PLUMB__TEXT];
  if (plumb__text(path, "%s/manifest.json", folder) != 0 || plumb__text(part, "%s.part", path) != 0) return NULL;
  for (size_t i = 1; path[i] != 0; ++i) {
    if (path[i] != '/') continue;
    path[i] = 0;
    if (mkdir(path, 0777) != 0 && errno != EEXIST) return NULL;
    path[i] = '/';
  }
  if (access(path, F_OK) != 0) {
    FILE* manifest = fopen(part, "wbxe");
    if (manifest == NULL || access(path, F_OK) != 0) return manifest;
    if (fclose(manifest) == 0) (void)unlink(part); /* another run has finished in between */
  }
  errno = EEXIST;
  return NULL;
}
/* The first of <folder>, <folder>-2 ... that holds no dump; <folder>/network-2 ... for the process's other networks. */
static int plumb__claim_root(plumb_dumper* d) {
  if (plumb__process != d->process) plumb__networks = 0; /* of the parent */
  plumb__process = d->process;
  const char* wanted = plumb__networks > 0 ? plumb__run_root : plumb__variable("DUMP_BLOB_DIR", "plumb_dump");
  char ending[24] = "";
  int length, i;
  for (length = (int)strlen(wanted); length > 1 && wanted[length - 1] == '/';) --length;
  if (plumb__networks > 0) (void)sprintf(ending, "/network-%d", plumb__networks + 1);
  for (i = 2; i <= 100000; ++i) {
    if (plumb__text(d->root, "%.*s%s", length, wanted, ending) == 0) d->manifest = plumb__claim(d->root);
    if (d->manifest != NULL || errno != EEXIST || plumb__networks > 0) break;
    (void)sprintf(ending, "-%d", i);
  }
  if (d->manifest == NULL) return plumb__say(d, "cannot write into '%.400s': %s", d->root, strerror(errno));
  if (length > 400) length = 400;
  if (i > 2) plumb__say(NULL, "'%.*s' holds a dump already, so this one goes to '%.400s'", length, wanted, d->root);
  d->network = ++plumb__networks;
  if (d->network == 1) memcpy(plumb__run_root, d->root, sizeof(d->root));
  return 0;
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
    plumb__xxh hash = plumb__xxh_begin;
    plumb__xxh_add(&hash, name, length);
    if (length > max_size - 9) length = max_size - 9;
    length += (size_t)sprintf(to + length, "~%08x", (unsigned)(plumb__xxh_end(&hash) >> 32));
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

/* --- values */

/* The header, or dense little-endian values, by pieces that stay in the cache. */
static void plumb__write_bytes(plumb_dumper* d, const void* data, size_t size) {
  const unsigned char* bytes = (const unsigned char*)data;
  for (size_t some; size > 0 && !d->failed; bytes += some, size -= some) {
    some = size < PLUMB__PIECE ? size : PLUMB__PIECE;
    plumb__xxh_add(&d->hash, bytes, some);
    d->failed = !plumb__may_grow(d->hash.total) || fwrite(bytes, 1, some, d->file) != some;
  }
}
/* A tensor as it lies, the innermost dim first: none of one value, and those that lie one behind the other are one. It
 * is gathered by blocks of logical order; `near` is the dim whose values share lines of the cache, 0 where none do. */
typedef struct plumb__view {
  int near;
  int64_t size, capacity; /* bytes of a value, of a block */
  int64_t dims[PLUMB_DUMP_MAX_RANK], strides[PLUMB_DUMP_MAX_RANK];
  int64_t inner[PLUMB_DUMP_MAX_RANK]; /* the strides in a block */
  unsigned char* block;
} plumb__view;
/* `count` values of so many bytes, a constant: each memcpy is one instruction. */
#define PLUMB__COPY(bytes)                                              \
  for (; count >= 4; count -= 4, to += 4 * bytes, from += 4 * stride) { \
    memcpy(to, from, bytes);                                            \
    memcpy(to + bytes, from + stride, bytes);                           \
    memcpy(to + 2 * bytes, from + 2 * stride, bytes);                   \
    memcpy(to + 3 * bytes, from + 3 * stride, bytes);                   \
  }                                                                     \
  for (; count > 0; --count, to += bytes, from += stride) memcpy(to, from, bytes)
/* Single bytes are gathered in a register: a CPU stores no more than a word or two at a time, whatever their size. */
#define PLUMB__AT(i) ((uint64_t)from[(i)*stride] << (PLUMB__LITTLE ? 8 * (i) : 56 - 8 * (i)))
static void plumb__copy(unsigned char* to, const unsigned char* from, int64_t stride, int64_t size, int64_t count) {
  for (; size == 1 && stride != 1 && count >= 8; count -= 8, to += 8, from += 8 * stride) {
    uint64_t word = PLUMB__AT(0) | PLUMB__AT(1) | PLUMB__AT(2) | PLUMB__AT(3) |  //
                    PLUMB__AT(4) | PLUMB__AT(5) | PLUMB__AT(6) | PLUMB__AT(7);
    memcpy(to, &word, 8);
  }
  switch (stride == size ? 0 : size) {
    case 0: memcpy(to, from, (size_t)(count * size)); break;
    case 1: PLUMB__COPY(1); break;
    case 2: PLUMB__COPY(2); break;
    case 4: PLUMB__COPY(4); break;
    default: PLUMB__COPY(8); break;
  }
}
/* `rows` of `near` by `count` of the last dim. Whole lines go into a small square first: in the tensor those that lie a
 * power of two apart drive each other out of the cache. */
static void plumb__turn(const plumb__view* v, unsigned char* to, const unsigned char* from, int64_t rows,
                        int64_t count) {
  unsigned char square[PLUMB__RUN * PLUMB__LINE];
  int64_t side = PLUMB__LINE / v->size, run = PLUMB__RUN / v->size, shift = v->strides[v->near], wide, i, k;
  for (i = 0; i < count; i += wide) {
    int64_t stride = v->strides[0];
    const unsigned char* at = from + i * stride;
    wide = rows == 1 || count - i < run ? count - i : run;
    if (rows == side && shift == v->size) {
      for (k = 0; k < wide; ++k) memcpy(square + k * PLUMB__LINE, at + k * stride, PLUMB__LINE);
      at = square;
      stride = PLUMB__LINE;
    }
    for (k = 0; k < rows; ++k) {
      plumb__copy(to + k * v->inner[v->near] + i * v->size, at + k * shift, stride, v->size, wide);
    }
  }
}
/* `count` indices of dim k, everything of the dims inside; of `near` the values of a line at once, which are `rows` for
 * the dims inside it. */
static void plumb__gather(const plumb__view* v, unsigned char* to, const unsigned char* from, int k, int64_t count,
                          int64_t rows) {
  int64_t line = k > 0 && k == v->near ? PLUMB__LINE / v->size : 1;
  for (int64_t i = 0; i < count && k > 0; i += line) {
    int64_t some = line == 1 ? rows : count - i < line ? count - i : line;
    plumb__gather(v, to + i * v->inner[k], from + i * v->strides[k], k - 1, v->dims[k - 1], some);
  }
  if (k == 0) plumb__turn(v, to, from, rows, count);
}
/* Dim k and those inside, block by block; dense values need none. */
static void plumb__write_blocks(plumb_dumper* d, const plumb__view* v, const unsigned char* from, int k) {
  int dense = PLUMB__LITTLE && k == 0 && v->strides[0] == v->size;
  int64_t step = v->capacity / v->inner[k], i, b;
  for (i = 0; i < v->dims[k] && !d->failed; i += step > 0 ? step : 1) {
    const unsigned char* at = from + i * v->strides[k];
    int64_t count = v->dims[k] - i < step ? v->dims[k] - i : step, bytes = count * v->inner[k];
    if (step == 0) plumb__write_blocks(d, v, at, k - 1);
    if (step > 0 && !dense) plumb__gather(v, v->block, at, k, count, 1);
    for (b = 0; b < bytes && !PLUMB__LITTLE; ++b) { /* each byte of a value's first half changes places */
      unsigned char *low = v->block + b, *high = low + v->size - 1 - 2 * (b % v->size), byte = *low;
      if (high > low) *low = *high;
      if (high > low) *high = byte;
    }
    if (step > 0) plumb__write_bytes(d, dense ? at : v->block, (size_t)bytes);
  }
}
static void plumb__write_view(plumb_dumper* d, const unsigned char* from, int rank, const int64_t* dims,
                              const int64_t* strides) {
  plumb__view v;
  int64_t least = PLUMB__LINE, wanted; /* values that are farther apart share no line */
  int top = 0;
  v.near = 0;
  v.dims[0] = 1;
  v.size = v.inner[0] = v.strides[0] = plumb__dtypes[d->dtype].size;
  for (int i = rank - 1; i >= 0; --i) {
    int64_t behind = v.dims[top] * v.strides[top], apart = strides[i] < 0 ? -strides[i] : strides[i];
    if (dims[i] == 0) return;
    if (dims[i] == 1) continue;
    if (strides[i] == behind) {
      v.dims[top] *= dims[i];
      continue;
    }
    if (v.dims[top] > 1) ++top;
    if (top > 0) v.inner[top] = v.inner[top - 1] * v.dims[top - 1];
    v.dims[top] = dims[i];
    v.strides[top] = strides[i];
    if (apart > 0 && apart < least) v.near = top;
    if (apart > 0 && apart < least) least = apart;
  }
  if (v.strides[0] == v.size) v.near = 0;
  wanted = v.near > 0 ? PLUMB__LINE / v.size * v.inner[v.near] : 0;
  if (wanted > PLUMB__MOST) wanted = PLUMB__MOST;
  unsigned char* more = wanted > PLUMB__PIECE ? (unsigned char*)malloc((size_t)wanted) : NULL;
  v.block = more != NULL ? more : d->piece;
  v.capacity = more != NULL ? wanted : PLUMB__PIECE;
  plumb__write_blocks(d, &v, from, top);
  free(more);
}
/* All values in logical order. Blocks of channels: image by image, the last block (with fewer of them) by itself. */
static void plumb__write_values(plumb_dumper* d, const void* data, int rank, const int64_t* dims,
                                const int64_t* strides, int pack) {
  const unsigned char* from = (const unsigned char*)data;
  int64_t part[PLUMB_DUMP_MAX_RANK], lie[PLUMB_DUMP_MAX_RANK];
  int64_t size = plumb__dtypes[d->dtype].size, step = pack > 1 ? size * pack : size, i;
  for (i = rank - 1; i >= 0; --i) {
    part[i] = dims[i];
    lie[i] = strides != NULL ? strides[i] : step;
    step *= pack > 1 && i == 1 ? (dims[i] + pack - 1) / pack : dims[i];
  }
  if (pack <= 1) {
    plumb__write_view(d, from, rank, part, lie);
    return;
  }
  step = lie[0]; /* of an image */
  lie[0] = lie[1];
  lie[1] = size;
  for (i = 0; i < dims[0]; ++i, from += step) {
    part[0] = dims[1] / pack;
    part[1] = pack;
    plumb__write_view(d, from, rank, part, lie);
    part[1] = dims[1] % pack;
    plumb__write_view(d, from + part[0] * lie[0], rank - 1, part + 1, lie + 1);
  }
}
static void plumb__npy_header(plumb_dumper* d, int rank, const int64_t* dims) {
  char header[128 + PLUMB_DUMP_MAX_RANK * 24] = "\x93NUMPY\1", shape[PLUMB_DUMP_MAX_RANK * 22 + 1];
  plumb__dims(shape, ", ", rank, dims);
  int length = 10 + sprintf(header + 10, "{'descr': '%s', 'fortran_order': False, 'shape': (%s%s), }",
                            plumb__dtypes[d->dtype].descr, shape, rank == 1 ? "," : "");
  int total = (length + 1 + 63) / 64 * 64; /* the values begin at a multiple of 64 */
  memset(header + length, ' ', (size_t)(total - length));
  header[total - 1] = '\n';
  header[8] = (char)((total - 10) & 255);
  header[9] = (char)((total - 10) >> 8);
  plumb__write_bytes(d, header, (size_t)total);
}
static int plumb__begin_manifest(plumb_dumper* d) {
  if (d->written_forwards++ == 0) { /* whose folder plumb_dump_open has claimed */
    memcpy(d->folder, d->root, sizeof(d->folder));
  } else if (plumb__text(d->folder, "%s/forward-%05d", d->root, d->forward) == 0) {
    d->manifest = plumb__claim(d->folder);
  }
  if (d->manifest == NULL) return plumb__say(d, "cannot write into '%.400s': %s", d->folder, strerror(errno));
  d->entries = 0;
  plumb__print(d->manifest,
               "{\n \"format\": \"plumb-dump\",\n \"version\": 1,\n \"tool\": \"plumb_dump.h 1\",\n"
               " \"model\": {\"source\":%n},\n \"device\": {\"name\":%w},\n \"network\": %d,\n \"forward\": %d,\n"
               " \"options\": {\"inputs\":%b,\"outputs\":%b,\"format\":\"%s\",\"statistics_only\":false,"
               "\"unfuse\":false},\n \"files\": [",
               d->model, d->runtime, (int64_t)d->network, (int64_t)d->forward, d->inputs, d->outputs,
               d->raw ? "raw" : "npy");
  return 0;
}
/* complete and errors are known now; then the manifest gets its name. */
static void plumb__end_manifest(plumb_dumper* d) {
  char part[PLUMB__TEXT], path[PLUMB__TEXT];
  if (d->manifest == NULL) return;
  plumb__print(d->manifest, "\n ],\n \"absent\": [],\n \"complete\": %b,\n \"errors\": [", d->error[0] == 0);
  plumb__print(d->manifest, d->error[0] == 0 ? "]\n}\n" : "%n]\n}\n", d->error);
  int bad = ferror(d->manifest), closed = fclose(d->manifest);
  d->manifest = NULL;
  if (plumb__text(path, "%s/manifest.json", d->folder) != 0 || plumb__text(part, "%s.part", path) != 0 || bad ||
      closed != 0 || rename(part, path) != 0) {
    (void)plumb__say(d, "cannot write the manifest in '%.400s': %s", d->folder, strerror(errno));
  }
}
static void plumb__entry(plumb_dumper* d, const plumb_dump_place* place, int index, const char* name,
                         const char* file_name, int rank, const int64_t* dims) {
  char shape[PLUMB_DUMP_MAX_RANK * 22 + 1];
  FILE* file = d->manifest;
  uint64_t sum = plumb__xxh_end(&d->hash);
  plumb__dims(shape, ",", rank, dims);
  plumb__print(file,
               "%s\n  {\"file\":%n,\"layer_index\":%d,\"layer\":%n,\"type\":%w,\"direction\":\"%s\",\"slot\":%d,"
               "\"blob\":%n,\"shape\":[%s],\"dtype\":\"%s\",\"constant\":%b,\"layout\":%w,\"kernel\":%w",
               d->entries++ > 0 ? "," : "", file_name, (int64_t)index, place->layer != NULL ? place->layer : name,
               place->type, place->is_input ? "in" : "out", (int64_t)place->slot, name, shape,
               plumb__dtypes[d->dtype].name, place->constant, place->layout, place->kernel);
  if (place->inputs != NULL) plumb__print(file, ",\"layer_inputs\":[%a]", place->inputs);
  if (place->attributes != NULL) plumb__print(file, ",\"attributes\":[%a]", place->attributes);
  plumb__print(file, ",\"bytes\":%d,\"xxh64\":\"%x\"", (int64_t)d->hash.total, sum);
  if (d->raw) plumb__print(file, ",\"values_xxh64\":\"%x\"", sum);
  fputc('}', file);
}
static int plumb__read_environment(plumb_dumper* d) {
  const char* format = plumb__variable("DUMP_BLOB_FORMAT", "npy");
  if (plumb__text(d->layers, "%s", plumb__variable("DUMP_BLOB_LAYERS", "")) != 0 ||
      plumb__text(d->types, "%s", plumb__variable("DUMP_BLOB_TYPES", "")) != 0 ||
      plumb__text(d->forwards, "%s", plumb__variable("DUMP_BLOB_FORWARDS", "0")) != 0) {
    return plumb__say(d, "DUMP_BLOB_LAYERS, _TYPES, _FORWARDS: this program takes %d bytes", PLUMB__TEXT - 1);
  }
  if (!plumb__may_grow(65536)) return plumb__say(d, "a manifest needs 64 KiB, `ulimit -f` allows less");
  d->inputs = plumb__flag("DUMP_INPUT_BLOB");
  d->outputs = plumb__flag("DUMP_OUTPUT_BLOB");
  if (d->inputs < 0 || d->outputs < 0 || d->inputs + d->outputs == 0) return -1;
  d->raw = strcmp(format, "raw") == 0;
  if (!d->raw && strcmp(format, "npy") != 0) {
    return plumb__say(d, "DUMP_BLOB_FORMAT: this program writes npy or raw, found '%.64s'", format);
  }
  if (strcasecmp(d->forwards, "all") != 0 && d->forwards[strspn(d->forwards, "0123456789-, \t")] != 0) {
    return plumb__say(d, "DUMP_BLOB_FORWARDS: expected numbers and ranges such as 0,5-9,20- or all, found '%.64s'",
                      d->forwards);
  }
  if (d->layers[0] == '/' || strstr(d->layers, ",/") != NULL) {
    return plumb__say(d, "DUMP_BLOB_LAYERS: this program knows globs and index ranges, no /regular expressions/");
  }
  if (plumb__flag("DUMP_BLOB_UNFUSE") != 0 || plumb__flag("DUMP_BLOB_STATS") != 0 ||
      plumb__flag("SAVE_IO_TENSORS") != 0 || strcmp(plumb__variable("DUMP_BLOB_COMPRESS", "none"), "none") != 0) {
    return plumb__say(d, "DUMP_BLOB_UNFUSE, DUMP_BLOB_STATS, DUMP_BLOB_COMPRESS, SAVE_IO_TENSORS: none is done here");
  }
  if (strcmp(plumb__variable("DUMP_BLOB_ORDER", "model"), "model")) return plumb__say(d, "no DUMP_BLOB_ORDER here");
  return 0;
}

plumb_dumper* plumb_dump_open(const char* runtime, const char* model) {
  if (plumb__variable("DUMP_OUTPUT_BLOB", plumb__variable("DUMP_INPUT_BLOB", NULL)) == NULL) return NULL;
  plumb_dumper* d = (plumb_dumper*)calloc(1, sizeof(*d));
  if (d == NULL) {
    plumb__say(NULL, "no memory for a dump (%d bytes); nothing is dumped", (int)sizeof(*d));
    return NULL;
  }
  d->forward = -1;
  d->process = (long)getpid();
  (void)plumb__text(d->runtime, "%s", runtime != NULL ? runtime : "");
  (void)plumb__text(d->model, "%s", model != NULL ? model : "");
  (void)pthread_mutex_lock(&plumb__open_mutex);
  int result = plumb__read_environment(d) == 0 ? plumb__claim_root(d) : -1;
  (void)pthread_mutex_unlock(&plumb__open_mutex);
  if (result == 0 && pthread_mutex_init(&d->mutex, NULL) == 0) return d;
  free(d);
  return NULL;
}
/* 0 with the lock; -1 in a process that was forked since. */
static int plumb__lock(plumb_dumper* d) {
  if (d->process == (long)getpid()) return pthread_mutex_lock(&d->mutex);
  if (!d->failed) plumb__say(NULL, "a forked process writes nothing into its parent's dump");
  d->failed = 1;
  return -1;
}
/* Nothing stays in a buffer that a forked child would write once more when it exits. */
static void plumb__unlock(plumb_dumper* d) {
  if (d->manifest != NULL) (void)fflush(d->manifest);
  (void)pthread_mutex_unlock(&d->mutex);
}
/* Under the lock. A Forward that is not written opens nothing. */
static void plumb__next_forward(plumb_dumper* d) {
  if (d->forward >= 0 && d->writes_forward) plumb__end_manifest(d);
  ++d->forward;
  d->next_index = 0;
  d->writes_forward = plumb__listed(d->forwards, d->forward, "all", 0) && plumb__begin_manifest(d) == 0;
}
void plumb_dump_forward(plumb_dumper* d) {
  if (d == NULL || plumb__lock(d) != 0) return;
  plumb__next_forward(d);
  plumb__unlock(d);
}
/* The checks of a call. Returns the number of elements, -1 after an error. */
static int64_t plumb__check(plumb_dumper* d, const plumb_dump_place* place, const char* name, const void* data,
                            plumb_dtype dtype, int rank, const int64_t* dims) {
  int64_t count = 1;
  if (name == NULL || name[0] == 0) return plumb__say(d, "a tensor has no name");
  if ((int)dtype < 0 || dtype > PLUMB_BOOL) return plumb__say(d, "tensor '%.200s': %d is no dtype", name, (int)dtype);
  if (rank < 0 || rank > PLUMB_DUMP_MAX_RANK || (rank > 0 && dims == NULL)) {
    return plumb__say(d, "tensor '%.200s': expected 0 to %d dims, found %d", name, PLUMB_DUMP_MAX_RANK, rank);
  }
  if (place->slot < 0 || place->pack < 0 || (place->pack > 1 && rank < 2)) {
    return plumb__say(d, "tensor '%.200s': slot %d, pack %d (needs two dims)", name, place->slot, place->pack);
  }
  for (int i = 0; i < rank; ++i) {
    if (dims[i] < 0 || (dims[i] > 0 && count > INT64_MAX / 64 / dims[i])) {
      return plumb__say(d, "tensor '%.200s': dim %d is %lld", name, i, (long long)dims[i]);
    }
    count *= dims[i];
  }
  if (count > 0 && data == NULL) return plumb__say(d, "tensor '%.200s' has no data", name);
  return count;
}
static int plumb__write_tensor(plumb_dumper* d, const plumb_dump_place* place, int index, const char* name,
                               const void* data, plumb_dtype dtype, int rank, const int64_t* dims,
                               const int64_t* strides, int64_t count) {
  char file_name[512], path[PLUMB__TEXT], part[PLUMB__TEXT];
  d->hash = plumb__xxh_begin;
  d->dtype = dtype;
  d->file = NULL;
  if (!plumb__may_grow((uint64_t)ftell(d->manifest) + 65536)) { /* room for an entry and the end */
    return plumb__say(d, "cannot write the manifest in '%.400s': %s", d->folder, strerror(errno));
  }
  plumb__file_name(file_name, place, index, name, rank, dims, d->raw ? ".raw" : ".npy");
  if (plumb__text(path, "%s/%s", d->folder, file_name) == 0 && plumb__text(part, "%s.part", path) == 0) {
    (void)unlink(part);
    d->file = fopen(part, "wbxe"); /* never what a link leads to */
  }
  if (d->file == NULL) return plumb__say(d, "cannot write '%.400s': %s", file_name, strerror(errno));
  if (!d->raw) plumb__npy_header(d, rank, dims);
  if (count > 0) plumb__write_values(d, data, rank, dims, strides, place->pack);
  if (fclose(d->file) != 0 || d->failed || rename(part, path) != 0) {
    d->failed = 1; /* the disk is full or gone: no further try */
    (void)plumb__say(d, "cannot write '%.400s': %s", path, strerror(errno));
    (void)remove(part);
    return -1;
  }
  plumb__entry(d, place, index, name, file_name, rank, dims);
  return 0;
}
static const plumb_dump_place plumb__unknown = PLUMB_DUMP_PLACE_INIT;

int plumb_dump_wants(plumb_dumper* d, const plumb_dump_place* place, const char* name) {
  if (d == NULL || name == NULL || plumb__lock(d) != 0) return 0;
  if (place == NULL) place = &plumb__unknown;
  if (d->forward < 0) plumb__next_forward(d);
  int wants = plumb__wants(d, place, place->index >= 0 ? place->index : d->next_index, name);
  plumb__unlock(d);
  return wants;
}

int plumb_dump_write(plumb_dumper* d, const plumb_dump_place* place, const char* name, const void* data,
                     plumb_dtype dtype, int rank, const int64_t* dims, const int64_t* strides) {
  if (d == NULL) return 0;
  if (plumb__lock(d) != 0) return -1;
  if (place == NULL) place = &plumb__unknown;
  if (d->forward < 0) plumb__next_forward(d);
  int index = place->index >= 0 ? place->index : d->next_index;
  if (place->index >= 0 || !place->is_input) d->next_index = index + 1;
  int64_t count = plumb__check(d, place, name, data, dtype, rank, dims);
  int writes = count >= 0 && plumb__wants(d, place, index, name), result = count < 0 ? -1 : 0;
  if (writes) result = plumb__write_tensor(d, place, index, name, data, dtype, rank, dims, strides, count);
  plumb__unlock(d);
  return result;
}

int plumb_dump_close(plumb_dumper* d) {
  char part[PLUMB__TEXT];
  if (d == NULL) return 0;
  if (d->process != (long)getpid()) {
    if (d->manifest != NULL) (void)fclose(d->manifest);
    free(d);
    return -1;
  }
  if (d->forward < 0) plumb__next_forward(d);
  if (d->written_forwards == 0 && d->error[0] == 0) { /* the folder's mark goes, so that the next run may have it */
    (void)fclose(d->manifest);
    if (plumb__text(part, "%s/manifest.json.part", d->root) == 0) (void)remove(part);
    plumb__say(NULL, "nothing is dumped: of %d Forwards none is in DUMP_BLOB_FORWARDS=%.400s", d->forward + 1,
               d->forwards);
  } else {
    plumb__end_manifest(d);
    plumb__say(NULL, "%s in '%.900s'", d->error[0] == 0 ? "the dump is complete" : "an incomplete dump", d->root);
  }
  int result = d->error[0] == 0 ? 0 : -1;
  (void)pthread_mutex_destroy(&d->mutex);
  free(d);
  return result;
}

#endif /* PLUMB_DUMP_IMPLEMENTATION */
