#include "procs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common.h"
#include "kernel.h"

#define PROCS_MOST (4u << 20)
/* Spreads what it is multiplied with over all bits. */
#define PRIME 0x100000001b3ull
/* How often there may be nothing to kill, though children are left, until they are taken for such that cannot be. */
#define IDLE_MOST 64
#define LOOK_EVERY 16

static bool is_number(const char *name) {
  return *name >= '1' && *name <= '9';
}

/* The name of a program may hold anything, also blanks and brackets: what follows its last bracket counts. */
static bool parse_stat(const char *text, struct proc *proc) {
  enum { STATE = 3, PARENT = 4, SESSION = 6, THREADS = 20, STARTED = 22 };
  const char *at = strrchr(text, ')');
  if (!at || at[1] != ' ') return false;
  *proc = (struct proc){.pid = (pid_t)strtol(text, NULL, 10), .state = at[2]};
  at += 2;
  for (int field = STATE; field < STARTED; field++) {
    at = strchr(at, ' ');
    if (!at) return false;
    at++;
    if (field + 1 == PARENT) proc->parent = (pid_t)strtol(at, NULL, 10);
    if (field + 1 == SESSION) proc->session = (pid_t)strtol(at, NULL, 10);
    if (field + 1 == THREADS) proc->threads = (int)strtol(at, NULL, 10);
  }
  proc->started = strtoull(at, NULL, 10);
  return true;
}

static bool read_proc(int dir, const char *path, struct proc *proc) {
  char text[1024];
  return read_small(dir, path, text, sizeof text) > 0 && parse_stat(text, proc);
}

static bool add(struct procs *procs, const struct proc *proc) {
  if (procs->count == procs->room) {
    size_t room = procs->room ? procs->room * 2 : 256;
    struct proc *list = room <= PROCS_MOST ? realloc(procs->list, room * sizeof *list) : NULL;
    if (!list) return false;
    procs->list = list;
    procs->room = room;
  }
  procs->list[procs->count++] = *proc;
  return true;
}

static bool read_all(struct procs *procs, int dir) {
  int copy = fcntl(dir, F_DUPFD_CLOEXEC, 3);
  DIR *entries = copy < 0 ? NULL : fdopendir(copy);
  if (!entries) {
    close_fd(&copy);
    return false;
  }
  bool whole = true;
  for (struct dirent *entry; whole && (entry = readdir(entries));) {
    char path[300];
    struct proc proc;
    if (!is_number(entry->d_name)) continue;
    snprintf(path, sizeof path, "%s/stat", entry->d_name);
    if (read_proc(dir, path, &proc)) whole = add(procs, &proc);
  }
  closedir(entries);
  return whole;
}

static int by_pid(const void *one, const void *other) {
  pid_t left = ((const struct proc *)one)->pid, right = ((const struct proc *)other)->pid;
  return (left > right) - (left < right);
}

static void mark_below(struct procs *procs) {
  pid_t self = getpid();
  for (bool more = true; more;) {
    more = false;
    for (size_t at = 0; at < procs->count; at++) {
      struct proc *proc = &procs->list[at];
      if (proc->below || proc->pid == self) continue;
      struct proc key = {.pid = proc->parent};
      struct proc *parent = bsearch(&key, procs->list, procs->count, sizeof key, by_pid);
      if (proc->parent != self && !(parent && parent->below)) continue;
      proc->below = more = true;
    }
  }
}

/* Its first thread may have ended, and looks as if it all had, while others go on. */
static bool has_ended(const struct proc *proc) {
  return proc->state == 'X' || (proc->state == 'Z' && proc->threads <= 1);
}

bool procs_read(struct procs *procs) {
  *procs = (struct procs){0};
  int dir = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (dir < 0) return false;
  bool whole = read_all(procs, dir);
  close(dir);
  if (!whole) {
    procs_free(procs);
    errno = ENOMEM;
    return false;
  }
  if (procs->count > 0) qsort(procs->list, procs->count, sizeof *procs->list, by_pid);
  mark_below(procs);
  size_t kept = 0;
  for (size_t at = 0; at < procs->count; at++) {
    struct proc proc = procs->list[at];
    if (proc.below) procs->mark = (procs->mark ^ proc.started ^ (unsigned)proc.pid ^ (unsigned char)proc.state) * PRIME;
    if (proc.below && !has_ended(&proc)) procs->list[kept++] = proc;
  }
  procs->count = kept;
  return true;
}

