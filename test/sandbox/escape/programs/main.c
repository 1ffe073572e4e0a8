#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "attack.h"

#define STAY_SECONDS 20

static int home = -1;

const char *text_of(const struct arguments *given, int at) {
  return at < given->count ? given->list[at] : "";
}

long number_of(const struct arguments *given, int at) {
  return strtol(text_of(given, at), NULL, 0);
}

void say_done(void) {
  int fd = openat(home, "done", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd >= 0) close(fd);
}

void stay(void) {
  say_done();
  close(home);
  sleep(STAY_SECONDS);
  _exit(0);
}

void keep(const void *data, size_t length) {
  int fd = openat(home, "loot", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return;
  ssize_t written = write(fd, data, length);
  (void)written;
  close(fd);
}

void try_processes(const struct arguments *given, on_process *act) {
  pid_t named = (pid_t)number_of(given, 0);
  if (kill(named, 0) == 0 || errno == EPERM) {
    act(named, given);
    return;
  }
  DIR *entries = opendir("/proc");
  for (struct dirent *entry; entries && (entry = readdir(entries));) {
    pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
    if (pid > 0 && pid != getpid()) act(pid, given);
  }
  if (entries) closedir(entries);
}

/* What only stays: to see what every process has. */
static void stay_only(const struct arguments *given) {
  (void)given;
  stay();
}

/* A program that belongs to root and is set to its rights: what it makes shows whose rights it had. */
static void make_loot(const struct arguments *given) {
  keep("made", 4);
  int fd = open(text_of(given, 0), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd >= 0) close(fd);
}

static const struct attack own_attacks[] = {{"stay", stay_only}, {"make", make_loot}, {NULL, NULL}};

static bool run_one(const struct attack *list, const char *name, const struct arguments *given) {
  for (; list->name; list++) {
    if (strcmp(list->name, name) != 0) continue;
    list->run(given);
    return true;
  }
  return false;
}

int main(int count, char **list) {
  if (count < 3) return 2;
  /* Whatever goes wrong, nothing of it is left after a while. */
  alarm(STAY_SECONDS + 10);
  home = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  struct arguments given = {.count = count - 3, .list = list + 3};
  const struct attack *const all[] = {own_attacks, process_attacks, kernel_attacks, network_attacks, bomb_attacks};
  for (size_t at = 0; at < sizeof all / sizeof *all; at++)
    if (run_one(all[at], list[1], &given)) return 0;
  fprintf(stderr, "there is no attack %s\n", list[1]);
  return 2;
}
