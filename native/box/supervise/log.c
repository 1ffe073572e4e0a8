/* The log of the proxy, which lasts longer than the box: others may write to it, and it never grows without end. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "box.h"

/* Half of what the proxy lets it grow to. */
#define LARGE (32 << 20)

static int open_file(void) {
  return open(box.spec.proxy_log, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
}

/* Whoever puts it aside holds it alone, and it still has its name: so nobody puts aside what has just taken its place. */
static void put_aside(int fd) {
  struct stat held, named;
  char aside[4096];
  if (snprintf(aside, sizeof aside, "%s.1", box.spec.proxy_log) >= (int)sizeof aside) return;
  if (flock(fd, LOCK_EX | LOCK_NB) < 0) return;
  if (fstat(fd, &held) == 0 && lstat(box.spec.proxy_log, &named) == 0 && held.st_dev == named.st_dev &&
      held.st_ino == named.st_ino && held.st_size > LARGE)
    rename(box.spec.proxy_log, aside);
  flock(fd, LOCK_UN);
}

bool log_open(void) {
  int fd = open_file();
  if (fd < 0) return false;
  struct stat found;
  if (fstat(fd, &found) < 0 || !S_ISREG(found.st_mode)) {
    close(fd);
    errno = EINVAL;
    return false;
  }
  if (found.st_size > LARGE) {
    put_aside(fd);
    int fresh = open_file();
    if (fresh >= 0) {
      close(fd);
      fd = fresh;
    }
  }
  close_fd(&box.proxy_log);
  box.proxy_log = fd;
  return true;
}
