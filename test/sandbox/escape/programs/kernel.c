/* Attacks on parts of the kernel: each makes something and stays, to be looked at from outside. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "attack.h"

/* The first stays where it is, the second tries to get out: who looks sees two namespaces, or one. */
static void in_second(void (*act)(void)) {
  pid_t pid = fork();
  if (pid == 0) {
    act();
    stay();
  }
  /* A filter may have ended it. */
  waitpid(pid, NULL, 0);
  stay();
}

static void by_unshare(void) {
  if (unshare(CLONE_NEWUSER) < 0) errno = 0;
}

static void by_clone(void) {
  pid_t pid = (pid_t)syscall(SYS_clone, (long)(CLONE_NEWUSER | SIGCHLD), 0L, 0L, 0L, 0L);
  if (pid == 0) stay();
}

static void by_clone3(void) {
  struct {
    uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
  } arguments = {.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD};
  pid_t pid = (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments);
  if (pid == 0) stay();
}

#if defined(__x86_64__)
static void by_x32(void) {
  syscall(0x40000000L | SYS_unshare, (long)CLONE_NEWUSER);
}

/* The 32-bit table of calls has other numbers: 310 is unshare. */
static void by_int80(void) {
  long result;
  __asm__ volatile("int $0x80" : "=a"(result) : "a"(310L), "b"((long)CLONE_NEWUSER) : "memory", "r8", "r9", "r10", "r11");
  (void)result;
}
#else
static void by_x32(void) {}
static void by_int80(void) {}
#endif

static void write_file(const char *path, const char *text) {
  int fd = open(path, O_WRONLY);
  if (fd < 0) return;
  ssize_t count = write(fd, text, strlen(text));
  (void)count;
  close(fd);
}

static void become_root_inside(int more) {
  char map[40];
  snprintf(map, sizeof map, "0 %u 1", (unsigned)getuid());
  if (unshare(CLONE_NEWUSER | more) < 0) return;
  write_file("/proc/self/setgroups", "deny");
  write_file("/proc/self/uid_map", map);
}

static void by_mount(void) {
  mkdir("mnt", 0755);
  if (mount("aw-planted", "mnt", "tmpfs", 0, NULL) == 0) return;
  become_root_inside(CLONE_NEWNS);
  mount("aw-planted", "mnt", "tmpfs", 0, NULL);
}

/* The other way to mount, which another filter has to know of. */
static void by_new_mount(void) {
  mkdir("mnt", 0755);
  if (syscall(SYS_fsopen, "tmpfs", 0) < 0) become_root_inside(CLONE_NEWNS);
  int context = (int)syscall(SYS_fsopen, "tmpfs", 0);
  syscall(SYS_fsconfig, context, 1, "source", "aw-planted", 0);
  syscall(SYS_fsconfig, context, 6, NULL, NULL, 0);
  int made = (int)syscall(SYS_fsmount, context, 0, 0);
  syscall(SYS_move_mount, made, "", AT_FDCWD, "mnt", 4);
}

static void packets(void) {
  if (socket(17, 3, 0x300) >= 0) return;
  become_root_inside(CLONE_NEWNET);
  if (socket(17, 3, 0x300) < 0) errno = 0;
}

#define IN_SECOND(name, act) \
  static void name(const struct arguments *given) { (void)given; in_second(act); }
IN_SECOND(user_namespace, by_unshare)
IN_SECOND(user_clone, by_clone)
IN_SECOND(user_clone3, by_clone3)
IN_SECOND(user_x32, by_x32)
IN_SECOND(user_int80, by_int80)
IN_SECOND(mounts, by_mount)
IN_SECOND(new_mounts, by_new_mount)
IN_SECOND(packet_socket, packets)

#define STAYING(name, ...) \
  static void name(const struct arguments *given) { (void)given; __VA_ARGS__; stay(); }
STAYING(io_uring, char setup[120] = {0}; syscall(SYS_io_uring_setup, 4, setup))
STAYING(bpf_map, uint32_t map[32] = {1, 4, 4, 1}; syscall(SYS_bpf, 0, map, sizeof map))
/* A counter of its own time, in user mode: the kernel's part is forbidden to most anyway. */
STAYING(perf, uint64_t event[16] = {1 | 128ULL << 32, 0, 0, 0, 0, 0x61}; syscall(SYS_perf_event_open, event, 0, -1, -1, 0))
STAYING(fault_handler, syscall(SYS_userfaultfd, 1))

static void host_name(const struct arguments *given) {
  (void)given;
  if (sethostname("aw-planted", 10) < 0) return;
}

static void set_time(const struct arguments *given) {
  struct timespec now;
  (void)given;
  clock_gettime(CLOCK_REALTIME, &now);
  now.tv_sec += 5;
  clock_settime(CLOCK_REALTIME, &now);
  struct timeval other = {.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
  settimeofday(&other, NULL);
}

static void make_device(const struct arguments *given) {
  (void)given;
  if (mknod("device", S_IFCHR | 0666, makedev(1, 5)) < 0) become_root_inside(CLONE_NEWNS);
  mknod("device", S_IFCHR | 0666, makedev(1, 5));
}

static void open_devices(const struct arguments *given) {
  for (int at = 0; at < given->count; at++)
    if (open(given->list[at], O_RDWR | O_NONBLOCK | O_NOCTTY) < 0 &&
        open(given->list[at], O_RDONLY | O_NONBLOCK | O_NOCTTY) < 0)
      continue;
  stay();
}

/* A key in the keys of the user, which all of that user's processes have. */
static void add_key(const struct arguments *given) {
  long key = syscall(SYS_add_key, "user", text_of(given, 0), "planted", 7L, -4L);
  /* It goes by itself. */
  if (key > 0) syscall(SYS_keyctl, 15L, key, 20L);
  stay();
}

static void type_into(const struct arguments *given) {
  setsid();
  int fd = open(text_of(given, 0), O_RDWR);
  for (const char *at = "planted\n"; fd >= 0 && *at; at++) ioctl(fd, 0x5412, at);
}

static void dump_core(const struct arguments *given) {
  (void)given;
  struct rlimit all = {.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
  if (setrlimit(RLIMIT_CORE, &all) < 0 && getrlimit(RLIMIT_CORE, &all) == 0) {
    all.rlim_cur = all.rlim_max;
    setrlimit(RLIMIT_CORE, &all);
  }
  abort();
}

const struct attack kernel_attacks[] = {
    {"user-namespace", user_namespace},
    {"user-clone", user_clone},
    {"user-clone3", user_clone3},
    {"user-x32", user_x32},
    {"user-int80", user_int80},
    {"mounts", mounts},
    {"new-mounts", new_mounts},
    {"packet-socket", packet_socket},
    {"io-uring", io_uring},
    {"bpf", bpf_map},
    {"perf", perf},
    {"userfaultfd", fault_handler},
    {"hostname", host_name},
    {"time", set_time},
    {"make-device", make_device},
    {"open-devices", open_devices},
    {"key", add_key},
    {"tiocsti", type_into},
    {"core", dump_core},
    {NULL, NULL},
};
