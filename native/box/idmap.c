#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch.h"
#include "stage.h"

static bool write_map(pid_t pid, const char *file, uint32_t from, uint32_t to) {
  char path[48], text[48];
  snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
  int length = snprintf(text, sizeof text, "%u %u 1", (unsigned)from, (unsigned)to);
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  bool written = fd >= 0 && write_all(fd, text, (size_t)length);
  close_fd(&fd);
  return written;
}

_Noreturn static void wait_to_be_killed(pid_t parent) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent) _exit(1);
  for (;;) pause();
}

/* A user namespace needs a process in it only until somebody holds a handle of it. */
int id_map_namespace(uint32_t from, uint32_t to) {
  char path[48];
  pid_t parent = getpid();
  pid_t pid = (pid_t)syscall(SYS_clone, (long)(CLONE_NEWUSER | SIGCHLD), 0L, 0L, 0L, 0L);
  if (pid == 0) wait_to_be_killed(parent);
  if (pid < 0) fail_launch(errno, "making a user namespace", "");
  int fd = -1;
  if (write_map(pid, "uid_map", from, to) && write_map(pid, "gid_map", from, to)) {
    snprintf(path, sizeof path, "/proc/%d/ns/user", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
  }
  int error = errno;
  kill(pid, SIGKILL);
  waitpid(pid, NULL, 0);
  if (fd < 0) fail_launch(error, "mapping ids", "");
  return fd;
}
