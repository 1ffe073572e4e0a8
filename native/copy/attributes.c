#include <errno.h>
#include <string.h>
#include <sys/xattr.h>

#include "copy.h"

/* As long as a list of names, or a value, can be. */
#define MOST_BYTES 65536

static bool begins(const char *name, const char *with) {
  return strncmp(name, with, strlen(with)) == 0;
}

/* As in src/sys/trees/attributes.ts. */
static bool belongs_to_content(const char *name) {
  if (wish.layer && (begins(name, "user.overlay.") || begins(name, "trusted.overlay."))) return false;
  return begins(name, "user.") || begins(name, "trusted.") || begins(name, "system.posix_acl_") ||
         strcmp(name, "security.capability") == 0;
}

/* As in src/sys/safe-fs/read/xattr.ts. */
static bool is_carried_over(const char *name) {
  return strcmp(name, "security.capability") != 0 && strcmp(name, "security.ima") != 0 &&
         strcmp(name, "security.evm") != 0 && !begins(name, "user.overlay.");
}

static bool counts(const char *name) {
  return wish.exact ? belongs_to_content(name) : is_carried_over(name);
}

static const char *next(const char *name) {
  return name + strlen(name) + 1;
}

/* What this process may not do, or the file system cannot, is no error. */
static int failure(ssize_t result) {
  if (result >= 0) return 0;
  switch (errno) {
    case EPERM:
    case EACCES:
    case EOPNOTSUPP:
    case ENODATA:
    case EINVAL: return 0;
    default: return -errno;
  }
}

static int remove_others(int to, const char *present, ssize_t bytes, const char *wanted, ssize_t wanted_bytes) {
  for (const char *name = present; name < present + bytes; name = next(name)) {
    bool is_wanted = false;
    for (const char *one = wanted; one < wanted + wanted_bytes; one = next(one)) is_wanted |= strcmp(one, name) == 0;
    if (is_wanted || !counts(name)) continue;
    int failed = failure(fremovexattr(to, name));
    if (failed) return failed;
  }
  return 0;
}

int clear_attributes(int of, char *scratch) {
  ssize_t bytes = flistxattr(of, scratch, MOST_BYTES);
  int failed = failure(bytes);
  return failed ? failed : remove_others(of, scratch, bytes, NULL, 0);
}

int copy_attributes(int from, int to, char *scratch) {
  char *wanted = scratch, *present = scratch + MOST_BYTES, *value = scratch + 2 * MOST_BYTES;
  ssize_t wanted_bytes = flistxattr(from, wanted, MOST_BYTES);
  int failed = failure(wanted_bytes);
  if (failed) return failed;
  ssize_t present_bytes = flistxattr(to, present, MOST_BYTES);
  failed = failure(present_bytes);
  if (!failed) failed = remove_others(to, present, present_bytes, wanted, wanted_bytes);
  for (const char *name = wanted; !failed && name < wanted + wanted_bytes; name = next(name)) {
    if (!counts(name)) continue;
    ssize_t length = fgetxattr(from, name, value, MOST_BYTES);
    failed = failure(length);
    if (length >= 0) failed = failure(fsetxattr(to, name, value, (size_t)length, 0));
  }
  if (failed) return failed;
  return wanted_bytes > 0 || present_bytes > 0;
}
