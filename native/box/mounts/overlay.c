#include "overlay.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "../common/common.h"
#include "../common/kernel.h"

static bool write_own(const char *path, const char *text) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  bool written = fd >= 0 && write_all(fd, text, strlen(text));
  int error = errno;
  if (fd >= 0) close(fd);
  errno = error;
  return written;
}

int own_namespace(struct problem *problem) {
  char uids[32], gids[32];
  snprintf(uids, sizeof uids, "0 %u 1", (unsigned)geteuid());
  snprintf(gids, sizeof gids, "0 %u 1", (unsigned)getegid());
  *problem = (struct problem){"making a user namespace", ""};
  if (unshare(CLONE_NEWUSER) < 0) return -1;
  problem->what = "mapping ids of a user namespace";
  if (!write_own("/proc/self/setgroups", "deny")) return -1;
  return write_own("/proc/self/uid_map", uids) && write_own("/proc/self/gid_map", gids) ? 0 : -1;
}

static bool set(int context, const char *key, const char *value) {
  return sys_fsconfig(context, FSCONFIG_SET_STRING, key, value, 0) == 0;
}

static bool add_layer(int context, const char *key, const char *path, struct problem *problem) {
  *problem = (struct problem){"opening the layer", path};
  return set(context, key, path);
}

/* The index itself is not to be had in a user namespace; but with it the kernel lets nobody share an upper layer. */
static bool configure(int context, const struct layers *layers, struct problem *problem) {
  if (!set(context, "source", "aw") || sys_fsconfig(context, FSCONFIG_SET_FLAG, "userxattr", NULL, 0) < 0) return false;
  if (layers->upper && !set(context, "index", "on")) return false;
  for (size_t at = 0; at < layers->count; at++)
    if (!add_layer(context, "lowerdir+", layers->lowers[at], problem)) return false;
  return !layers->upper || (add_layer(context, "upperdir", layers->upper, problem) &&
                            add_layer(context, "workdir", layers->work, problem));
}

static int mount_layers(int context, const struct layers *layers, struct problem *problem) {
  if (!configure(context, layers, problem)) return -1;
  *problem = (struct problem){"mounting the layers", ""};
  if (sys_fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0) return -1;
  unsigned attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (layers->upper ? 0 : MOUNT_ATTR_RDONLY);
  return sys_fsmount(context, FSMOUNT_CLOEXEC, attributes);
}

int open_overlay(const struct layers *layers, struct problem *problem) {
  *problem = (struct problem){"opening overlayfs", ""};
  int context = sys_fsopen("overlay", FSOPEN_CLOEXEC);
  if (context < 0) return -1;
  int mount = mount_layers(context, layers, problem), error = errno;
  close(context);
  errno = error;
  return mount;
}
