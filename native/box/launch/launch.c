#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/kernel.h"
#include "stage.h"

#define INIT_SOCKET 3

static int report = -1;

void fail_launch(int error, const char *what, const char *name) {
  struct failure failure = {.error = error};
  snprintf(failure.text, sizeof failure.text, "%s%s%s: %s", what, *name ? " " : "", name, error_text(error));
  write_all(report, &failure, sizeof failure);
  _exit(1);
}

/* The kernel ends this process when the supervisor dies; a change of user takes that back, so it is said again. */
static void die_with_parent(pid_t parent) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0) fail_launch(errno, "prctl", "");
  if (getppid() != parent) _exit(1);
}

static void join_cgroup(const char *path) {
  int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0 || !write_all(fd, "0", 1)) fail_launch(errno, "joining the cgroup", path);
  close(fd);
}

/* Of version 2 of cgroups, the directory of such a file; else -1. */
static int open_unified(const char *file) {
  char path[4096];
  struct statfs facts;
  const char *slash = strrchr(file, '/');
  size_t length = (size_t)(slash - file);
  if (length >= sizeof path) return -1;
  memcpy(path, file, length);
  path[length] = 0;
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd >= 0 && (fstatfs(fd, &facts) < 0 || facts.f_type != CGROUP2_SUPER_MAGIC)) close_fd(&fd);
  return fd;
}

/*
 * A process that moves to another group waits until nobody on the machine is forking or ending, for many milliseconds.
 * One that is born in it does not. Where that is not allowed, it moves. Answers which of the files is done with.
 */
static pid_t start_process(const struct spec *spec, size_t *born_in) {
  for (*born_in = 0; *born_in < spec->join.count; ++*born_in) {
    int group = open_unified(spec->join.list[*born_in]);
    if (group < 0) continue;
    struct clone_arguments how = {.flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (uint64_t)group};
    pid_t pid = sys_clone3(&how);
    close(group);
    if (pid >= 0) return pid;
  }
  return fork();
}

static void become(const struct spec *spec) {
  if (setgroups(0, NULL) < 0) fail_launch(errno, "leaving all groups", "");
  if (setresgid(spec->gid, spec->gid, spec->gid) < 0) fail_launch(errno, "changing the group", "");
  if (setresuid(spec->uid, spec->uid, spec->uid) < 0) fail_launch(errno, "changing the user", "");
}

/* Descriptors 0 to 2, the socket, the handles and nothing else. */
static void arrange_descriptors(const struct spec *spec, int socket) {
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0) fail_launch(errno, "opening", "/dev/null");
  int kept = fcntl(report, F_DUPFD_CLOEXEC, INIT_SOCKET + 1);
  if (kept < 0) fail_launch(errno, "keeping the pipe", "");
  report = kept;
  if (dup2(socket, INIT_SOCKET) < 0) fail_launch(errno, "passing the socket", "");
  if (socket == INIT_SOCKET && !set_cloexec(socket, false)) fail_launch(errno, "passing the socket", "");
  int last = INIT_SOCKET;
  for (int fd; (fd = next_above(spec->handles, spec->handle_count, last)) > 0; last = fd) {
    if (fd > last + 1 && sys_close_range((unsigned)last + 1, (unsigned)fd - 1, CLOSE_RANGE_CLOEXEC) < 0)
      fail_launch(errno, "close_range", "");
    if (!set_cloexec(fd, false)) fail_launch(errno, "passing a handle", "");
  }
  if (sys_close_range((unsigned)last + 1, ~0u, CLOSE_RANGE_CLOEXEC) < 0) fail_launch(errno, "close_range", "");
}

_Noreturn static void run_walls(const struct spec *spec, int socket, pid_t parent, size_t born_in) {
  static char *empty[] = {NULL};
  die_with_parent(parent);
  reset_signals();
  umask(022);
  /* The supervisor is not; what follows writes to files of its own in /proc. */
  if (prctl(PR_SET_DUMPABLE, 1) < 0) fail_launch(errno, "prctl", "");
  for (size_t at = 0; at < spec->join.count; at++)
    if (at != born_in) join_cgroup(spec->join.list[at]);
  if (spec->own_user_namespace) enter_user_namespace();
  if (spec->stage) make_stage(spec);
  arrange_descriptors(spec, socket);
  if (spec->changes_user) become(spec);
  die_with_parent(parent);
  if (!restore_file_limit()) fail_launch(errno, "setrlimit", "");
  execve(spec->walls.list[0], spec->walls.list, spec->environment.list ? spec->environment.list : empty);
  fail_launch(errno, "running", spec->walls.list[0]);
}

int launch(const struct spec *spec, int socket, pid_t *pid, struct failure *failure) {
  int pipe[2];
  *failure = (struct failure){.text = "starting a process"};
  if (pipe2(pipe, O_CLOEXEC) < 0) {
    failure->error = errno;
    return -1;
  }
  pid_t parent = getpid();
  size_t born_in;
  *pid = start_process(spec, &born_in);
  if (*pid == 0) {
    close(pipe[0]);
    report = pipe[1];
    run_walls(spec, socket, parent, born_in);
  }
  failure->error = errno;
  close(pipe[1]);
  ssize_t count = 0;
  struct failure told;
  if (*pid > 0)
    do count = read(pipe[0], &told, sizeof told);
    while (count < 0 && errno == EINTR);
  close(pipe[0]);
  if (*pid > 0 && count == 0) return 0;
  if (count == (ssize_t)sizeof told) *failure = told;
  if (*pid > 0) {
    kill(*pid, SIGKILL);
    waitpid(*pid, NULL, 0);
  }
  return -1;
}
