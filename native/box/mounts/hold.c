#include "hold.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "overlay.h"

static int refuse(int error, struct problem problem) {
  printf("error %d %s%s%s: %s\n", error, problem.what, *problem.name ? " " : "", problem.name, strerror(error));
  return 1;
}

/*
 * The arguments are the upper layer and its work directory, or `-` and `-`, and the lower layers. It answers with the
 * number of a descriptor, which the other finds in /proc. What they open there stays when this process has ended.
 */
int hold(int count, char **arguments) {
  struct problem problem = {"reading the arguments", ""};
  if (count < 3) return refuse(EINVAL, problem);
  struct layers layers = {.lowers = arguments + 2, .count = (size_t)count - 2};
  if (strcmp(arguments[0], "-") != 0) layers.upper = arguments[0], layers.work = arguments[1];
  if (own_namespace(&problem) < 0) return refuse(errno, problem);
  if (unshare(CLONE_NEWNS) < 0) return refuse(errno, (struct problem){"making a mount namespace", ""});
  int mount = open_overlay(&layers, &problem);
  if (mount < 0) return refuse(errno, problem);
  printf("ready %d\n", mount);
  fflush(stdout);
  char end;
  while (read(0, &end, 1) > 0) continue;
  return 0;
}
