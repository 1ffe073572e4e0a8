/*
 * A thread that waits for its child to run a program or to end (vfork) does not stop: it sleeps in the kernel, and if the
 * child has stopped it does so until that one goes on. But with a SIGSTOP waiting for it, it stops before it runs a single
 * instruction of its own again, and the call that it sleeps in writes nothing. Any other sleep, as for a disk, may be in the
 * middle of a write, and has to be waited for.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/syscall.h>

#include "common.h"
#include "procs.h"

static int read_of(int tasks, pid_t thread, const char *name, char *text, size_t size) {
  char path[32];
  snprintf(path, sizeof path, "%d/%s", (int)thread, name);
  return read_small(tasks, path, text, size);
}

static bool has_bit(const char *status, const char *field, int signal) {
  const char *at = strstr(status, field);
  return at && strtoull(at + strlen(field), NULL, 16) >> (signal - 1) & 1;
}

static bool stop_waits(int tasks, pid_t thread) {
  char status[4096];
  if (read_of(tasks, thread, "status", status, sizeof status) <= 0) return false;
  return has_bit(status, "\nSigPnd:\t", SIGSTOP) || has_bit(status, "\nShdPnd:\t", SIGSTOP);
}

static bool is_fork(long call) {
#ifdef SYS_vfork
  if (call == SYS_vfork) return true;
#endif
  return call == SYS_clone || call == SYS_clone3;
}

bool waits_for_child(int tasks, pid_t thread, bool guess) {
  char text[256];
  if (!stop_waits(tasks, thread)) return false;
  /* A program of another word size has other numbers; where it sleeps has the same name. */
  if (read_of(tasks, thread, "syscall", text, sizeof text) > 0 && is_fork(strtol(text, NULL, 10))) return true;
  if (read_of(tasks, thread, "wchan", text, sizeof text) > 0 && strcmp(text, "0") != 0)
    return strcmp(text, "kernel_clone") == 0 || strcmp(text, "_do_fork") == 0;
  return guess && read_of(tasks, thread, "children", text, sizeof text) > 0;
}
