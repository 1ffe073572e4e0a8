/*
 * Looks at everything in a tree that others may be writing to. Each directory is reached from the top by its path, on
 * which the kernel follows no link and crosses no mount. What is mounted in the tree is left out, with what it covers;
 * what goes away meanwhile is left out too.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "copy.h"

#define TELL_ALL_AND_MOUNT 0x17ff
#define TELLS_MOUNT 0x1000
#define NO_OTHER_MOUNT_NO_LINKS_BELOW (0x01 | 0x02 | 0x04 | 0x08)

/* A directory that was looked at; remembered for the second look. */
struct seen {
  struct seen *next;
  struct node node;
};

static int top;
static char *const *left_out;
static size_t left_out_count;
static struct seen *all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool has_changed;

static int open_below(const char *path) {
  const uint64_t how[] = {O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0, NO_OTHER_MOUNT_NO_LINKS_BELOW};
  return (int)syscall(SYS_openat2, top, *path ? path : ".", how, sizeof how);
}

static bool is_gone(int error) {
  return error == ENOENT || error == ENOTDIR || error == ELOOP || error == EXDEV;
}

/* 0, or an error's number. */
static int look_at(int directory, const char *name, struct told *told) {
  if (syscall(SYS_statx, directory, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, TELL_ALL_AND_MOUNT, told) < 0)
    return -errno;
  return told->mask & TELLS_MOUNT ? 0 : -ENOSYS;
}

static bool is_left_out(const char *path, const char *name) {
  if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) return true;
  bool is_excluded = false;
  for (size_t at = 0; *path == 0 && at < left_out_count; at++) is_excluded |= strcmp(left_out[at], name) == 0;
  return is_excluded;
}

static int look_at_one(struct node *node, const char *name) {
  struct told told;
  char print[PRINT_BYTES];
  int failed = is_left_out(node->path, name) ? -ENOENT : look_at(node->from, name, &told);
  if (failed) return failed == -ENOENT ? 0 : failed;
  if (told.mount != wish.mount) return 0;
  write_print(print, &told);
  append_name(&node->names, name);
  append(&node->prints, print, sizeof print);
  node->count++;
  if (S_ISDIR(told.mode)) add_place(node->path, name);
  return 0;
}

static int list_directory(struct node *node, char *scratch) {
  for (;;) {
    long filled = syscall(SYS_getdents64, node->from, scratch, SCRATCH_BYTES);
    // Nothing is in one that was removed.
    if (filled < 0 && errno != ENOENT) return -errno;
    if (filled <= 0) return 0;
    for (long at = 0; at < filled; at += ((const struct record *)(scratch + at))->length) {
      int failed = look_at_one(node, ((const struct record *)(scratch + at))->name);
      if (failed) return failed;
    }
  }
}

static int look_into(const char *path, char *scratch) {
  int directory = open_below(path);
  if (directory < 0) return is_gone(errno) && *path ? 0 : -errno;
  struct seen *seen = calloc(1, sizeof *seen);
  if (seen == NULL) abort();
  seen->node.path = strdup(path);
  seen->node.from = directory;
  int failed = tell(directory, &seen->node.told) ? list_directory(&seen->node, scratch) : -ENOSYS;
  close(directory);
  if (failed) return failed;
  report_directory(&seen->node, true);
  pthread_mutex_lock(&lock);
  seen->next = all;
  all = seen;
  pthread_mutex_unlock(&lock);
  return 0;
}

static void *look(void *scratch) {
  for (struct place *place = take_place(); place; place = take_place()) {
    finish_place(look_into(place->path, scratch));
    free(place);
  }
  return NULL;
}

/* -- the second look ------------------------------------------------------------------------------------------------ */

static bool is_same(int directory, const char *name, const char *print) {
  struct told told;
  char now[PRINT_BYTES];
  if (look_at(directory, name, &told) || told.mount != wish.mount) return false;
  write_print(now, &told);
  return memcmp(now, print, sizeof now) == 0;
}

/* One that did not change has the same names in it, so none is listed. That of the top is its own. */
static bool is_unchanged(struct node *node) {
  int directory = open_below(node->path);
  if (directory < 0) return false;
  struct told told;
  char own[PRINT_BYTES], now[PRINT_BYTES];
  write_print(own, &node->told);
  bool same = *node->path != 0 || (tell(directory, &told) && (write_print(now, &told), memcmp(now, own, sizeof now) == 0));
  append(&node->names, "", 1);
  char *name = node->names.start;
  for (uint32_t at = 0; same && at < node->count; at++) {
    char *end = strchrnul(name, '/');
    *end = 0;
    same = is_same(directory, name, node->prints.start + (size_t)at * PRINT_BYTES);
    name = end + 1;
  }
  close(directory);
  return same;
}

static void *prove(void *scratch) {
  while (!atomic_load(&has_changed)) {
    pthread_mutex_lock(&lock);
    struct seen *seen = all;
    if (seen) all = seen->next;
    pthread_mutex_unlock(&lock);
    if (seen == NULL) break;
    if (!is_unchanged(&seen->node)) atomic_store(&has_changed, true);
  }
  return scratch;
}

static bool is_asked(void) {
  char byte;
  ssize_t count;
  while ((count = read(0, &byte, 1)) > 0 || (count < 0 && errno == EINTR)) continue;
  return count == 0;
}

int look_through(int tree, unsigned threads, char *const *excluded, size_t excluded_count) {
  struct told told;
  top = tree, left_out = excluded, left_out_count = excluded_count;
  if (tell(tree, &told)) {
    wish.mount = told.mount;
    add_place("", "");
    in_threads(threads, look);
  }
  // What may not be opened, or is too deep, is for others to look at, and so is all the rest then.
  if (wish.mount == 0 || places_failed()) {
    report_refusal();
    return 0;
  }
  report_end();
  if (!is_asked()) return 0;
  in_threads(threads, prove);
  report_proof(!atomic_load(&has_changed));
  return 0;
}
