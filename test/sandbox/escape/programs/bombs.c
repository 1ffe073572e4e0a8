/* Attacks that take too much, each with a bound of its own, and those that outlive what they should not. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"

#define MEBIBYTE (1024L * 1024)

/* Not more than it is told to make, and no longer than it stays. */
static void processes(const struct arguments *given) {
  for (long at = number_of(given, 0); at > 0; at--) {
    pid_t pid = fork();
    if (pid == 0) {
      sleep(15);
      _exit(0);
    }
    if (pid < 0) usleep(1000);
  }
  stay();
}

static void take(long mebibytes) {
  for (long at = 0; at < mebibytes; at++) {
    char *part = mmap(NULL, MEBIBYTE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (part == MAP_FAILED) return;
    memset(part, 1, MEBIBYTE);
  }
}

static void memory(const struct arguments *given) {
  take(number_of(given, 0));
  stay();
}

static void memory_of_many(const struct arguments *given) {
  for (long at = 0; at < number_of(given, 1); at++) {
    if (fork() != 0) continue;
    take(number_of(given, 0));
    sleep(15);
    _exit(0);
  }
  usleep(500000);
  stay();
}

static void files(const struct arguments *given) {
  static char block[MEBIBYTE];
  signal(SIGXFSZ, SIG_IGN);
  for (long file = 0; file < number_of(given, 0); file++) {
    char name[32];
    snprintf(name, sizeof name, "big-%ld", file);
    int fd = open(name, O_WRONLY | O_CREAT, 0644);
    for (long at = 0; fd >= 0 && at < number_of(given, 1); at++)
      if (write(fd, block, sizeof block) < 0) break;
    if (fd >= 0) close(fd);
  }
}

static void flood(const struct arguments *given) {
  static char block[MEBIBYTE];
  memset(block, 'x', sizeof block);
  for (long at = 0; at < number_of(given, 0); at++)
    if (write(1, block, sizeof block) < 0) return;
}

/* Forks twice, leaves its session and its parent, and shuts its ears. */
static void outlive(const struct arguments *given) {
  (void)given;
  for (int signal_number = 1; signal_number < 32; signal_number++) signal(signal_number, SIG_IGN);
  if (fork() != 0) {
    usleep(100000);
    _exit(0);
  }
  setsid();
  if (fork() != 0) _exit(0);
  stay();
}

/* Never the same process for long: each writes one byte, makes the next and ends. Nobody can catch it: it looks for leave. */
static void chain(const struct arguments *given) {
  useconds_t rest = (useconds_t)number_of(given, 0);
  int fd = open("count", O_WRONLY | O_CREAT | O_APPEND, 0644);
  for (int link = 0; link < 20000 && access("count", F_OK) == 0; link++) {
    if (write(fd, "x", 1) < 0 || fork() != 0) _exit(0);
    setsid();
    if (rest > 0) usleep(rest);
    if (link == 20) say_done();
  }
}

const struct attack bomb_attacks[] = {
    {"processes", processes}, {"memory", memory}, {"memory-of-many", memory_of_many}, {"files", files},
    {"flood", flood},         {"outlive", outlive}, {"chain", chain},                 {NULL, NULL},
};
