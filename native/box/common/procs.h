/* The processes below one, as /proc shows them, and signals to them that cannot hit another by a reused number. */
#ifndef AW_PROCS_H
#define AW_PROCS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct proc {
  pid_t pid, parent, session;
  int threads;
  char state;
  bool below;
  unsigned long long started;
};

struct procs {
  struct proc *list;
  size_t count, room;
  /* Of all of them, zombies too: the same twice, and nobody has come or gone. */
  unsigned long long mark;
};

/*
 * All that are below this process now, but for those that have ended with all their threads. False with errno if /proc
 * cannot be read.
 */
bool procs_read(struct procs *procs);
void procs_free(struct procs *procs);

enum signalled { SIGNAL_SENT, SIGNAL_GONE, SIGNAL_FORBIDDEN };
enum signalled proc_signal(const struct proc *proc, int signal);
/*
 * To its children, zombies too; how many got it. Nobody else gets their numbers before this process has reaped them, so
 * nothing is looked up: it is faster than a child can make another and end.
 */
size_t signal_children(int signal);
/* Whether every thread of it has stopped, or will before it does anything. `guess`: see below. */
bool proc_stopped(const struct proc *proc, bool guess);
/*
 * vfork.c: whether a thread that sleeps does so until its child goes on, and then stops; `tasks` is the directory of the
 * threads. What its process has closed to others cannot be seen: then one that has a child counts if it is a guess.
 */
bool waits_for_child(int tasks, pid_t thread, bool guess);

/* Reaps all that has ended. True if there is no child left: then nothing is below a process that orphans come to. */
bool reap_all(void);
/* Kills everything below this process until nothing is left but what it may not kill; reaps what ends. */
void kill_all_below(void);
void pause_ms(long ms);

#endif
