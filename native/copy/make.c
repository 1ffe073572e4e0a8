#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "copy.h"
#include "sha256.h"

/* Of a file: its content is missing, or not what its name says. */
#define WRONG 1

static struct list list;
/* Of what is done, by its place in the list; zeros for all else. */
static char (*prints)[PRINT_BYTES];
static int objects;

/* Directories that are there, or whose parents are, and wait to be filled. The last one comes first: so few are open at
 * once. */
static struct item *waiting;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool is_over;
static atomic_int failure;
static int open_directories, most_open;

static const char *path_above(const struct item *item) {
  return item->parent ? list.items[item->parent].path : ".";
}

static void fail(int error, const struct item *item) {
  pthread_mutex_lock(&lock);
  bool is_first = failure == 0;
  if (is_first) failure = error;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
  if (!is_first) return;
  if (error == WRONG) report_wrong(item->path);
  else report_failure(-error, path_above(item), item->name);
}

static void done(const struct item *item, const struct told *told) {
  write_print(prints[item - list.items], told);
}

/* -- files and links ----------------------------------------------------------------------------------------------- */

static bool is_right(const struct item *item, const char *content) {
  static const char digits[] = "0123456789abcdef";
  uint8_t digest[SHA256_BYTES];
  char name[2 * SHA256_BYTES];
  sha256(content, item->size, digest);
  for (int at = 0; at < SHA256_BYTES; at++) {
    name[2 * at] = digits[digest[at] >> 4];
    name[2 * at + 1] = digits[digest[at] & 15];
  }
  return memcmp(name, item->content, sizeof name) == 0;
}

