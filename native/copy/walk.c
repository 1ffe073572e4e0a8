#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "copy.h"

/* A directory that was met and is still to be opened. */
struct task {
  struct task *next;
  struct node *parent;
  char name[];
};

/* The one that was met last comes first: so few directories are open at once. */
static struct task *tasks;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool is_over;
/* The first that failed; less than 0. */
static atomic_int failure;
/* Directories that are open, and how many may be. */
static int open_nodes, most_nodes;

static void *memory(size_t size) {
  void *found = calloc(1, size);
  if (found == NULL) abort();
  return found;
}

static void fail(int error, const char *path, const char *name) {
  pthread_mutex_lock(&lock);
  bool is_first = failure == 0;
  if (is_first) failure = error;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
  if (is_first) report_failure(-error, path, name);
}

static void finish(struct node *node, char *scratch) {
  while (node && atomic_fetch_sub(&node->pending, 1) == 1) {
    struct node *parent = node->parent;
    bool is_left = atomic_load(&node->is_left);
    if (is_left && parent) atomic_store(&parent->is_left, true);
    int failed = is_left ? 0 : dress_directory(node, scratch);
    if (failed) return fail(failed, node->path, ".");
    report_directory(node, !is_left);
    close(node->from);
    close(node->to);
    free(node->names.start), free(node->prints.start), free(node->left.start), free(node->path);
    free(node);
    pthread_mutex_lock(&lock);
    open_nodes--;
    is_over |= parent == NULL;
    if (is_over) pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    node = parent;
  }
}

static void made(struct node *node, const char *name, const struct told *told) {
  char print[PRINT_BYTES];
  write_print(print, told);
  append_name(&node->names, name);
  append(&node->prints, print, sizeof print);
  node->count++;
}

static void left(struct node *node, const char *name) {
  append_name(&node->left, name);
  atomic_store(&node->is_left, true);
}

static void add_task(struct task **list, struct node *parent, const char *name) {
  size_t length = strlen(name) + 1;
  struct task *task = memory(sizeof *task + length);
  memcpy(task->name, name, length);
  task->parent = parent;
  task->next = *list;
  *list = task;
}

#define LIST_BYTES 32768

/* False if it has failed. What is a directory is added to the list. */
static bool copy_record(struct node *node, const struct record *record, struct task **list, char *scratch) {
  const char *name = record->name;
  if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) return true;
  struct told told;
  int result = record->type == DIRECTORY_TYPE ? IS_DIRECTORY : copy_entry(node, name, &told, scratch);
  if (result < 0) fail(result, node->path, name);
  if (result == IS_DIRECTORY) add_task(list, node, name);
  if (result == LEFT) left(node, name);
  if (result == MADE) made(node, name, &told);
  return result >= 0;
}

static void list_directory(struct node *node, char *scratch) {
  char *records = memory(LIST_BYTES);
  struct task *list = NULL;
  bool goes_on = true;
  while (goes_on) {
    long filled = syscall(SYS_getdents64, node->from, records, LIST_BYTES);
    // Nothing is in one that was removed.
    if (filled < 0 && errno != ENOENT) fail(-errno, node->path, ".");
    goes_on = filled > 0;
    for (long at = 0; goes_on && at < filled;) {
      const struct record *record = (const struct record *)(records + at);
      goes_on = copy_record(node, record, &list, scratch) && failure == 0;
      at += record->length;
    }
  }
  free(records);
  // Nobody but us has touched the node so far; from now on only those do who hold the lock.
  pthread_mutex_lock(&lock);
  while (list) {
    struct task *task = list;
    list = task->next;
    task->next = tasks;
    tasks = task;
    atomic_fetch_add(&node->pending, 1);
  }
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
  finish(node, scratch);
}

static char *path_of(const struct node *parent, const char *name) {
  struct bytes path = {0};
  if (parent && *parent->path) {
    append(&path, parent->path, strlen(parent->path));
    append(&path, "/", 1);
  }
  append(&path, name, strlen(name) + 1);
  return path.start;
}

/* Takes over both descriptors. */
static struct node *new_node(struct node *parent, const char *name, int from, int to, const struct told *told) {
  struct node *node = memory(sizeof *node);
  node->parent = parent;
  node->path = path_of(parent, name);
  node->from = from, node->to = to, node->told = *told;
  atomic_store(&node->pending, 1);
  return node;
}

