/* The end of a box: everything in it killed, everything that stands for it removed. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "box.h"
#include "../common/procs.h"

#define LAST_WORDS_MS 1000
#define EMPTY_MS 50

static bool kill_members(int directory) {
  int fd = openat(directory, "cgroup.kill", O_WRONLY | O_CLOEXEC);
  if (fd >= 0) {
    bool written = write_all(fd, "1", 1);
    close(fd);
    return written;
  }
  char text[65536];
  int length = read_small(directory, "cgroup.procs", text, sizeof text);
  if (length < 0) return false;
  for (char *rest = text, *line; (line = strsep(&rest, "\n")) && *line;) {
    uint64_t pid;
    if (parse_number(line, INT32_MAX, &pid) && pid > 1) kill((pid_t)pid, SIGKILL);
  }
  return true;
}

/* Its members vanish a little after they were killed. */
static void remove_cgroup(const char *path) {
  for (long wait = 1; wait < 4000; wait *= 2) {
    if (rmdir(path) == 0 || errno == ENOENT) return;
    int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (directory < 0) return;
    kill_members(directory);
    close(directory);
    pause_ms(wait);
    reap_all();
  }
}

/* A little while, or until a child has ended. */
static void await_child(void) {
  struct signalfd_siginfo info;
  struct pollfd signals = {.fd = box.signals, .events = POLLIN};
  if (poll(&signals, 1, 1) > 0)
    while (read(box.signals, &info, sizeof info) == (ssize_t)sizeof info) continue;
}

static void kill_box(void) {
  proxy_warn();
  if (box.first > 0 && !box.first_ended) kill(box.first, SIGKILL);
  close_fd(&box.init.fd);
  proxy_finish();
  /* A pid namespace is empty as soon as its first process is, which needs no search. */
  int64_t until = now_ms() + EMPTY_MS;
  while (box.spec.level == LEVEL_NAMESPACE && !reap_all() && now_ms() < until) await_child();
  kill_all_below();
}

static void remove_traces(void) {
  kill_box();
  for (size_t at = 0; at < box.spec.cgroups.count; at++) remove_cgroup(box.spec.cgroups.list[at]);
  if (box.listener >= 0) unlinkat(box.spec.directory, "s", 0);
  close_fd(&box.listener);
}

/* What waits for clients that read is still theirs. */
static void flush_clients(void) {
  for (int64_t until = now_ms() + LAST_WORDS_MS; now_ms() < until;) {
    struct pollfd polls[CLIENTS_MOST];
    struct client *owners[CLIENTS_MOST];
    nfds_t count = 0;
    for (int at = 0; at < CLIENTS_MOST; at++) {
      struct client *client = &box.clients[at];
      if (!client->open || !client->wire.first || client->wire.failed) continue;
      owners[count] = client;
      polls[count++] = (struct pollfd){.fd = client->wire.fd, .events = POLLOUT};
    }
    if (count == 0 || poll(polls, count, (int)(until - now_ms())) <= 0) return;
    for (nfds_t at = 0; at < count; at++)
      if (polls[at].revents) wire_flush(&owners[at]->wire, NULL);
  }
}

void end_box(void) {
  remove_traces();
  flush_clients();
  keep_finish_all();
  exit(0);
}

void end_start(int error, const char *what) {
  char line[400];
  remove_traces();
  bool no_file = error == EMFILE && !strstr(what, "ulimit");
  int length = snprintf(line, sizeof line, "error %d %s%s%s", error, what, no_file ? ": " : "",
                        no_file ? error_text(error) : "");
  if (length > (int)sizeof line - 2) length = (int)sizeof line - 2;
  for (int at = 0; at < length; at++)
    if (line[at] == '\n') line[at] = ' ';
  line[length] = '\n';
  write_all(1, line, (size_t)length + 1);
  exit(1);
}
