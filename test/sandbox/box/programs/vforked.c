/* Waits for its child, which never runs a program: `vforked [closed]`. Closed, nobody sees what it waits for. */
#define _GNU_SOURCE
#include <sys/prctl.h>
#include <unistd.h>

int main(int count, char **arguments) {
  (void)arguments;
  if (count > 1 && prctl(PR_SET_DUMPABLE, 0) < 0) return 1;
  if (write(1, "up\n", 3) != 3) return 1;
  if (vfork() == 0)
    for (;;) pause();
  return 0;
}
