#include "call.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_FRAME, OUT_FRAME, ERR_FRAME };

static char buffer[65536];
static size_t begin, end;

static int is_silent(int fd) {
  struct pollfd ready = { .fd = fd, .events = POLLIN };

  for (;;) {
    int count = poll(&ready, 1, SILENCE_MS);

    if (count != -1 || errno != EINTR)
      return count == 0;
  }
}

/* 1 if there is something in the buffer now. */
static int more(int fd) {
  for (;;) {
    ssize_t count = read(fd, buffer, sizeof buffer);

    if (count == -1 && errno == EINTR)
      continue;
    begin = 0;
    end = count > 0 ? (size_t)count : 0;
    return end > 0;
  }
}

static int next_byte(int fd) {
  if (begin == end && !more(fd))
    return -1;
  return (unsigned char)buffer[begin++];
}

/* The lines of the head, to the empty one. */
enum taken is_taken(int fd) {
  static const char version[] = "HTTP/1.", status[] = " 200 ";
  char head[16] = { 0 };
  size_t length = 0;
  int line_ends = 0;

  while (line_ends < 2) {
    int byte;

    if (begin == end && is_silent(fd))
      return SILENT;
    byte = next_byte(fd);
    if (byte == -1)
      return LEFT;
    if (length < sizeof head - 1)
      head[length++] = (char)byte;
    if (byte == '\n')
      line_ends += 1;
    else if (byte != '\r')
      line_ends = 0;
  }
  /* HTTP/1.x 200 */
  if (strncmp(head, version, sizeof version - 1) != 0 || strncmp(head + sizeof version, status, sizeof status - 1) != 0)
    return LEFT;
  return TAKEN;
}

/* 0 if nobody reads it any more; a full disk is told as such. */
static int write_all(int fd, const char *bytes, size_t length, int *failure) {
  while (length > 0) {
    ssize_t count = write(fd, bytes, length);

    if (count == -1 && errno == EAGAIN) {
      struct pollfd ready = { .fd = fd, .events = POLLOUT };

      poll(&ready, 1, -1);
      continue;
    }
    if (count == -1 && errno == EINTR)
      continue;
    if (count <= 0) {
      *failure = errno;
      return 0;
    }
    bytes += count;
    length -= (size_t)count;
  }
  return 1;
}

/* The same form as every other error of the command line. */
static int complain(int json, int exit_code, const char *code, const char *message, const char *hint) {
  if (json)
    fprintf(stderr, "{\"code\":\"%s\",\"message\":\"%s\",\"hint\":\"%s\",\"data\":{}}\n", code, message, hint);
  else
    fprintf(stderr, "aw: %s\n  hint: %s\n", message, hint);
  return exit_code;
}

static int broken_off(int json) {
  return complain(json, 1, "daemon_unavailable", "The daemon ended before it had answered",
      "What was asked for may have been done all the same: see aw events");
}

int tell_of_silence(int json) {
  return complain(json, 1, "daemon_unavailable", "The daemon does not answer",
      "See whether it runs: aw serve --status; what was asked for may still be done: see aw events");
}

/* What was asked for has been done all the same. */
static int cannot_show(int json, int failure, int code) {
  if (failure == EPIPE)
    return code;
  if (failure == ENOSPC)
    return complain(json, 7, "disk_full", "The output could not be written: the disk that it goes to is full",
        "Make room there, or send it elsewhere; what was asked for was done: see aw events");
  return complain(json, 1, "filesystem_error", strerror(failure), "Nobody could be told what came of it: see aw events");
}

/* Also when nobody reads it any more: who closes the connection cancels what is left to be done. */
int show(int fd, int json) {
  int unshown = 0;

  for (;;) {
    int kind = next_byte(fd);
    uint32_t left = 0;

    if (kind == -1)
      return broken_off(json);
    for (int i = 0; i < 4; i++) {
      int byte = next_byte(fd);

      if (byte == -1)
        return broken_off(json);
      left = left << 8 | (uint32_t)byte;
    }
    if (kind == EXIT_FRAME) {
      int code = next_byte(fd);

      if (code == -1)
        return broken_off(json);
      return unshown == 0 ? code : cannot_show(json, unshown, code);
    }
    while (left > 0) {
      size_t count;
      int failure = 0, is_output = kind == OUT_FRAME;

      if (begin == end && !more(fd))
        return broken_off(json);
      count = end - begin < left ? end - begin : left;
      if (!(is_output && unshown) && !write_all(is_output ? 1 : 2, buffer + begin, count, &failure) && is_output)
        unshown = failure;
      begin += count;
      left -= (uint32_t)count;
    }
  }
}
