/* Attacks on other processes, and the process that they are tried on. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"

#define PLANTED 0x41414141L
#define SECRET_FD 9

/* Somebody else's process: says where a number is that nobody else has to change, and tells when it was changed. */
static volatile long word;

static void canary(const struct arguments *given) {
  int secret = open(text_of(given, 1), O_RDWR);
  if (secret >= 0) dup2(secret, SECRET_FD);
  printf("%d %lu\n", (int)getpid(), (unsigned long)(uintptr_t)&word);
  fflush(stdout);
  for (int turn = 0; turn < 12000 && !word; turn++) usleep(5000);
  if (!word) _exit(0);
  int fd = open(text_of(given, 0), O_WRONLY | O_CREAT, 0644);
  if (fd >= 0) close(fd);
  sleep(30);
}

static bool poke(pid_t pid, const struct arguments *given) {
  if (ptrace(PTRACE_ATTACH, pid, 0, 0) < 0) return false;
  waitpid(pid, NULL, __WALL);
  ptrace(PTRACE_POKEDATA, pid, (void *)number_of(given, 1), (void *)PLANTED);
  return ptrace(PTRACE_DETACH, pid, 0, 0) == 0;
}

static bool write_memory(pid_t pid, const struct arguments *given) {
  long planted = PLANTED;
  struct iovec from = {&planted, sizeof planted}, to = {(void *)number_of(given, 1), sizeof planted};
  return process_vm_writev(pid, &from, 1, &to, 1, 0) > 0;
}

static bool write_mem_file(pid_t pid, const struct arguments *given) {
  char path[40];
  long planted = PLANTED;
  snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
  int fd = open(path, O_RDWR);
  bool written = fd >= 0 && pwrite(fd, &planted, sizeof planted, number_of(given, 1)) > 0;
  if (fd >= 0) close(fd);
  return written;
}

static bool take_descriptor(pid_t pid, const struct arguments *given) {
  char text[256];
  int handle = (int)syscall(SYS_pidfd_open, pid, 0);
  int fd = handle < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, handle, number_of(given, 1), 0);
  if (handle >= 0) close(handle);
  if (fd < 0) return false;
  ssize_t count = pread(fd, text, sizeof text, 0);
  if (count > 0) keep(text, (size_t)count);
  /* A socket that is not ours: whoever holds the other end must not be led to believe us. */
  else if (write(fd, "\377\377\377\377", 4) < 0) return false;
  return true;
}

static bool send_signals(pid_t pid, const struct arguments *given) {
  (void)given;
  int handle = (int)syscall(SYS_pidfd_open, pid, 0);
  if (handle >= 0) syscall(SYS_pidfd_send_signal, handle, SIGKILL, NULL, 0);
  syscall(SYS_tgkill, pid, pid, SIGKILL);
  return kill(pid, SIGKILL) == 0;
}

/* All that the first process of a sandbox could be made to stop by. */
static bool send_all_signals(pid_t pid, const struct arguments *given) {
  (void)given;
  for (int signal = 1; signal < 32; signal++)
    if (signal != SIGCHLD) kill(pid, signal);
  return true;
}

/* The kernel sends the signal itself, to whom the owner of a pipe has named. */
static bool signal_by_pipe(pid_t pid, const struct arguments *given) {
  (void)given;
  int ends[2];
  if (pipe(ends) < 0) return false;
  fcntl(ends[0], F_SETOWN, pid);
  fcntl(ends[0], F_SETSIG, SIGKILL);
  fcntl(ends[0], F_SETFL, fcntl(ends[0], F_GETFL) | O_ASYNC);
  bool written = write(ends[1], "x", 1) == 1;
  close(ends[0]);
  close(ends[1]);
  return written;
}

static bool limit_other(pid_t pid, const struct arguments *given) {
  (void)given;
  struct rlimit limit = {.rlim_cur = 7, .rlim_max = 7};
  return syscall(SYS_prlimit64, pid, RLIMIT_NOFILE, &limit, NULL) == 0;
}

static bool slow_other(pid_t pid, const struct arguments *given) {
  (void)given;
  return setpriority(PRIO_PROCESS, (id_t)pid, 7) == 0;
}

/* While a program runs it cannot be written; held by a handle until its process has ended, it can. */
static bool overwrite_program(pid_t pid, const struct arguments *given) {
  (void)given;
  char path[40];
  snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
  int held = open(path, O_PATH);
  if (held < 0) return false;
  kill(pid, SIGKILL);
  snprintf(path, sizeof path, "/proc/self/fd/%d", held);
  for (int turn = 0; turn < 40; turn++) {
    int fd = open(path, O_WRONLY);
    if (fd >= 0) {
      bool written = pwrite(fd, "planted!", 8, 0) == 8;
      close(fd);
      close(held);
      return written;
    }
    if (errno != ETXTBSY) break;
    usleep(5000);
  }
  close(held);
  return false;
}

#define ON_PROCESS(name, act) \
  static void name(const struct arguments *given) { try_processes(given, act); }

ON_PROCESS(attach, poke)
ON_PROCESS(vm_write, write_memory)
ON_PROCESS(mem_file, write_mem_file)
ON_PROCESS(get_descriptor, take_descriptor)
ON_PROCESS(signals, send_signals)
ON_PROCESS(every_signal, send_all_signals)
ON_PROCESS(pipe_signal, signal_by_pipe)
ON_PROCESS(limits, limit_other)
ON_PROCESS(priority, slow_other)
ON_PROCESS(program, overwrite_program)

static void shared_memory(const struct arguments *given) {
  char *at = shmat((int)number_of(given, 0), NULL, 0);
  if (at != (void *)-1) memcpy(at, "planted", 8);
}

const struct attack process_attacks[] = {
    {"canary", canary},          {"ptrace", attach},          {"vm-write", vm_write}, {"mem-file", mem_file},
    {"get-fd", get_descriptor},  {"signal", signals},         {"every-signal", every_signal},
    {"pipe-signal", pipe_signal}, {"limits", limits},         {"priority", priority}, {"program", program},
    {"shared-memory", shared_memory}, {NULL, NULL},
};
