#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "copy.h"

struct wish wish;

static bool parse(const char *text, uint64_t most, uint64_t *value) {
  char *end;
  errno = 0;
  *value = strtoull(text, &end, 10);
  return *text >= '0' && *text <= '9' && *end == 0 && errno == 0 && *value <= most;
}

/* MAJOR:MINOR:INODE */
static bool parse_identity(char *text, struct identity *identity) {
  char *minor = strchr(text, ':'), *inode = minor ? strchr(minor + 1, ':') : NULL;
  if (inode == NULL) return false;
  *minor = *inode = 0;
  uint64_t numbers[3];
  bool is_one = parse(text, UINT32_MAX, &numbers[0]) && parse(minor + 1, UINT32_MAX, &numbers[1]) &&
                parse(inode + 1, UINT64_MAX, &numbers[2]);
  *identity = (struct identity){numbers[2], (uint32_t)numbers[0], (uint32_t)numbers[1]};
  return is_one;
}

static bool parse_arguments(int count, char **arguments, uint64_t *parent, uint64_t *threads) {
  uint64_t uid, gid;
  if (count < 7) return false;
  if (!parse(arguments[1], INT32_MAX, parent) || !parse(arguments[2], 64, threads)) return false;
  wish.exact = strcmp(arguments[3], "exact") == 0;
  wish.remembered = strcmp(arguments[4], "remembered") == 0;
  if (!parse(arguments[5], UINT32_MAX, &uid) || !parse(arguments[6], UINT32_MAX, &gid)) return false;
  wish.uid = geteuid(), wish.owner_uid = (uid_t)uid, wish.owner_gid = (gid_t)gid;
  size_t guarded = (size_t)count - 7;
  struct identity *identities = calloc(guarded + 1, sizeof *identities);
  if (identities == NULL) return false;
  for (size_t at = 0; at < guarded; at++)
    if (!parse_identity(arguments[7 + at], &identities[at])) return false;
  wish.guarded = identities, wish.guarded_count = guarded;
  return *threads > 0;
}

int main(int count, char **arguments) {
  uint64_t parent, threads;
  if (!parse_arguments(count, arguments, &parent, &threads)) {
    fputs("usage: aw-copy PARENT THREADS exact|plain remembered|once UID GID [MAJOR:MINOR:INODE...]\n", stderr);
    return 2;
  }
  // What was begun for somebody who is gone is not gone on with: others may be removing it.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if ((uint64_t)getppid() != parent) return 1;
  umask(0);
  return walk(3, 4, (unsigned)threads) == 0 ? 0 : 1;
}
