/* One of its threads waits for a child that never runs a program, the other one does not. */
#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>

static void *wait_for_child(void *nothing) {
  if (vfork() == 0)
    for (;;) pause();
  return nothing;
}

int main(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, wait_for_child, NULL) != 0) return 1;
  if (write(1, "up\n", 3) != 3) return 1;
  for (;;) pause();
}
