#include "way.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* The directory of the files and the one that holds it are the box's own. */
#define OWN_DIRECTORIES 2
/* Somebody may put something there again and again, but not for ever. */
#define TRIES 16

bool fresh_name(char name[FRESH_NAME]) {
  uint64_t number;
  if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number) return false;
  snprintf(name, FRESH_NAME, ".aw-put-%016llx", (unsigned long long)number);
  return true;
}

static int open_directory(int parent, const char *name) {
  return openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static bool clear(int parent, const char *name) {
  return unlinkat(parent, name, 0) == 0 || errno == ENOENT || errno == EISDIR;
}

static bool make_directory(int parent, const char *name) {
  return mkdirat(parent, name, 0700) == 0 || errno == EEXIST;
}

/* One whose owner has closed it to itself is opened again. */
static bool make_usable(int directory) {
  struct stat facts;
  char path[32];
  if (fstat(directory, &facts) < 0) return false;
  if (facts.st_uid != geteuid() || (facts.st_mode & 0700) == 0700) return true;
  snprintf(path, sizeof path, "/proc/self/fd/%d", directory);
  return chmod(path, (facts.st_mode & 07777) | 0700) == 0;
}

static int enter(int parent, const char *name, bool make, bool own) {
  int directory = open_directory(parent, name);
  for (int tries = 0; directory < 0 && make && tries < TRIES; tries++) {
    bool missing = errno == ENOENT;
    if (!missing && !(own && errno == ENOTDIR)) break;
    if (missing ? !make_directory(parent, name) : !clear(parent, name)) break;
    directory = open_directory(parent, name);
  }
  if (directory < 0 || !own || make_usable(directory)) return directory;
  close(directory);
  return -1;
}

static size_t directories_of(const char *path) {
  size_t count = 0;
  for (const char *at = path; *at; at++) count += *at != '/' && at[1] == '/';
  return count;
}

int way_open(const char *path, const char **name, bool make) {
  size_t left = directories_of(path);
  int directory = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  for (const char *at = path; directory >= 0; left--) {
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
    int next = enter(directory, part, make, left <= OWN_DIRECTORIES);
    int error = errno;
    close(directory);
    errno = error;
    directory = next;
  }
  return directory;
}