void procs_free(struct procs *procs) {
  free(procs->list);
  *procs = (struct procs){0};
}

static enum signalled signal_result(int result) {
  if (result == 0) return SIGNAL_SENT;
  return errno == EPERM ? SIGNAL_FORBIDDEN : SIGNAL_GONE;
}

enum signalled proc_signal(const struct proc *proc, int signal) {
  int fd = sys_pidfd_open(proc->pid);
  /* A filter around init may forbid handles of processes. There, numbers are those of the box alone. */
  if (fd < 0) return errno == ESRCH ? SIGNAL_GONE : signal_result(kill(proc->pid, signal));
  char path[32];
  struct proc now;
  snprintf(path, sizeof path, "/proc/%d/stat", (int)proc->pid);
  bool same = read_proc(AT_FDCWD, path, &now) && now.started == proc->started;
  enum signalled result = same ? signal_result(sys_pidfd_send_signal(fd, signal)) : SIGNAL_GONE;
  close(fd);
  return result;
}

bool proc_stopped(const struct proc *proc, bool guess) {
  char path[32];
  snprintf(path, sizeof path, "/proc/%d/task", (int)proc->pid);
  int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (dir < 0) return errno == ENOENT;
  struct procs threads = {0};
  bool stopped = read_all(&threads, dir);
  for (size_t at = 0; stopped && at < threads.count; at++) {
    const struct proc *thread = &threads.list[at];
    stopped = strchr("TtZX", thread->state) || (thread->state == 'D' && waits_for_child(dir, thread->pid, guess));
  }
  close(dir);
  procs_free(&threads);
  return stopped;
}

bool reap_all(void) {
  pid_t pid;
  do pid = waitpid(-1, NULL, WNOHANG);
  while (pid > 0);
  return pid < 0 && errno == ECHILD;
}

void pause_ms(long ms) {
  nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* How many there were; those that may not be signalled do not count. */
static size_t signal_below(int signal) {
  struct procs procs;
  if (!procs_read(&procs)) return 0;
  size_t count = 0;
  for (size_t at = 0; at < procs.count; at++) count += proc_signal(&procs.list[at], signal) != SIGNAL_FORBIDDEN;
  procs_free(&procs);
  return count;
}

size_t signal_children(int signal) {
  static int file = -1;
  char text[65536];
  if (file < 0) {
    char path[48];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    file = open(path, O_RDONLY | O_CLOEXEC);
  }
  ssize_t length = file < 0 ? -1 : pread(file, text, sizeof text - 1, 0);
  if (length <= 0) return 0;
  text[length] = 0;
  size_t count = 0;
  char *rest = text;
  for (long pid; (pid = strtol(rest, &rest, 10)) > 0;) count += kill((pid_t)pid, signal) == 0;
  return count;
}

/*
 * What is below comes up, one by one, as those above it end: so the children are killed until there are none. All are
 * looked for only now and then, where the kernel does not tell the children: a process that makes another and ends at once
 * is gone before the look at it is over.
 */
void kill_all_below(void) {
  if (reap_all()) return;
  /* Stopped first: what is killed makes room for more, what is stopped does not. */
  for (size_t last = 0, pass = 0; pass < 20; pass++) {
    size_t count = signal_below(SIGSTOP);
    if (count == last) break;
    last = count;
  }
  for (int turn = 1, idle = 0; idle < IDLE_MOST; turn++) {
    size_t count = signal_children(SIGKILL);
    if (turn % LOOK_EVERY == 0) count += signal_below(SIGKILL);
    if (reap_all()) return;
    idle = count > 0 ? 0 : idle + 1;
    if (turn > 4 * LOOK_EVERY) pause_ms(turn < 20 * LOOK_EVERY ? 1 : 20);
  }
}
