/* A command between fork and exec: nothing of init is left in it when it runs. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "init.h"

#define REPORT_FD 3
#define SECCOMP_MODE 2

_Noreturn static void refuse(int report, const char *step) {
  struct refusal refusal = {.error = errno};
  snprintf(refusal.step, sizeof refusal.step, "%s", step);
  write_all(report, &refusal, sizeof refusal);
  _exit(127);
}

static void set_limits(const struct command *command, int report) {
  if (!restore_file_limit()) refuse(report, "limit");
  for (size_t at = 0; at < command->limit_count; at++) {
    struct rlimit limit;
    if (getrlimit(command->limits[at].resource, &limit) < 0) refuse(report, "limit");
    /* One that is stricter already stays. */
    rlim_t value = command->limits[at].value < limit.rlim_max ? command->limits[at].value : limit.rlim_max;
    limit = (struct rlimit){.rlim_cur = value, .rlim_max = value};
    if (setrlimit(command->limits[at].resource, &limit) < 0) refuse(report, "limit");
  }
}

static void take_ends(const struct command *command, const int ends[3], int report) {
  if (command->terminal && ioctl(ends[0], TIOCSCTTY, 0) < 0) refuse(report, "terminal");
  for (int at = 0; at < 3; at++) {
    int end = command->terminal ? ends[0] : ends[at];
    if (dup2(end, at) < 0) refuse(report, "descriptors");
  }
}

/* Guarded: the ruleset first, as the filter may forbid what it takes to apply one. */
static void enter_walls(int report) {
  if (init.level != LEVEL_GUARDED) return;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) refuse(report, "no new privileges");
  if (sys_landlock_restrict_self(init.landlock) < 0) refuse(report, "landlock");
}

static void enter_filter(int report) {
  if (init.filter.length == 0) return;
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE, &init.filter) < 0) refuse(report, "seccomp");
}

/* The command's own PATH counts; an empty part of it is nothing, and not the directory it starts in. */
static void run(const struct command *command) {
  const char *name = command->arguments[0];
  int error = ENOENT;
  if (strchr(name, '/') || !*name) {
    execve(name, command->arguments, command->environment);
    return;
  }
  for (const char *part = command->path; part;) {
    char file[4096];
    const char *colon = strchr(part, ':');
    int length = colon ? (int)(colon - part) : (int)strnlen(part, sizeof file);
    int whole = snprintf(file, sizeof file, "%.*s/%s", length, part, name);
    part = colon ? colon + 1 : NULL;
    if (length == 0 || whole >= (int)sizeof file) continue;
    execve(file, command->arguments, command->environment);
    if (errno == EACCES) error = EACCES;
    else if (errno != ENOENT && errno != ENOTDIR) return;
  }
  errno = error;
}

void run_command(const struct command *command, const int ends[3], int report) {
  reset_signals();
  wait_for_thaw();
  if (setsid() < 0) refuse(report, "session");
  take_ends(command, ends, report);
  if (report != REPORT_FD && dup3(report, REPORT_FD, O_CLOEXEC) < 0) refuse(report, "descriptors");
  report = REPORT_FD;
  if (chdir(command->directory) < 0) refuse(report, "chdir");
  set_limits(command, report);
  enter_walls(report);
  if (sys_close_range(REPORT_FD + 1, ~0u, 0) < 0) refuse(report, "descriptors");
  enter_filter(report);
  run(command);
  refuse(report, "exec");
}
