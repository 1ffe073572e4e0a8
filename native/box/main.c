/*
 * aw-box: the two ends of a box, who mounts a tree to be looked into or unmounts one, and who tries the walls.
 * docs/spec/box-protocol.md says what they do.
 */
#include <stdio.h>
#include <string.h>

#include "supervise/box.h"
#include "mounts/hold.h"
#include "init/init.h"
#include "mounts/unmount.h"
#include "walls.h"

int main(int count, char **arguments) {
  if (count == 2 && strcmp(arguments[1], "supervise") == 0) return supervise();
  if (count == 2 && strcmp(arguments[1], "init") == 0) return run_init();
  if (count > 2 && strcmp(arguments[1], "hold") == 0) return hold(count - 2, arguments + 2);
  if (count > 4 && strcmp(arguments[1], "unmount") == 0) return unmount(count - 2, arguments + 2);
  if (count == 6 && strcmp(arguments[1], "walls") == 0) return try_walls(arguments + 2);
  if (count == 2 && strcmp(arguments[1], "version") == 0) return puts(PROTOCOL_VERSION) < 0;
  fputs("usage: aw-box supervise | init | hold UPPER WORK LOWER... | unmount PATH PID NAMESPACE... |\n"
        "  walls OUTSIDE PID PORT PROXY | version\n",
        stderr);
  return 2;
}
