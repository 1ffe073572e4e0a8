/* A file for a command to read: there whole or not at all. No link on the way is followed. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "init.h"
#include "tags.h"

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

static int open_directory(int parent, const char *name) {
  return openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* The directory that holds the last name, or -1; `*name` is that name. */
static int open_parent(const char *path, const char **name) {
  int directory = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  for (const char *at = path; directory >= 0;) {
    char part[256];
    while (*at == '/') at++;
    size_t length = strcspn(at, "/");
    if (length == 0 || length >= sizeof part || strncmp(at, "..", length) == 0) {
      close(directory);
      errno = length >= sizeof part ? ENAMETOOLONG : EINVAL;
      return -1;
    }
    *name = at;
    if (!at[length]) break;
    memcpy(part, at, length);
    part[length] = 0;
    at += length;
    int next = open_directory(directory, part);
    if (next < 0 && errno == ENOENT && mkdirat(directory, part, 0700) == 0) next = open_directory(directory, part);
    close(directory);
    directory = next;
  }
  return directory;
}

static bool fill(int fd, const struct file *file) {
  return fchmod(fd, file->mode) == 0 && write_all(fd, file->content, file->length);
}

/* 0 or an errno. */
static int make_file(const struct file *file) {
  static unsigned count;
  char fresh[48];
  const char *name;
  int directory = open_parent(file->path, &name);
  if (directory < 0) return errno;
  snprintf(fresh, sizeof fresh, ".aw-put-%d-%u", (int)getpid(), count++);
  int error = 0;
  int fd = openat(directory, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) error = errno;
  else if (!fill(fd, file) || renameat(directory, fresh, directory, name) < 0) {
    error = errno;
    unlinkat(directory, fresh, 0);
  }
  close_fd(&fd);
  close(directory);
  return error;
}

void put(const struct frame *frame) {
  struct file file;
  int error = parse_file(frame, &file) ? make_file(&file) : EINVAL;
  if (error) wire_error(&init.wire, frame->id, error, "put");
  else wire_send(&init.wire, FRAME_OK, frame->id, NULL, 0);
}
