/* Leaves a process whose first thread has ended and whose second one writes to a file: `leaderless FILE [same-session]`. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *beat(void *file) {
  int fd = open(file, O_WRONLY | O_APPEND);
  if (fd < 0) abort();
  /* Not for ever: a test that fails leaves nothing behind. */
  for (int count = 0; count < 12000 && write(fd, "x", 1) == 1; count++) usleep(50000);
  _exit(0);
}

int main(int count, char **arguments) {
  pthread_t thread;
  if (count < 2) return 2;
  if (fork() != 0) return 0;
  if (count == 2) setsid();
  else setpgid(0, 0);
  if (pthread_create(&thread, NULL, beat, arguments[1]) != 0) return 1;
  syscall(SYS_exit, 0);
}
