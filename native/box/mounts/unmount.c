#include "unmount.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../common/common.h"

/* Undone is what is wanted: the process may have ended, and what is mounted gone with it. */
static bool is_gone(int error) { return error == ENOENT || error == ESRCH || error == EINVAL; }

/* A number may be another process's by now: the namespace has to be the one that was looked at. */
static int enter(uint64_t process, uint64_t inode) {
  char path[64];
  struct stat found;
  snprintf(path, sizeof path, "/proc/%llu/ns/mnt", (unsigned long long)process);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  int entered = -1;
  if (fstat(fd, &found) == 0 && (uint64_t)found.st_ino != inode) errno = ESRCH;
  else entered = setns(fd, CLONE_NEWNS);
  close_fd(&fd);
  return entered;
}

/* The arguments are the path, and for each namespace a process that is in it and the number of the namespace. */
int unmount(int count, char **arguments) {
  for (int at = 1; at + 1 < count; at += 2) {
    uint64_t process, inode;
    if (!parse_number(arguments[at], UINT32_MAX, &process)) return 2;
    if (!parse_number(arguments[at + 1], UINT64_MAX, &inode)) return 2;
    if (enter(process, inode) < 0) {
      if (!is_gone(errno)) return 1;
    } else if (umount2(arguments[0], MNT_DETACH | UMOUNT_NOFOLLOW) < 0 && !is_gone(errno)) return 1;
  }
  return 0;
}