static bool is_locked(const struct told *told) {
  return wish.exact && is_ours(told) && (told->mode & 0500) != 0500;
}

/* LEFT, GONE, an error's number, or MADE: then both are open. */
static int open_both(struct node *parent, const char *name, struct told *told, int *from, int *to) {
  int named = openat(parent->from, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (named < 0) return errno == ENOENT ? GONE : LEFT;
  bool is_plain = tell(named, told) && S_ISDIR(told->mode) && told->mount == wish.mount && !is_guarded(told);
  *from = is_plain && !is_locked(told) ? open_named(named, O_DIRECTORY) : -1;
  close(named);
  if (*from < 0) return LEFT;
  // What a profile brings along is there before.
  bool is_there = mkdirat(parent->to, name, 0700) == 0 || errno == EEXIST;
  *to = is_there ? openat(parent->to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
  if (*to >= 0) return MADE;
  int error = errno;
  close(*from);
  return -error;
}

static bool may_open(void) {
  pthread_mutex_lock(&lock);
  bool may = open_nodes < most_nodes;
  if (may) open_nodes++;
  pthread_mutex_unlock(&lock);
  return may;
}

#define LONGEST_PATH (64 * 1024)

static void copy_directory(struct node *parent, const char *name, char *scratch) {
  struct told told;
  int from, to;
  // Each of many that are open holds its whole path.
  bool may = strlen(parent->path) < LONGEST_PATH && may_open();
  int result = may ? open_both(parent, name, &told, &from, &to) : LEFT;
  pthread_mutex_lock(&lock);
  if (may && result != MADE) open_nodes--;
  if (result == LEFT) left(parent, name);
  if (result == MADE) made(parent, name, &told);
  pthread_mutex_unlock(&lock);
  if (result < 0) return fail(result, parent->path, name);
  // It finishes the parent when it is finished itself.
  if (result == MADE) list_directory(new_node(parent, name, from, to, &told), scratch);
  else finish(parent, scratch);
}

static struct task *take(void) {
  pthread_mutex_lock(&lock);
  while (tasks == NULL && !is_over && failure == 0) pthread_cond_wait(&changed, &lock);
  struct task *task = failure == 0 ? tasks : NULL;
  if (task) tasks = task->next;
  pthread_mutex_unlock(&lock);
  return task;
}

static void *work(void *scratch) {
  for (struct task *task = take(); task; task = take()) {
    copy_directory(task->parent, task->name, scratch);
    free(task);
  }
  return NULL;
}

/* A directory takes two descriptors, and each thread some of its own. */
int count_nodes(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) < 0) return 64;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  rlim_t files = limit.rlim_max < 8192 ? limit.rlim_max : 8192;
  return files > 64 ? (int)(files - 64) / 2 : 0;
}

void in_threads(unsigned threads, void *(*work)(void *scratch)) {
  pthread_t others[threads];
  unsigned started = 0;
  while (started + 1 < threads && pthread_create(&others[started], NULL, work, memory(SCRATCH_BYTES)) == 0) started++;
  work(memory(SCRATCH_BYTES));
  for (unsigned at = 0; at < started; at++) pthread_join(others[at], NULL);
}

int walk(int from, int to, unsigned threads) {
  struct told told;
  // An old kernel does not tell the mount.
  if (!tell(from, &told)) {
    report_refusal();
    return 0;
  }
  most_nodes = count_nodes();
  int listed = is_locked(&told) ? -1 : open_named(from, O_DIRECTORY);
  int made_in = open_named(to, O_DIRECTORY);
  if (listed < 0 || made_in < 0 || most_nodes == 0) {
    report_refusal();
    return 0;
  }
  wish.mount = told.mount;
  open_nodes = 1;
  struct node *top = new_node(NULL, "", listed, made_in, &told);
  char *scratch = memory(SCRATCH_BYTES);
  // Of its own: that of the top is closed when the top is full.
  int flushed = wish.early ? open_named(to, O_DIRECTORY) : -1;
  if (flushed >= 0) start_early(flushed);
  list_directory(top, scratch);
  in_threads(threads, work);
  int failed = end_early();
  if (failed) fail(failed, "", ".");
  if (failure == 0) report_end();
  return failure;
}
