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

/* Ids that a system gives to its users. */
static const uint32_t usual = 65536;

/* One id becomes another. The usual ones stay what they are, if that is not in the way: what belongs to somebody whom the
   mount does not know can be neither replaced nor removed, not even by the owner of the directory. */
static int map_text(char *text, size_t size, uint32_t from, uint32_t to) {
  if (from >= usual || to < usual) return snprintf(text, size, "%u %u 1\n", (unsigned)from, (unsigned)to);
  uint32_t next = from + 1;
  int length = from == 0 ? 0 : snprintf(text, size, "0 0 %u\n", (unsigned)from);
  length += snprintf(text + length, size - (size_t)length, "%u %u 1\n", (unsigned)from, (unsigned)to);
  if (next == usual) return length;
  return length + snprintf(text + length, size - (size_t)length, "%u %u %u\n", (unsigned)next, (unsigned)next, (unsigned)(usual - next));
}

static bool write_map(pid_t pid, const char *file, uint32_t from, uint32_t to) {
  char path[48], text[128];
  snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
  int length = map_text(text, sizeof text, from, to);
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