static int read_content(const struct item *item, char *content) {
  char place[80];
  snprintf(place, sizeof place, "%.2s/%s", item->content, item->content);
  int from = openat(objects, place, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (from < 0) return errno == ENOENT ? WRONG : -errno;
  struct stat stat;
  int result = fstat(from, &stat) < 0 ? -errno : (uint64_t)stat.st_size == item->size ? 0 : WRONG;
  for (size_t got = 0; result == 0 && got < item->size;) {
    ssize_t count = read(from, content + got, item->size - got);
    if (count < 0 && errno != EINTR) result = -errno;
    if (count == 0) result = WRONG;
    if (count > 0) got += (size_t)count;
  }
  close(from);
  return result || is_right(item, content) ? result : WRONG;
}

static int set_times(int fd, const struct item *item) {
  struct timespec times[2] = {item->mtime, item->mtime};
  return futimens(fd, times) < 0 ? -errno : 0;
}

/* The owner first: to change it may change the mode. Most have the right ones from the start. */
static int set_owner_and_mode(int fd, const struct item *item, mode_t mode) {
  struct stat made;
  if (fstat(fd, &made) < 0) return -errno;
  bool is_given = wish.uid != 0 || (made.st_uid == item->uid && made.st_gid == item->gid);
  if (!is_given && fchown(fd, item->uid, item->gid) < 0) return -errno;
  return (made.st_mode & 07777) != mode && fchmod(fd, mode) < 0 ? -errno : 0;
}

static int make_file(int directory, const struct item *item, char *content) {
  int failed = item->size > 0 ? read_content(item, content) : 0;
  if (failed) return failed;
  int to = openat(directory, item->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, item->mode & 0777);
  if (to < 0) return -errno;
  struct told told;
  failed = write_at(to, content, item->size, 0);
  if (!failed) failed = set_owner_and_mode(to, item, item->mode);
  if (!failed) failed = set_times(to, item);
  if (!failed && !tell(to, &told)) failed = -EIO;
  close(to);
  if (failed) return failed;
  done(item, &told);
  count_file(item->size, false);
  count_bytes(item->size);
  return 0;
}

static int make_link(int directory, const struct item *item) {
  struct timespec times[2] = {item->mtime, item->mtime};
  if (symlinkat(item->content, directory, item->name) < 0) return -errno;
  if (wish.uid == 0 && fchownat(directory, item->name, item->uid, item->gid, AT_SYMLINK_NOFOLLOW) < 0) return -errno;
  if (utimensat(directory, item->name, times, AT_SYMLINK_NOFOLLOW) < 0) return -errno;
  int named = openat(directory, item->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (named < 0) return -errno;
  struct told told;
  bool is_told = tell(named, &told);
  close(named);
  if (!is_told) return -EIO;
  done(item, &told);
  return 0;
}

/* -- directories --------------------------------------------------------------------------------------------------- */

/* As `dress` in make-entry.ts: one that was there before may have been read-only, and have attributes. */
static int dress_made(const struct item *item, struct told *told, char *scratch) {
  int failed = set_owner_and_mode(item->fd, item, item->mode | 0700);
  if (!failed) failed = clear_attributes(item->fd, scratch);
  if (!failed) failed = set_times(item->fd, item);
  bool is_open = (item->mode & 0700) == 0700;
  if (!failed && !is_open && fchmod(item->fd, item->mode) < 0) failed = -errno;
  return failed || tell(item->fd, told) ? failed : -EIO;
}

/* One that is full is dressed, unless something in it, or below it, is for others to make. */
static void finish(struct item *item, char *scratch) {
  while (atomic_fetch_sub(&item->pending, 1) == 1) {
    struct item *parent = &list.items[item->parent];
    struct told told;
    bool is_left = !item->is_plain || atomic_load(&item->is_left);
    int failed = is_left ? 0 : dress_made(item, &told, scratch);
    if (failed) return fail(failed, item);
    if (is_left) atomic_store(&parent->is_left, true);
    else done(item, &told);
    close(item->fd);
    pthread_mutex_lock(&lock);
    open_directories--;
    is_over |= item == list.items;
    if (is_over) pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    if (item == list.items) return;
    item = parent;
  }
}

static void add_waiting(struct item *directory) {
  pthread_mutex_lock(&lock);
  for (uint32_t at = directory->first; at; at = list.items[at].next) {
    struct item *item = &list.items[at];
    if (item->kind != 'd') continue;
    item->waiting = waiting;
    waiting = item;
    atomic_fetch_add(&directory->pending, 1);
  }
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}

static void fill(struct item *directory, char *content) {
  for (uint32_t at = directory->first; at && failure == 0; at = list.items[at].next) {
    const struct item *item = &list.items[at];
    if (item->kind == 'd') continue;
    int failed = 0;
    if (item->kind == 0 || !item->is_plain) atomic_store(&directory->is_left, true);
    else failed = item->kind == 'l' ? make_link(directory->fd, item) : make_file(directory->fd, item, content);
    if (failed) return fail(failed, item);
  }
  add_waiting(directory);
  finish(directory, content);
}

static bool may_open(void) {
  pthread_mutex_lock(&lock);
  bool may = open_directories < most_open;
  if (may) open_directories++;
  pthread_mutex_unlock(&lock);
  return may;
}

static void leave(struct item *item, char *scratch) {
  struct item *parent = &list.items[item->parent];
  atomic_store(&parent->is_left, true);
  finish(parent, scratch);
}

static void make_directory(struct item *item, char *content) {
  if (!may_open()) return leave(item, content);
  int above = list.items[item->parent].fd;
  bool is_there = mkdirat(above, item->name, 0700) == 0 || errno == EEXIST;
  item->fd = is_there ? openat(above, item->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
  if (item->fd >= 0) {
    atomic_store(&item->pending, 1);
    return fill(item, content);
  }
  int error = errno;
  pthread_mutex_lock(&lock);
  open_directories--;
  pthread_mutex_unlock(&lock);
  // One that was there before and may not be listed can be passed all the same.
  if (is_there && error == EACCES) return leave(item, content);
  fail(-error, item);
}

static struct item *take(void) {
  pthread_mutex_lock(&lock);
  while (waiting == NULL && !is_over && failure == 0) pthread_cond_wait(&changed, &lock);
  struct item *item = failure == 0 ? waiting : NULL;
  if (item) waiting = item->waiting;
  pthread_mutex_unlock(&lock);
  return item;
}

static void *work(void *unused) {
  char *content = malloc(LARGEST_CONTENT);
  if (content == NULL) abort();
  for (struct item *item = take(); item; item = take()) {
    if (item == list.items) fill(item, content);
    else make_directory(item, content);
  }
  return unused;
}

int make_tree(int contents, int top, unsigned threads) {
  struct told told;
  int opened = open_named(top, O_DIRECTORY);
  most_open = count_nodes();
  if (opened < 0 || most_open == 0 || !tell(opened, &told) || !read_list(0, &list)) {
    report_refusal();
    return 0;
  }
  prints = calloc(list.count, PRINT_BYTES);
  if (prints == NULL) abort();
  objects = contents;
  open_directories = 1;
  waiting = list.items;
  waiting->fd = opened;
  atomic_store(&waiting->pending, 1);
  // Of its own: that of the top is closed when the top is full.
  int flushed = wish.early ? open_named(top, O_DIRECTORY) : -1;
  if (flushed >= 0) start_early(flushed);
  in_threads(threads, work);
  int failed = end_early();
  if (failed) fail(failed, list.items);
  if (failure) return failure;
  report_prints(prints[0], (size_t)list.count * PRINT_BYTES);
  report_end();
  return 0;
}
