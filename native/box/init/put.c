/* Files for commands to read: there whole or not at all. No link on the way is followed. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "init.h"
#include "../common/tags.h"
#include "way.h"

/* So often a name may be taken that nobody could know. */
#define TRIES 4

struct file {
  const char *path;
  mode_t mode;
  const uint8_t *content;
  size_t length;
};

static bool parse_mode(const char *text, mode_t *mode) {
  mode_t sum = 0;
  if (!*text || strlen(text) > 4) return false;
  for (; *text; text++) {
    if (*text < '0' || *text > '7') return false;
    sum = sum * 8 + (mode_t)(*text - '0');
  }
  *mode = sum;
  return sum <= 0777;
}

static bool parse_file(const struct frame *frame, struct file *file) {
  const char *at = (const char *)frame->data, *end = at + frame->length;
  bool has_mode = false;
  *file = (struct file){0};
  while (at < end && *at) {
    struct tags tags = tags_of(at, (size_t)(end - at));
    struct tag tag;
    if (tags_next(&tags, &tag) <= 0) return false;
    if (tag.name == 'f' && *tag.value == '/') file->path = tag.value;
    else if (tag.name == 'o' && parse_mode(tag.value, &file->mode)) has_mode = true;
    else return false;
    at = tags.at;
  }
  if (at == end || !file->path || !has_mode) return false;
  file->content = (const uint8_t *)at + 1;
  file->length = (size_t)(end - at) - 1;
  return true;
}

static bool fill(int fd, const struct file *file) {
  return fchmod(fd, file->mode) == 0 && write_all(fd, file->content, file->length);
}

/* 0 or an errno. */
static int open_fresh(int directory, char fresh[FRESH_NAME], int *fd) {
  for (int tries = 0; tries < TRIES; tries++) {
    if (!fresh_name(fresh)) return errno;
    *fd = openat(directory, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (*fd >= 0) return 0;
    if (errno != EEXIST) return errno;
  }
  return EEXIST;
}

/* A directory cannot be replaced by a file, but change places with it; if it is not empty it stays under the other name. */
static bool take_place(int directory, const char *fresh, const char *name) {
  if (renameat(directory, fresh, directory, name) == 0) return true;
  if (errno != EISDIR || sys_renameat2(directory, fresh, directory, name, RENAME_SWAPS) < 0) return false;
  unlinkat(directory, fresh, AT_REMOVEDIR);
  return true;
}

/* 0 or an errno. */
static int make_file(const struct file *file) {
  char fresh[FRESH_NAME];
  const char *name;
  int fd = -1, directory = way_open(file->path, &name, true);
  if (directory < 0) return errno;
  int error = open_fresh(directory, fresh, &fd);
  if (!error && (!fill(fd, file) || !take_place(directory, fresh, name))) {
    error = errno;
    unlinkat(directory, fresh, 0);
  }
  close_fd(&fd);
  close(directory);
  return error;
}

static void answer(uint32_t id, int error, const char *what) {
  if (error) wire_error(&init.wire, id, error, what);
  else wire_send(&init.wire, FRAME_OK, id, NULL, 0);
}

void put(const struct frame *frame) {
  struct file file;
  answer(frame->id, parse_file(frame, &file) ? make_file(&file) : EINVAL, "put");
}

static const char *parse_path(const struct frame *frame) {
  struct tags tags = tags_of(frame->data, frame->length);
  struct tag tag;
  const char *path = NULL;
  int more;
  while ((more = tags_next(&tags, &tag)) > 0) {
    if (tag.name != 'f' || *tag.value != '/' || path) return NULL;
    path = tag.value;
  }
  return more == 0 ? path : NULL;
}

/* What is no file under that name is not what was put there; it is moved out of the way if it cannot be removed. */
static bool take_away(int directory, const char *name) {
  char fresh[FRESH_NAME];
  if (unlinkat(directory, name, 0) == 0 || errno == ENOENT) return true;
  if (errno != EISDIR && errno != EPERM) return false;
  if (unlinkat(directory, name, AT_REMOVEDIR) == 0) return true;
  return fresh_name(fresh) && renameat(directory, name, directory, fresh) == 0;
}

/* 0 or an errno. */
static int remove_file(const char *path) {
  const char *name;
  int directory = way_open(path, &name, false);
  if (directory < 0) return errno == ENOENT || errno == ENOTDIR ? 0 : errno;
  int error = take_away(directory, name) ? 0 : errno;
  close(directory);
  return error;
}

void take_back(const struct frame *frame) {
  const char *path = parse_path(frame);
  answer(frame->id, path ? remove_file(path) : EINVAL, "remove");
}
