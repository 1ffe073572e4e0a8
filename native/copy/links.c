#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "copy.h"

/* A file of several names, and where the first of them was made. */
struct twin {
  struct twin *next;
  struct identity identity;
  struct told told;
  char *path;
};

#define BUCKETS 65536

static struct twin *buckets[BUCKETS];
/* Held while a first one is made, so that the others find it whole. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct twin **find(const struct told *told) {
  struct twin **at = &buckets[(told->inode * 0x9e3779b97f4a7c15u) >> 48];
  for (; *at; at = &(*at)->next) {
    const struct identity *found = &(*at)->identity;
    if (found->inode == told->inode && found->dev_major == told->dev_major && found->dev_minor == told->dev_minor) break;
  }
  return at;
}

/* Name by name: a path may be longer than the kernel takes. */
static int link_to(const struct node *node, char *path, const char *name) {
  const struct node *top = node;
  while (top->parent) top = top->parent;
  int directory = top->to, result = -1;
  char *part = path;
  for (char *slash = strchr(part, '/'); slash && directory >= 0; part = slash + 1, slash = strchr(part, '/')) {
    *slash = 0;
    int next = openat(directory, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    *slash = '/';
    int error = errno;
    if (directory != top->to) close(directory);
    errno = error;
    directory = next;
  }
  if (directory < 0) return -1;
  result = linkat(directory, part, node->to, name, 0);
  int error = errno;
  if (directory != top->to) close(directory);
  errno = error;
  return result;
}

static void remember(struct twin **at, const struct node *node, const char *name, const struct told *told) {
  struct bytes path = {0};
  if (*node->path) {
    append(&path, node->path, strlen(node->path));
    append(&path, "/", 1);
  }
  append(&path, name, strlen(name) + 1);
  struct twin *twin = *at;
  if (twin == NULL) {
    struct bytes memory = {0};
    append(&memory, &(struct twin){0}, sizeof(struct twin));
    twin = *at = (struct twin *)memory.start;
    twin->identity = (struct identity){told->inode, told->dev_major, told->dev_minor};
  }
  free(twin->path);
  twin->path = path.start;
  twin->told = *told;
  report_link(told, twin->path);
}

int copy_linked(struct node *node, const char *name, struct told *told,
                int (*copy)(struct node *, const char *, int, struct told *, char *), int named, char *scratch) {
  pthread_mutex_lock(&lock);
  struct twin **at = find(told);
  int result = -1;
  if (*at && link_to(node, (*at)->path, name) == 0) {
    *told = (*at)->told;
    result = MADE;
  } else if (*at && errno != EACCES && errno != EMLINK) {
    result = -errno;
  } else {
    result = copy(node, name, named, told, scratch);
    if (result == MADE) remember(at, node, name, told);
  }
  pthread_mutex_unlock(&lock);
  return result;
}
