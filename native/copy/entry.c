#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "copy.h"

#define TELL_ALL_AND_MOUNT 0x17ff
#define TELLS_MOUNT 0x1000

_Static_assert(offsetof(struct told, links) == 16 && offsetof(struct told, blocks) == 48, "as the kernel has it");
_Static_assert(offsetof(struct told, ctime) == 96 && offsetof(struct told, mount) == 144, "as the kernel has it");
_Static_assert(sizeof(struct told) == 256, "as the kernel has it");

bool tell(int fd, struct told *told) {
  return syscall(SYS_statx, fd, "", AT_EMPTY_PATH, TELL_ALL_AND_MOUNT, told) == 0 && (told->mask & TELLS_MOUNT);
}

bool is_guarded(const struct told *told) {
  for (size_t at = 0; at < wish.guarded_count; at++) {
    const struct identity *one = &wish.guarded[at];
    if (one->inode == told->inode && one->dev_major == told->dev_major && one->dev_minor == told->dev_minor) return true;
  }
  return false;
}

bool is_ours(const struct told *told) {
  return wish.uid != 0 && told->uid == wish.uid;
}

int open_named(int named, int flags) {
  char path[32];
  snprintf(path, sizeof path, "/proc/self/fd/%d", named);
  return open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | flags);
}

static uid_t uid_of(const struct told *told) {
  return wish.exact ? told->uid : wish.owner_uid;
}

static gid_t gid_of(const struct told *told) {
  return wish.exact ? told->gid : wish.owner_gid;
}

/* What runs with the rights of root, or of somebody else, is not made once more in a place that agents work in. */
static mode_t kept_mode(const struct told *told) {
  if (wish.exact || is_ours(told) || S_ISDIR(told->mode)) return told->mode & 07777;
  return told->mode & (told->mode & S_IXGRP ? 01777 : 03777);
}

static void times_of(const struct told *told, struct timespec times[2]) {
  times[0] = (struct timespec){.tv_sec = told->atime.seconds, .tv_nsec = told->atime.nanoseconds};
  times[1] = (struct timespec){.tv_sec = told->mtime.seconds, .tv_nsec = told->mtime.nanoseconds};
}

/* What root makes is root's, or of the group of where it is made. */
static int give(int to, const struct told *told) {
  struct stat made;
  if (wish.uid != 0) return 0;
  if (fstat(to, &made) < 0) return -errno;
  if (made.st_uid == uid_of(told) && made.st_gid == gid_of(told)) return 0;
  return fchown(to, uid_of(told), gid_of(told)) < 0 ? -errno : 0;
}

/* Owner, attributes, times and mode, in the order in which none undoes another. */
static int dress(int from, int to, const struct told *told, mode_t mode, char *scratch) {
  int failed = give(to, told);
  if (failed) return failed;
  int attributes = copy_attributes(from, to, scratch);
  if (attributes < 0) return attributes;
  struct timespec times[2];
  times_of(told, times);
  if (futimens(to, times) < 0) return -errno;
  // Last: what may not be written to gets no attributes, and an ACL, also one that is inherited, changes the mode.
  return fchmod(to, mode) < 0 ? -errno : 0;
}

int dress_directory(const struct node *node, char *scratch) {
  mode_t mode = kept_mode(&node->told);
  // A read-only folder makes a workspace that its owner can work in all the same.
  if (node->parent == NULL && !wish.exact) mode |= 0700;
  return dress(node->from, node->to, &node->told, mode, scratch);
}

static int fill_new(struct node *node, const char *name, int from, const struct told *told, char *scratch) {
  int to = openat(node->to, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (to < 0) return -errno;
  int failed = copy_content(from, to, told, scratch);
  if (!failed) failed = dress(from, to, told, kept_mode(told), scratch);
  close(to);
  return failed;
}

static int copy_file(struct node *node, const char *name, int named, struct told *told, char *scratch) {
  // Its owner could make it readable for the moment, and that is for others to do.
  if (wish.exact && is_ours(told) && !(told->mode & S_IRUSR)) return LEFT;
  int from = open_named(named, 0);
  if (from < 0) return LEFT;
  int failed = settle(from, told);
  if (!failed) failed = fill_new(node, name, from, told, scratch);
  close(from);
  return failed;
}

static int copy_link(struct node *node, const char *name, int named, struct told *told, char *scratch) {
  char place[300];
  snprintf(place, sizeof place, "/proc/self/fd/%d/%s", node->from, name);
  if (told->links > 1 || (wish.exact && llistxattr(place, NULL, 0) > 0)) return LEFT;
  ssize_t length = readlinkat(named, "", scratch, SCRATCH_BYTES - 1);
  if (length <= 0) return LEFT;
  scratch[length] = 0;
  if (symlinkat(scratch, node->to, name) < 0) return -errno;
  if (wish.uid == 0 && fchownat(node->to, name, uid_of(told), gid_of(told), AT_SYMLINK_NOFOLLOW) < 0) return -errno;
  struct timespec times[2];
  times_of(told, times);
  return utimensat(node->to, name, times, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : MADE;
}

static int copy_named(struct node *node, const char *name, int named, struct told *told, char *scratch) {
  if (!tell(named, told)) return LEFT;
  if (S_ISDIR(told->mode)) return IS_DIRECTORY;
  if (told->mount != wish.mount || is_guarded(told)) return LEFT;
  /* Of a user's folder: it may lead to a repository elsewhere. */
  if (!wish.exact && strcmp(name, ".git") == 0) return LEFT;
  if (S_ISLNK(told->mode)) return copy_link(node, name, named, told, scratch);
  if (!S_ISREG(told->mode)) return LEFT;
  if (told->links > 1) return copy_linked(node, name, told, copy_file, named, scratch);
  return copy_file(node, name, named, told, scratch);
}

int copy_entry(struct node *node, const char *name, struct told *told, char *scratch) {
  int named = openat(node->from, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (named < 0) return errno == ENOENT ? GONE : LEFT;
  int result = copy_named(node, name, named, told, scratch);
  close(named);
  return result;
}
