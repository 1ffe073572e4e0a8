#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "copy.h"

void append(struct bytes *bytes, const void *data, size_t length) {
  if (bytes->room - bytes->length < length) {
    bytes->room = (bytes->length + length) * 2;
    bytes->start = realloc(bytes->start, bytes->room);
    if (bytes->start == NULL) abort();
  }
  memcpy(bytes->start + bytes->length, data, length);
  bytes->length += length;
}

void append_name(struct bytes *bytes, const char *name) {
  if (bytes->length > 0) append(bytes, "/", 1);
  append(bytes, name, strlen(name));
}

/* See src/sys/trees/stat.ts. */
void write_print(char *print, const struct told *told) {
  memcpy(print, &told->links, 32);
  memcpy(print + 32, &told->ctime, 48);
}

/* -- what was counted ---------------------------------------------------------------------------------------------- */

#define TELL_EVERY_MS 40

/* Bytes that were copied so far, and how large the files are. */
static _Atomic uint64_t files, copied, sizes, shared;
static _Atomic int64_t told_ms;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* What was not written yet. */
static struct bytes output;

/* Whoever reads it may have gone: then nobody wants the copy any more. */
static void flush(void) {
  for (size_t done = 0; done < output.length;) {
    ssize_t count = write(1, output.start + done, output.length - done);
    if (count < 0 && errno != EINTR) _exit(1);
    if (count > 0) done += (size_t)count;
  }
  output.length = 0;
}

#define FLUSH_BYTES 65536

static void begin(char kind, size_t length) {
  uint32_t size = (uint32_t)length;
  append(&output, &size, 4);
  append(&output, &kind, 1);
}

static void tell_counts(char kind, uint64_t bytes) {
  uint64_t counts[3] = {atomic_load(&files), bytes, atomic_load(&shared)};
  begin(kind, sizeof counts);
  append(&output, counts, sizeof counts);
}

void count_file(uint64_t size, bool is_shared) {
  atomic_fetch_add(&files, 1);
  atomic_fetch_add(&sizes, size);
  if (is_shared) atomic_fetch_add(&shared, 1);
  note_early(1, 0);
}

void count_bytes(uint64_t bytes) {
  atomic_fetch_add(&copied, bytes);
  note_early(0, bytes);
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  int64_t ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000, last = atomic_load(&told_ms);
  if (ms - last < TELL_EVERY_MS || !atomic_compare_exchange_strong(&told_ms, &last, ms)) return;
  pthread_mutex_lock(&lock);
  tell_counts('p', atomic_load(&copied));
  flush();
  pthread_mutex_unlock(&lock);
}

/* -- what was made ------------------------------------------------------------------------------------------------- */

void report_directory(const struct node *node, bool is_dressed) {
  uint32_t numbers[] = {is_dressed, (uint32_t)strlen(node->path), node->count, (uint32_t)node->names.length,
                        (uint32_t)node->left.length};
  char print[PRINT_BYTES];
  write_print(print, &node->told);
  pthread_mutex_lock(&lock);
  begin('d', sizeof numbers + sizeof print + numbers[1] + node->names.length + node->prints.length + node->left.length);
  append(&output, numbers, sizeof numbers);
  append(&output, print, sizeof print);
  append(&output, node->path, numbers[1]);
  append(&output, node->names.start, node->names.length);
  append(&output, node->prints.start, node->prints.length);
  append(&output, node->left.start, node->left.length);
  if (output.length > FLUSH_BYTES) flush();
  pthread_mutex_unlock(&lock);
}

void report_link(const struct told *told, const char *path) {
  char print[PRINT_BYTES];
  write_print(print, told);
  pthread_mutex_lock(&lock);
  begin('l', sizeof print + strlen(path));
  append(&output, print, sizeof print);
  append(&output, path, strlen(path));
  pthread_mutex_unlock(&lock);
}

void report_prints(const char *prints, size_t length) {
  begin('m', length);
  append(&output, prints, length);
  flush();
}

void report_wrong(const char *path) {
  pthread_mutex_lock(&lock);
  begin('w', strlen(path));
  append(&output, path, strlen(path));
  flush();
  pthread_mutex_unlock(&lock);
}

void report_failure(int error, const char *path, const char *name) {
  uint32_t number = (uint32_t)error;
  pthread_mutex_lock(&lock);
  begin('e', sizeof number + strlen(path) + 1 + strlen(name));
  append(&output, &number, sizeof number);
  append(&output, path, strlen(path));
  append(&output, "/", 1);
  append(&output, name, strlen(name));
  flush();
  pthread_mutex_unlock(&lock);
}

void report_refusal(void) {
  begin('x', 0);
  flush();
}

void report_end(void) {
  tell_counts('z', atomic_load(&sizes));
  flush();
}

void report_proof(bool is_unchanged) {
  begin(is_unchanged ? 'y' : 'n', 0);
  flush();
}
