/* The way out of an allow-listed box: a program of ours outside that accepts on a socket inside. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "box.h"
#include "../common/kernel.h"
#include "../common/procs.h"

#define SOCKET_FD 3
#define LOG_FD 4
#define SETTINGS_FD 5
/* A proxy that ends at once is not started again and again. */
#define AGAIN_AFTER_MS 1000
/* How long it may take to write down what was under way when its box ends. */
#define LAST_LINES_MS 100

static int option(int fd, int name) {
  int value = -1;
  socklen_t length = sizeof value;
  return getsockopt(fd, SOL_SOCKET, name, &value, &length) < 0 ? -1 : value;
}

/* Whoever sent it is not trusted: it must be what was asked for. */
bool proxy_receive(int fd) {
  struct sockaddr_in at;
  socklen_t length = sizeof at;
  if (option(fd, SO_DOMAIN) != AF_INET || option(fd, SO_TYPE) != SOCK_STREAM || option(fd, SO_ACCEPTCONN) != 1)
    return false;
  if (getsockname(fd, (struct sockaddr *)&at, &length) < 0 || length != sizeof at) return false;
  if (at.sin_addr.s_addr != htonl(INADDR_LOOPBACK) || at.sin_port != htons(box.spec.port)) return false;
  if (!set_nonblocking(fd)) return false;
  box.proxy_socket = fd;
  return true;
}

extern char **environ;

/* The kernel forgets the signal when the program becomes another user; from then on the end of `life` is all it has. */
_Noreturn static void run_proxy(pid_t parent, int life) {
  reset_signals();
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent) _exit(1);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) _exit(1);
  int socket = fcntl(box.proxy_socket, F_DUPFD_CLOEXEC, 10);
  int log = fcntl(box.proxy_log, F_DUPFD_CLOEXEC, 10);
  int settings = box.spec.settings < 0 ? -1 : fcntl(box.spec.settings, F_DUPFD_CLOEXEC, 10);
  if (socket < 0 || log < 0 || dup2(life, 0) < 0 || dup2(socket, SOCKET_FD) < 0 || dup2(log, LOG_FD) < 0) _exit(1);
  if (settings >= 0 && dup2(settings, SETTINGS_FD) < 0) _exit(1);
  if (sys_close_range(settings < 0 ? SETTINGS_FD : SETTINGS_FD + 1, ~0u, 0) < 0) _exit(1);
  if (!restore_file_limit()) _exit(1);
  execve(box.spec.proxy.list[0], box.spec.proxy.list, environ);
  _exit(127);
}

void proxy_start(void) {
  int life[2];
  box.proxy_after = now_ms() + AGAIN_AFTER_MS;
  log_open();
  if (pipe2(life, O_CLOEXEC) < 0) return;
  pid_t parent = getpid();
  pid_t pid = fork();
  if (pid == 0) run_proxy(parent, life[0]);
  close(life[0]);
  box.proxy_life = life[1];
  if (pid > 0) box.proxy = pid;
  else close_fd(&box.proxy_life);
}

void proxy_ended(void) {
  box.proxy = 0;
  close_fd(&box.proxy_life);
}

void proxy_warn(void) {
  if (box.proxy > 0) kill(box.proxy, SIGTERM);
}

void proxy_finish(void) {
  if (box.proxy == 0) return;
  for (int64_t until = now_ms() + LAST_LINES_MS; waitpid(box.proxy, NULL, WNOHANG) == 0; pause_ms(1)) {
    if (now_ms() < until) continue;
    kill(box.proxy, SIGKILL);
    break;
  }
  proxy_ended();
}
