/* Attacks by sockets. What is sent says who sent it; whether it arrived, the other side knows. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "attack.h"

/* The answer is waited for, so that what is looked at afterwards has happened. */
static void speak(int fd, const char *text) {
  char answer[64];
  struct timeval soon = {.tv_sec = 1};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof soon);
  if (send(fd, text, strlen(text), MSG_NOSIGNAL) < 0) return;
  ssize_t count = recv(fd, answer, sizeof answer, 0);
  (void)count;
}

static socklen_t unix_address(struct sockaddr_un *at, const char *path, bool abstract) {
  *at = (struct sockaddr_un){.sun_family = AF_UNIX};
  snprintf(at->sun_path + abstract, sizeof at->sun_path - abstract, "%s", path);
  return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + abstract + strlen(path));
}

static void connect_unix(const struct arguments *given, bool abstract) {
  struct sockaddr_un at;
  socklen_t length = unix_address(&at, text_of(given, 0), abstract);
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  if (fd >= 0 && connect(fd, (struct sockaddr *)&at, length) == 0) speak(fd, text_of(given, 1));
}

static void by_path(const struct arguments *given) {
  connect_unix(given, false);
}

static void by_name(const struct arguments *given) {
  connect_unix(given, true);
}

/* A pair needs no socket(): one end of a pair of datagrams can still be sent to anybody. */
static void by_pair(const struct arguments *given) {
  struct sockaddr_un at;
  int ends[2];
  socklen_t length = unix_address(&at, text_of(given, 0), false);
  if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) < 0) return;
  const char *text = text_of(given, 1);
  if (sendto(ends[0], text, strlen(text), 0, (struct sockaddr *)&at, length) < 0) return;
}

static void by_tcp(const struct arguments *given) {
  uint16_t port = htons((uint16_t)number_of(given, 1));
  struct sockaddr_in six_or_four = {.sin_family = AF_INET, .sin_port = port};
  struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = port};
  bool is_four = inet_pton(AF_INET, text_of(given, 0), &six_or_four.sin_addr) == 1;
  if (!is_four) inet_pton(AF_INET6, text_of(given, 0), &six.sin6_addr);
  int fd = socket(is_four ? AF_INET : AF_INET6, SOCK_STREAM, 0);
  const void *at = is_four ? (const void *)&six_or_four : (const void *)&six;
  if (fd >= 0 && connect(fd, at, is_four ? sizeof six_or_four : sizeof six) == 0) speak(fd, text_of(given, 2));
}

static void by_udp(const struct arguments *given) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)number_of(given, 1))};
  inet_pton(AF_INET, text_of(given, 0), &at.sin_addr);
  int fd = socket(AF_INET, SOCK_DGRAM, 0);
  if (fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof at) == 0) speak(fd, text_of(given, 2));
}

static void make_socket(const struct arguments *given) {
  int fd = socket((int)number_of(given, 0), (int)number_of(given, 1), (int)number_of(given, 2));
  if (fd < 0) say_done();
  stay();
}

/* Whoever can talk to a supervisor can have it end its sandbox: a STOP without any grace. */
static void stop_box(const struct arguments *given) {
  static const unsigned char stop[] = {9, 0, 0, 0, 12, 7, 0, 0, 0, 0, 0, 0, 0};
  struct sockaddr_un at;
  char answer[64];
  socklen_t length = unix_address(&at, text_of(given, 0), false);
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  if (fd < 0 || connect(fd, (struct sockaddr *)&at, length) < 0) return;
  if (write(fd, stop, sizeof stop) < 0) return;
  while (read(fd, answer, sizeof answer) > 0) continue;
}

/* What happens in a directory: the names of what is made there. */
static void watch(const struct arguments *given) {
  char events[4096];
  int fd = inotify_init1(IN_NONBLOCK);
  if (fd < 0 || inotify_add_watch(fd, text_of(given, 0), IN_CREATE) < 0) stay();
  say_done();
  struct pollfd ready = {.fd = fd, .events = POLLIN};
  if (poll(&ready, 1, 3000) <= 0) return;
  ssize_t count = read(fd, events, sizeof events);
  if (count > 0) keep(events, (size_t)count);
}

const struct attack network_attacks[] = {
    {"unix", by_path}, {"abstract", by_name}, {"unix-pair", by_pair}, {"tcp", by_tcp},     {"udp", by_udp},
    {"socket", make_socket}, {"stop-box", stop_box}, {"watch", watch}, {NULL, NULL},
};
