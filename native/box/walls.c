/*
 * Run inside a box by `aw doctor`, as any command is: tries what must not succeed, and does no harm where it does. One line
 * for each try: a wall, `held` or `open`, and what was tried; or `untried`, and besides why in brackets.
 */
#include "walls.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/common.h"

static void tell(const char *wall, bool held, const char *what) {
  printf("%s %s %s\n", wall, held ? "held" : "open", what);
}

static unsigned long long status_field(const char *status, const char *name, int base) {
  const char *at = strstr(status, name);
  return at ? strtoull(at + strlen(name), NULL, base) : ~0ull;
}

static void try_user(void) {
  char status[8192] = "";
  read_small(AT_FDCWD, "/proc/self/status", status, sizeof status);
  tell("user", getuid() != 0 && geteuid() != 0, "not root");
  tell("privileges", status_field(status, "CapEff:", 16) == 0, "no capability");
  tell("privileges", status_field(status, "NoNewPrivs:", 10) == 1, "none to be had by a program");
  tell("calls", status_field(status, "\nSeccomp:", 10) == 2, "a filter of system calls");
}

static void try_descriptors(void) {
  DIR *open_files = opendir("/proc/self/fd");
  bool held = open_files != NULL;
  for (struct dirent *entry; open_files && (entry = readdir(open_files));) {
    int fd = atoi(entry->d_name);
    if (*entry->d_name != '.' && fd > 2 && fd != dirfd(open_files)) held = false;
  }
  if (open_files) closedir(open_files);
  tell("descriptors", held, "nothing but 0, 1 and 2 is open");
}

static bool is_refused(long result) {
  return result < 0 && (errno == EPERM || errno == ENOSYS);
}

/* Each is asked for something that could not be done anyway: only a filter refuses it before that is seen. */
static void try_calls(void) {
  char setup[120] = {0};
  tell("mounts", is_refused(mount("none", "/proc/self/nowhere", "tmpfs", 0, NULL)), "nothing can be mounted");
  tell("calls", is_refused(ptrace(PTRACE_ATTACH, 0, 0, 0)), "ptrace");
  tell("calls", is_refused(syscall(SYS_io_uring_setup, 1, setup)), "io_uring");
  tell("calls", is_refused(syscall(SYS_keyctl, 0L, -4L, 0L)), "keys");
  tell("calls", is_refused(syscall(SYS_bpf, 0, setup, sizeof setup)), "bpf");
  tell("calls", is_refused(syscall(SYS_userfaultfd, 1)), "userfaultfd");
  tell("calls", is_refused(ioctl(-1, TIOCSTI, "x")), "typing into a terminal");
}

/* In a child: what it gets must not stay with the rest. */
static bool makes_namespace(void) {
  int state = 0;
  pid_t pid = fork();
  if (pid == 0) _exit(unshare(CLONE_NEWUSER) < 0 ? 0 : 1);
  return pid < 0 || waitpid(pid, &state, 0) != pid || state != 0;
}

static void try_files(const char *outside) {
  int fd = open(outside, O_RDONLY | O_CLOEXEC);
  tell("files", fd < 0, "a file outside cannot be read");
  close_fd(&fd);
  fd = open(outside, O_WRONLY | O_APPEND | O_CLOEXEC);
  tell("files", fd < 0, "nor written");
  close_fd(&fd);
  fd = open("/usr/.aw-walls", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd >= 0) unlink("/usr/.aw-walls");
  tell("files", fd < 0, "nor anything of the system");
  close_fd(&fd);
}

static int connect_to(uint16_t port) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof at) < 0) close_fd(&fd);
  return fd;
}

static bool reaches_log(void) {
  struct sockaddr_un at = {.sun_family = AF_UNIX, .sun_path = "/dev/log"};
  int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  bool reached = fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof at) == 0;
  close_fd(&fd);
  return reached;
}

/* What the proxy says to a request for a port of the host: its status, 0 if nothing. */
static int asked_proxy(uint16_t proxy, unsigned port, char reason[32]) {
  char text[512];
  struct timeval soon = {.tv_sec = 10};
  int fd = connect_to(proxy);
  if (fd < 0) return 0;
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof soon);
  int length = snprintf(text, sizeof text, "CONNECT localhost:%u HTTP/1.1\r\nhost: localhost:%u\r\n\r\n", port, port);
  ssize_t count = write_all(fd, text, (size_t)length) ? read(fd, text, sizeof text - 1) : -1;
  close_fd(&fd);
  text[count > 0 ? count : 0] = 0;
  const char *why = strstr(text, "\r\nX-Aw-Reason: ");
  if (why) sscanf(why, "\r\nX-Aw-Reason: %31[a-z_]", reason);
  return strncmp(text, "HTTP/1.1 ", 9) == 0 ? atoi(text + 9) : 0;
}

/* One that neither lets it through nor refuses it has not looked at its list: it has no room to write, say. */
static void try_proxy(uint16_t proxy, unsigned port, int wanted, const char *what) {
  char reason[32] = "";
  int said = asked_proxy(proxy, port, reason);
  if (said == 200 || said == 403)
    tell("proxy", said == wanted, what);
  else if (said)
    printf("proxy untried %s (the proxy says %d%s%s)\n", what, said, *reason ? " " : "", reason);
  else
    printf("proxy untried %s (no proxy answers)\n", what);
}

static void try_network(uint16_t port, uint16_t proxy) {
  int fd = connect_to(port);
  tell("network", fd < 0, "a service on the loopback of the host cannot be reached");
  close_fd(&fd);
  tell("network", !reaches_log(), "nor its sockets with a path");
  if (!proxy) return;
  try_proxy(proxy, port, 200, "lets through what is on the list");
  try_proxy(proxy, port == 1 ? 2 : 1, 403, "and nothing else");
}

int try_walls(char **given) {
  uint64_t pid, port, proxy;
  if (!parse_number(given[1], INT32_MAX, &pid) || !parse_number(given[2], 65535, &port)) return 2;
  if (!parse_number(given[3], 65535, &proxy)) return 2;
  setvbuf(stdout, NULL, _IOFBF, 4096);
  try_descriptors();
  try_user();
  try_files(given[0]);
  tell("processes", kill((pid_t)pid, 0) < 0, "another process cannot be signalled");
  tell("namespaces", !makes_namespace(), "a user namespace cannot be made");
  try_network((uint16_t)port, (uint16_t)proxy);
  try_calls();
  return fflush(stdout) == 0 ? 0 : 1;
}
