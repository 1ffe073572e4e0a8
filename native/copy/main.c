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

bool parse_number(const char *text, int base, uint64_t most, uint64_t *value) {
  char *end;
  errno = 0;
  *value = strtoull(text, &end, base);
  return *text >= '0' && *text <= '9' && *end == 0 && errno == 0 && *value <= most;
}

static bool parse(const char *text, uint64_t most, uint64_t *value) {
  return parse_number(text, 10, most, value);
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

/* One of two words. */
static bool parse_word(const char *text, const char *yes, const char *no, bool *value) {
  *value = strcmp(text, yes) == 0;
  return *value || strcmp(text, no) == 0;
}

static bool parse_copy(int count, char **arguments) {
  if (count < 3) return false;
  wish.layer = strcmp(arguments[0], "layer") == 0;
  if (!wish.layer && !parse_word(arguments[0], "exact", "plain", &wish.exact)) return false;
  wish.exact |= wish.layer;
  if (!parse_word(arguments[1], "remembered", "once", &wish.remembered)) return false;
  if (!parse_word(arguments[2], "early", "late", &wish.early)) return false;
  size_t guarded = (size_t)count - 3;
  struct identity *identities = calloc(guarded + 1, sizeof *identities);
  if (identities == NULL) return false;
  for (size_t at = 0; at < guarded; at++)
    if (!parse_identity(arguments[3 + at], &identities[at])) return false;
  wish.guarded = identities, wish.guarded_count = guarded;
  return true;
}

static bool parse_make(int count, char **arguments) {
  wish.exact = true;
  return count == 1 && parse_word(arguments[0], "early", "late", &wish.early);
}

static bool parse_owner(char **arguments) {
  uint64_t uid, gid;
  if (!parse(arguments[0], UINT32_MAX, &uid) || !parse(arguments[1], UINT32_MAX, &gid)) return false;
  wish.uid = geteuid(), wish.owner_uid = (uid_t)uid, wish.owner_gid = (gid_t)gid;
  return true;
}

static int refuse(void) {
  fputs("usage: aw-copy PARENT THREADS UID GID give\n"
        "       aw-copy PARENT THREADS UID GID look [EXCLUDED...]\n"
        "       aw-copy PARENT THREADS UID GID make early|late\n"
        "       aw-copy PARENT THREADS UID GID copy exact|layer|plain remembered|once early|late [MAJOR:MINOR:INODE...]\n",
        stderr);
  return 2;
}

int main(int count, char **arguments) {
  uint64_t parent, threads;
  if (count < 6 || !parse(arguments[1], INT32_MAX, &parent) || !parse(arguments[2], 64, &threads)) return refuse();
  if (threads == 0 || !parse_owner(arguments + 3)) return refuse();
  bool gives = count == 6 && strcmp(arguments[5], "give") == 0;
  bool copies = strcmp(arguments[5], "copy") == 0 && parse_copy(count - 6, arguments + 6);
  bool makes = strcmp(arguments[5], "make") == 0 && parse_make(count - 6, arguments + 6);
  bool looks = strcmp(arguments[5], "look") == 0;
  if (!gives && !copies && !makes && !looks) return refuse();
  // What was begun for somebody who is gone is not gone on with: others may be removing it.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if ((uint64_t)getppid() != parent) return 1;
  umask(0);
  int failed = gives    ? give_tree(3, (unsigned)threads)
               : makes  ? make_tree(3, 4, (unsigned)threads)
               : copies ? walk(3, 4, (unsigned)threads)
                        : look_through(3, (unsigned)threads, arguments + 6, (size_t)count - 6);
  return failed == 0 ? 0 : 1;
}
