#include "common.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

int64_t now_us(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return (int64_t)at.tv_sec * 1000000 + at.tv_nsec / 1000;
}

int64_t now_ms(void) {
  return now_us() / 1000;
}

bool parse_number(const char *text, uint64_t most, uint64_t *value) {
  uint64_t sum = 0;
  if (!*text) return false;
  for (; *text; text++) {
    if (*text < '0' || *text > '9') return false;
    uint64_t digit = (uint64_t)(*text - '0');
    if (sum > (UINT64_MAX - digit) / 10) return false;
    sum = sum * 10 + digit;
  }
  if (sum > most) return false;
  *value = sum;
  return true;
}

bool parse_level(const char *text, enum level *level) {
  static const char *const names[] = {"none", "guarded", "namespace"};
  for (int at = 0; at < 3; at++) {
    if (strcmp(text, names[at]) != 0) continue;
    *level = (enum level)at;
    return true;
  }
  return false;
}

uint32_t read_u32(const uint8_t *bytes) {
  return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

void write_u32(uint8_t *bytes, uint32_t value) {
  for (int at = 0; at < 4; at++) bytes[at] = (uint8_t)(value >> (8 * at));
}

bool set_nonblocking(int fd) {
  int flags = fcntl(fd, F_GETFL);
  return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

bool set_cloexec(int fd, bool on) {
  return fcntl(fd, F_SETFD, on ? FD_CLOEXEC : 0) == 0;
}

void close_fd(int *fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

bool write_all(int fd, const void *data, size_t length) {
  const char *at = data;
  while (length > 0) {
    ssize_t count = write(fd, at, length);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    at += count;
    length -= (size_t)count;
  }
  return true;
}

int read_small(int dir, const char *path, char *buffer, size_t size) {
  int fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return -1;
  size_t length = 0;
  ssize_t count = 0;
  while (length + 1 < size) {
    count = read(fd, buffer + length, size - 1 - length);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    length += (size_t)count;
  }
  close(fd);
  if (count < 0) return -1;
  buffer[length] = 0;
  return (int)length;
}

#define FILES_RESERVED 8

static struct rlimit found_files;

static bool allow_files(rlim_t fewer) {
  rlim_t most = found_files.rlim_max;
  struct rlimit limit = {.rlim_cur = most > fewer ? most - fewer : 0, .rlim_max = most};
  return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

bool raise_file_limit(void) {
  return getrlimit(RLIMIT_NOFILE, &found_files) == 0 && allow_files(0);
}

void reserve_files(bool on) {
  allow_files(on ? FILES_RESERVED : 0);
}

bool restore_file_limit(void) {
  return setrlimit(RLIMIT_NOFILE, &found_files) == 0;
}

const char *error_text(int error) {
  static char text[80];
  struct rlimit limit;
  if (error != EMFILE || getrlimit(RLIMIT_NOFILE, &limit) < 0) return strerror(error);
  snprintf(text, sizeof text, "the limit of %llu open files (ulimit -n) is too low",
           (unsigned long long)limit.rlim_cur);
  return text;
}

void reset_signals(void) {
  struct sigaction plain = {.sa_handler = SIG_DFL};
  for (int number = 1; number < _NSIG; number++) sigaction(number, &plain, NULL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
}

int next_above(const int *fds, size_t count, int above) {
  int least = -1;
  for (size_t at = 0; at < count; at++)
    if (fds[at] > above && (least < 0 || fds[at] < least)) least = fds[at];
  return least;
}
