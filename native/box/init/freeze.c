/* Everything in the box, together: counted, signalled, stopped where it is. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "init.h"
#include "../common/procs.h"
#include "../common/tags.h"

/* How long it may take until everything stands, and how often it is tried anew. */
#define ROUND_MS 250
#define ROUNDS 12
/* From this round on, what cannot be looked into is taken for what it most likely is. */
#define GUESS_AFTER 4
#define REST_MS 2
/* So often the children are stopped at once, without a look at all of them. */
#define QUICK_TIMES 32

static struct {
  bool frozen, waiting, resting;
  uint32_t id;
  int rounds;
  /* Of the processes at the last look, if all stood. */
  unsigned long long mark;
  int64_t look_at, round_ends, pause;
  /* A pipe that is closed when all go on. */
  int gate[2];
} state;

/* It must not stop itself: what tells it to go on may come before that. */
void wait_for_thaw(void) {
  char nothing;
  if (!state.frozen) return;
  close(state.gate[1]);
  while (read(state.gate[0], &nothing, 1) < 0 && errno == EINTR) continue;
}

void signal_all(int signal) {
  struct procs procs;
  /* The kernel does it at once, and nothing can be born in between. */
  if (getpid() == 1) {
    kill(-1, signal);
    return;
  }
  if (!procs_read(&procs)) return;
  for (size_t at = 0; at < procs.count; at++) proc_signal(&procs.list[at], signal);
  procs_free(&procs);
}

static void begin_round(int64_t now) {
  signal_all(SIGSTOP);
  state.mark = 0;
  state.pause = 1;
  state.look_at = now;
  state.round_ends = now + ROUND_MS;
}

void freeze(uint32_t id) {
  if (state.frozen) {
    wire_error(&init.wire, id, EBUSY, "freeze");
    return;
  }
  if (pipe2(state.gate, O_CLOEXEC) < 0) {
    wire_error(&init.wire, id, errno, "freeze");
    return;
  }
  state.frozen = state.waiting = true;
  state.resting = false;
  state.id = id;
  state.rounds = 0;
  begin_round(now_ms());
}

static void go_on(void) {
  if (!state.frozen) return;
  state.frozen = state.waiting = false;
  close_fd(&state.gate[0]);
  close_fd(&state.gate[1]);
  signal_all(SIGCONT);
}

void freeze_cancel(void) {
  if (state.waiting) wire_error(&init.wire, state.id, ECANCELED, "freeze");
  go_on();
}

void thaw(uint32_t id) {
  freeze_cancel();
  wire_send(&init.wire, FRAME_OK, id, NULL, 0);
}

/* Who ends is not stopped, and may have been one of those that nobody has seen. */
static bool some_ended(void) {
  siginfo_t ended = {0};
  return waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid != 0;
}

/*
 * 1: everything stands; 0: not yet; -1: it cannot be seen. What is new since is stopped too. A look takes a while, and a
 * process may be born behind it while its parent, not looked at yet, ends: so all must stand at two looks, be the same,
 * and nobody have ended in between.
 */
static int all_stopped(void) {
  struct procs procs;
  if (getpid() != 1)
    for (int time = 0; time < QUICK_TIMES; time++) signal_children(SIGSTOP);
  if (!procs_read(&procs)) return -1;
  bool stopped = true;
  for (size_t at = 0; at < procs.count; at++) {
    if (proc_stopped(&procs.list[at], state.rounds >= GUESS_AFTER)) continue;
    proc_signal(&procs.list[at], SIGSTOP);
    stopped = false;
  }
  unsigned long long mark = stopped && !some_ended() ? procs.mark | 1 : 0;
  bool still = mark != 0 && mark == state.mark;
  state.mark = mark;
  procs_free(&procs);
  return still;
}

/*
 * Who sleeps in the kernel stops only after that, and may sleep until another goes on that has been stopped. So if not all
 * stand after a while, all go on for a moment.
 */
int64_t freeze_check_time(int64_t now) {
  if (!state.waiting) return INT64_MAX;
  if (now < state.look_at) return state.look_at;
  if (state.resting) {
    state.resting = false;
    begin_round(now);
  }
  int stopped = all_stopped();
  if (stopped > 0) {
    state.waiting = false;
    wire_send(&init.wire, FRAME_OK, state.id, NULL, 0);
    return INT64_MAX;
  }
  if (stopped < 0 || (now >= state.round_ends && ++state.rounds == ROUNDS)) {
    go_on();
    wire_error(&init.wire, state.id, stopped < 0 ? ENOENT : ETIMEDOUT, "freeze");
    return INT64_MAX;
  }
  if (now >= state.round_ends) {
    signal_all(SIGCONT);
    state.resting = true;
    return state.look_at = now + REST_MS;
  }
  state.pause = state.pause < 16 ? state.pause * 2 : state.pause;
  return state.look_at = now + state.pause;
}

void status(uint32_t id) {
  struct procs procs;
  struct record record = {0};
  if (!procs_read(&procs)) {
    wire_error(&init.wire, id, errno, "status");
    return;
  }
  uint64_t running = 0;
  for (uint32_t at = 0; at < init.jobs_used; at++) {
    const struct job *job = &init.jobs[at];
    running += job->used && !job->is_stream && !job->exited;
  }
  record_number(&record, 'j', running);
  record_number(&record, 'p', procs.count);
  procs_free(&procs);
  wire_send(&init.wire, FRAME_OK, id, record.bytes, record.length);
}
