#include "stage.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../common/kernel.h"
#include "launch.h"
#include "../mounts/overlay.h"

void enter_user_namespace(void) {
  struct problem problem;
  if (own_namespace(&problem) < 0) fail_launch(errno, problem.what, problem.name);
}

/* A small tmpfs that others may go through and not look into. */
static int mount_stage(const char *path) {
  int place = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (place < 0) fail_launch(errno, "opening the stage", path);
  if (unshare(CLONE_NEWNS) < 0) fail_launch(errno, "making a mount namespace", "");
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) fail_launch(errno, "making the mounts private", "");
  /* Opened before, it is of the mount namespace that was left. */
  struct stat before, after;
  int again = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (again < 0 || fstat(place, &before) < 0 || fstat(again, &after) < 0) fail_launch(errno, "opening the stage", path);
  if (before.st_dev != after.st_dev || before.st_ino != after.st_ino) fail_launch(ESTALE, "opening the stage", path);
  close(place);
  int context = sys_fsopen("tmpfs", FSOPEN_CLOEXEC);
  if (context < 0 || sys_fsconfig(context, FSCONFIG_SET_STRING, "mode", "0711", 0) < 0 ||
      sys_fsconfig(context, FSCONFIG_SET_STRING, "size", "65536", 0) < 0 ||
      sys_fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
    fail_launch(errno, "making a tmpfs", "");
  int tmpfs = sys_fsmount(context, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
  if (tmpfs < 0 || sys_move_mount(tmpfs, "", again, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
    fail_launch(errno, "mounting the stage", path);
  close(context);
  close(again);
  return tmpfs;
}

struct bind {
  uint64_t device, inode, from, to;
  bool mapped;
  char name[64];
  const char *path;
};

/* Cuts the next part off, up to a colon. */
static const char *part(const char *at, char *buffer, size_t size) {
  const char *colon = strchr(at, ':');
  if (!colon || (size_t)(colon - at) >= size) return NULL;
  memcpy(buffer, at, (size_t)(colon - at));
  buffer[colon - at] = 0;
  return colon + 1;
}

static bool is_name(const char *name) {
  return *name && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static bool parse_bind(const char *text, struct bind *bind) {
  char number[24];
  *bind = (struct bind){0};
  if (!(text = part(text, number, sizeof number)) || !parse_number(number, UINT64_MAX, &bind->device)) return false;
  if (!(text = part(text, number, sizeof number)) || !parse_number(number, UINT64_MAX, &bind->inode)) return false;
  bind->mapped = *text != '-';
  if (bind->mapped) {
    if (!(text = part(text, number, sizeof number)) || !parse_number(number, UINT32_MAX - 1, &bind->from)) return false;
    if (!(text = part(text, number, sizeof number)) || !parse_number(number, UINT32_MAX - 1, &bind->to)) return false;
  } else if (!(text = part(text, number, sizeof number)) || strcmp(number, "-") != 0) return false;
  bind->path = part(text, bind->name, sizeof bind->name);
  return bind->path && *bind->path == '/' && is_name(bind->name);
}

static void make_place(int stage, const char *name, bool directory) {
  if (directory) {
    if (mkdirat(stage, name, 0700) < 0) fail_launch(errno, "making in the stage", name);
    return;
  }
  int fd = openat(stage, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) fail_launch(errno, "making in the stage", name);
  close(fd);
}

/* The inode decides, whatever the path leads to by now; what is bound is what was looked at. */
static void bind_checked(int stage, const char *text) {
  struct bind bind;
  struct stat found;
  if (!parse_bind(text, &bind)) fail_launch(EINVAL, "binding", text);
  int source = open(bind.path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (source < 0 || fstat(source, &found) < 0) fail_launch(errno, "opening", bind.path);
  if ((uint64_t)found.st_dev != bind.device || (uint64_t)found.st_ino != bind.inode)
    fail_launch(ESTALE, "another one is now at", bind.path);
  if (!S_ISDIR(found.st_mode) && !S_ISREG(found.st_mode)) fail_launch(ENOTDIR, "binding", bind.path);
  int tree = sys_open_tree(source, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
  if (tree < 0) fail_launch(errno, "cloning the mount of", bind.path);
  struct mount_attributes attributes = {.set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV};
  int map = -1;
  if (bind.mapped) {
    map = id_map_namespace((uint32_t)bind.from, (uint32_t)bind.to);
    attributes.set |= MOUNT_ATTR_IDMAP;
    attributes.userns_fd = (uint64_t)map;
  }
  if (sys_mount_setattr(tree, "", AT_EMPTY_PATH, &attributes) < 0) fail_launch(errno, "mapping ids of", bind.path);
  make_place(stage, bind.name, S_ISDIR(found.st_mode));
  if (sys_move_mount(tree, "", stage, bind.name, MOVE_MOUNT_F_EMPTY_PATH) < 0)
    fail_launch(errno, "binding", bind.path);
  close_fd(&map);
  close(tree);
  close(source);
}

/* As long as it takes others to look into the tree. */
#define LOOK_MS 5000

static int open_when_free(const struct layers *layers, struct problem *problem) {
  const struct timespec moment = {.tv_nsec = 5000000};
  int64_t until = now_ms() + LOOK_MS;
  for (;;) {
    int mount = open_overlay(layers, problem);
    if (mount >= 0 || errno != EBUSY || now_ms() > until) return mount;
    nanosleep(&moment, NULL);
  }
}

static void mount_overlay(int stage, const struct spec *spec) {
  const struct layers layers = {
      .lowers = spec->lowers.list, .count = spec->lowers.count, .upper = spec->upper, .work = spec->work};
  struct problem problem;
  if (!is_name(spec->overlay)) fail_launch(EINVAL, "the overlay's name", spec->overlay);
  make_place(stage, spec->overlay, true);
  int mount = open_when_free(&layers, &problem);
  if (mount < 0) fail_launch(errno, problem.what, problem.name);
  if (sys_move_mount(mount, "", stage, spec->overlay, MOVE_MOUNT_F_EMPTY_PATH) < 0)
    fail_launch(errno, "attaching the overlay", "");
  close(mount);
}

void make_stage(const struct spec *spec) {
  int stage = mount_stage(spec->stage);
  for (size_t at = 0; at < spec->binds.count; at++) bind_checked(stage, spec->binds.list[at]);
  if (spec->overlay) mount_overlay(stage, spec);
  close(stage);
}
