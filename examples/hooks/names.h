// SPDX-License-Identifier: Apache-2.0
/* What a tensor is called in a dump where several have one name: the second tensor called x is x@2. A hash table, so
 * that many tensors cost no more each than few; with a lock, for runtimes whose threads call back. */
#ifndef PLUMB_HOOK_NAMES_H_
#define PLUMB_HOOK_NAMES_H_
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* (a tensor, its name) and what it is called; (NULL, what one is called) and how many came with that name. */
struct plumb_hook_key {
  struct plumb_hook_key* next; /* of the same hash */
  const void* tensor;
  const char* called;
  int count;
  char name[1]; /* and as many as it needs */
};

/* NULL when there is no memory. */
static struct plumb_hook_key* plumb_hook_find(const void* tensor, const char* name) {
  static struct plumb_hook_key* lists[1 << 18];
  uint64_t hash = (uint64_t)(uintptr_t)tensor;
  for (const char* p = name; *p != 0; ++p) hash = (hash ^ (unsigned char)*p) * 0x100000001B3ull;
  hash *= 0x9E3779B97F4A7C15ull;
  struct plumb_hook_key** at = &lists[hash >> 46];
  while (*at != NULL && ((*at)->tensor != tensor || strcmp((*at)->name, name) != 0)) at = &(*at)->next;
  if (*at == NULL && (*at = (struct plumb_hook_key*)calloc(1, sizeof(**at) + strlen(name))) != NULL) {
    (*at)->tensor = tensor;
    memcpy((*at)->name, name, strlen(name));
  }
  return *at;
}

/* The answer stays where it is, and stays the same for this tensor while it has this name. */
static const char* plumb_hook_name(const void* tensor, const char* name) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  char numbered[512];
  pthread_mutex_lock(&mutex);
  struct plumb_hook_key *own = plumb_hook_find(tensor, name), *first = plumb_hook_find(NULL, name), *free_one = first;
  while (own != NULL && own->called == NULL && free_one != NULL && free_one->count > 0) {
    snprintf(numbered, sizeof(numbered), "%.490s@%d", name, ++first->count);
    free_one = plumb_hook_find(NULL, numbered);
  }
  if (own != NULL && own->called == NULL && free_one != NULL) {
    free_one->count = 1;
    own->called = free_one->name;
  }
  pthread_mutex_unlock(&mutex);
  return own != NULL && own->called != NULL ? own->called : name;
}
#endif /* PLUMB_HOOK_NAMES_H_ */
