/* An ordinary user's overlay: in a user namespace of its own, mounted nowhere yet. */
#ifndef AW_OVERLAY_H
#define AW_OVERLAY_H

#include <stddef.h>

struct layers {
  /* The uppermost first. */
  char *const *lowers;
  size_t count;
  /* NULL: nobody can write, and there are two lowers or more. */
  const char *upper, *work;
};

/* What failed, and the layer it failed for, or an empty name. */
struct problem {
  const char *what, *name;
};

/* The own ids, and no others, as root of a new user namespace. 0, or -1 with errno and the problem. */
int own_namespace(struct problem *problem);

/*
 * The mount's descriptor, or -1 with errno and the problem. EBUSY: somebody has the upper mounted as such, or a lower one
 * is the upper of another. Layers are named as they are given, so that others find the mount in the list of mounts.
 */
int open_overlay(const struct layers *layers, struct problem *problem);

#endif
