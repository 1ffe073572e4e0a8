/* The box's first process: from a fork of the supervisor to the program that makes the walls. */
#ifndef AW_LAUNCH_H
#define AW_LAUNCH_H

#include <sys/types.h>

#include "../supervise/spec.h"

/* Why a step failed, as the child tells it through a pipe. */
struct failure {
  int error;
  char text[240];
};

/* Starts it with `socket` as its descriptor 3. 0 and the process; or -1 and the failure, with nothing left. */
int launch(const struct spec *spec, int socket, pid_t *pid, struct failure *failure);

/* Only in the child: tells why, and ends. */
_Noreturn void fail_launch(int error, const char *what, const char *name);

#endif
