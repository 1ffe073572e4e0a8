#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "copy.h"

/* A directory whose things are still to be given away. */
struct place {
  struct place *next;
  char path[];
};

static struct place *places;
/* Those that are waiting, and those that somebody is at. */
static unsigned unfinished;
static atomic_int failure;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int top;

static void add(const char *directory, const char *name) {
  struct place *place = malloc(sizeof *place + strlen(directory) + strlen(name) + 2);
  if (place == NULL) abort();
  strcpy(place->path, directory);
  strcat(place->path, "/");
  strcat(place->path, name);
  pthread_mutex_lock(&lock);
  place->next = places;
  places = place;
  unfinished++;
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&lock);
}

static bool is_directory(int directory, const struct record *record) {
  struct stat stat;
  if (record->type != UNKNOWN_TYPE) return record->type == DIRECTORY_TYPE;
  return fstatat(directory, record->name, &stat, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(stat.st_mode);
}

static int give_one(int directory, const char *path, const struct record *record) {
  const char *name = record->name;
  if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) return 0;
  // A directory is given away when it is looked at.
  if (is_directory(directory, record)) return add(path, name), 0;
  return fchownat(directory, name, wish.owner_uid, wish.owner_gid, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

static int give_directory(const char *path, char *scratch) {
  int directory = openat(top, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (directory < 0) return -errno;
  int failed = fchown(directory, wish.owner_uid, wish.owner_gid) < 0 ? -errno : 0;
  while (!failed) {
    long filled = syscall(SYS_getdents64, directory, scratch, SCRATCH_BYTES);
    if (filled < 0) failed = -errno;
    if (filled <= 0) break;
    for (long at = 0; !failed && at < filled; at += ((const struct record *)(scratch + at))->length)
      failed = give_one(directory, path, (const struct record *)(scratch + at));
  }
  close(directory);
  return failed;
}

static struct place *take(void) {
  pthread_mutex_lock(&lock);
  while (places == NULL && unfinished > 0 && failure == 0) pthread_cond_wait(&changed, &lock);
  struct place *place = failure == 0 ? places : NULL;
  if (place) places = place->next;
  pthread_mutex_unlock(&lock);
  return place;
}

static void *work(void *scratch) {
  for (struct place *place = take(); place; place = take()) {
    int failed = give_directory(place->path, scratch);
    pthread_mutex_lock(&lock);
    if (failed && failure == 0) {
      failure = failed;
      report_failure(-failed, place->path, ".");
    }
    unfinished--;
    if (failed || unfinished == 0) pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    free(place);
  }
  return NULL;
}

int give_tree(int tree, unsigned threads) {
  top = tree;
  add(".", ".");
  in_threads(threads, work);
  return failure;
}
