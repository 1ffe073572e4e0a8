#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "copy.h"

static int top;

static bool is_directory(int directory, const struct record *record) {
  struct stat stat;
  if (record->type != UNKNOWN_TYPE) return record->type == DIRECTORY_TYPE;
  return fstatat(directory, record->name, &stat, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(stat.st_mode);
}

static int give_one(int directory, const char *path, const struct record *record) {
  const char *name = record->name;
  if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) return 0;
  // A directory is given away when it is looked at.
  if (is_directory(directory, record)) return add_place(path, name), 0;
  return fchownat(directory, name, wish.owner_uid, wish.owner_gid, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

static int give_directory(const char *path, char *scratch) {
  int directory = openat(top, *path ? path : ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
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

static void *work(void *scratch) {
  for (struct place *place = take_place(); place; place = take_place()) {
    int failed = give_directory(place->path, scratch);
    if (finish_place(failed)) report_failure(-failed, place->path, ".");
    free(place);
  }
  return NULL;
}

int give_tree(int tree, unsigned threads) {
  top = tree;
  add_place("", "");
  in_threads(threads, work);
  return places_failed();
}
