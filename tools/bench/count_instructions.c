/* SPDX-License-Identifier: Apache-2.0 */
// A plugin of qemu-user that counts what a program executes: for each translated block a line of how often it ran, its
// function and the mnemonics of its instructions.
//
//   gcc -shared -fPIC count_instructions.c -o count_instructions.so
//   qemu-aarch64 -plugin count_instructions.so,to=FILE PROGRAM ...       one thread: the counters are not atomic
//
// Debian's qemu-user takes plugins but brings no header: what follows declares the calls of version 1 that are used.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum inline_operation { kAddU64 };
typedef void (*translated)(uint64_t id, struct qemu_plugin_tb* block);
typedef void (*at_end)(uint64_t id, void* data);
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, translated callback);
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb* block, enum inline_operation operation,
                                              void* counter, uint64_t amount);
void qemu_plugin_register_atexit_cb(uint64_t id, at_end callback, void* data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb* block);
struct qemu_plugin_insn* qemu_plugin_tb_get_insn(const struct qemu_plugin_tb* block, size_t index);
char* qemu_plugin_insn_disas(const struct qemu_plugin_insn* instruction);
const char* qemu_plugin_insn_symbol(const struct qemu_plugin_insn* instruction);

int qemu_plugin_version = 1;

struct block {
  uint64_t runs;
  char* text;  // function, tab, mnemonics
  struct block* next;
};

static struct block* blocks;
static char path[4096];

static void on_block(uint64_t id, struct qemu_plugin_tb* of) {
  (void)id;
  struct block* made = calloc(1, sizeof(*made));
  size_t size = 0;
  FILE* text = open_memstream(&made->text, &size);
  const size_t count = qemu_plugin_tb_n_insns(of);
  for (size_t i = 0; i < count; ++i) {
    const struct qemu_plugin_insn* instruction = qemu_plugin_tb_get_insn(of, i);
    if (i == 0) {
      const char* name = qemu_plugin_insn_symbol(instruction);
      fprintf(text, "%s\t", name == NULL ? "" : name);
    }
    char* words = qemu_plugin_insn_disas(instruction);
    fprintf(text, "%.*s ", (int)strcspn(words, " \t"), words);
    free(words);
  }
  fclose(text);
  made->next = blocks;
  blocks = made;
  qemu_plugin_register_vcpu_tb_exec_inline(of, kAddU64, &made->runs, 1);
}

static void on_end(uint64_t id, void* data) {
  (void)id, (void)data;
  FILE* file = fopen(path, "w");
  if (file == NULL) return;
  for (const struct block* b = blocks; b != NULL; b = b->next) {
    if (b->runs > 0) fprintf(file, "%llu\t%s\n", (unsigned long long)b->runs, b->text);
  }
  fclose(file);
}

int qemu_plugin_install(uint64_t id, const void* info, int argc, char** argv) {
  (void)info;
  if (argc != 1 || strncmp(argv[0], "to=", 3) != 0 || strlen(argv[0]) >= sizeof(path)) return 1;
  strcpy(path, argv[0] + 3);
  qemu_plugin_register_vcpu_tb_trans_cb(id, on_block);
  qemu_plugin_register_atexit_cb(id, on_end, NULL);
  return 0;
}
