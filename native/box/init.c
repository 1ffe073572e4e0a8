/* Inside the walls: runs commands for the supervisor, and is the parent of all that is left of them. */
#include "init.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "procs.h"
#include "setup.h"

#define SOCKET_FD 3

struct init init;

/* Without a pid namespace nobody else ends what was started here. */
_Noreturn static void end_init(void) {
  if (getpid() != 1) kill_all_below();
  _exit(0);
}

static void handle_signals(void) {
  struct signalfd_siginfo info;
  while (read(init.signals, &info, sizeof info) == (ssize_t)sizeof info)
    if (info.ssi_signo != SIGCHLD) init.over = true;
  int state;
  struct rusage usage;
  pid_t pid;
  while ((pid = wait4(-1, &state, WNOHANG, &usage)) > 0) {
    for (uint32_t at = 0; at < init.jobs_used; at++) {
      struct job *job = &init.jobs[at];
      if (job->used && job->pid == pid && !job->exited) job_exited(job, state, &usage);
    }
  }
  init.childless = pid < 0 && errno == ECHILD;
}

static void stop(uint32_t id) {
  init.stopping = true;
  signal_all(SIGTERM);
  freeze_cancel();
  wire_send(&init.wire, FRAME_OK, id, NULL, 0);
  handle_signals();
}

static bool to_job(const struct frame *frame) {
  struct job *job = job_of(frame->id);
  if (!job) return true;
  bool number = frame->length == 4;
  switch (frame->type) {
    case FRAME_STDIN: job_input(job, frame->data, frame->length); return true;
    case FRAME_EOF: job_input_end(job); return true;
    case FRAME_SIGNAL: if (number) job_signal(job, (int)read_u32(frame->data)); return number;
    case FRAME_RESIZE:
      if (number)
        job_resize(job, (unsigned)frame->data[0] | (unsigned)frame->data[1] << 8,
                   (unsigned)frame->data[2] | (unsigned)frame->data[3] << 8);
      return number;
    default: if (number) job->credit += read_u32(frame->data); return number;
  }
}

static bool handle_frame(const struct frame *frame) {
  switch (frame->type) {
    case FRAME_EXEC: job_start(frame); return true;
    case FRAME_CONNECT: stream_start(frame); return true;
    case FRAME_PUT: put(frame); return true;
    case FRAME_STATUS: status(frame->id); return true;
    case FRAME_FREEZE: freeze(frame->id); return true;
    case FRAME_THAW: thaw(frame->id); return true;
    case FRAME_STOP: stop(frame->id); return true;
    case FRAME_STDIN:
    case FRAME_EOF:
    case FRAME_SIGNAL:
    case FRAME_RESIZE:
    case FRAME_CREDIT: return to_job(frame);
    default: return false;
  }
}

static void handle_wire(void) {
  struct frame frame;
  int more;
  if (wire_read(&init.wire) == WIRE_CLOSED) init.over = true;
  while ((more = wire_next(&init.wire, &frame)) > 0) {
    if (!handle_frame(&frame)) init.over = true;
    wire_taken(&init.wire, &frame);
  }
  if (more < 0) init.over = true;
}

enum { POLL_SIGNALS, POLL_WIRE, POLL_FIXED, POLLS_A_JOB = 4 };

static struct pollfd polls[POLL_FIXED + JOBS_MOST * POLLS_A_JOB + DRAINS_MOST];

/* Only what can be dealt with now: anything else that has hung up would be told again and again. */
static void gather_job(const struct job *job, struct pollfd *at) {
  bool reads = job->started && job->credit > 0;
  bool writes = job->in >= 0 && (job->input_length > job->input_sent || job->input_ends);
  bool connects = job->is_stream && !job->started;
  at[0] = (struct pollfd){.fd = job->report, .events = POLLIN};
  at[1] = (struct pollfd){.fd = (writes && job->started) || connects ? job->in : -1, .events = POLLOUT};
  at[2] = (struct pollfd){.fd = reads && job->out.left ? job->out.fd : -1, .events = POLLIN};
  at[3] = (struct pollfd){.fd = reads && job->err.left ? job->err.fd : -1, .events = POLLIN};
}

static void serve_job(struct job *job, const struct pollfd *at) {
  if (job->is_stream && !job->started) {
    if (at[1].revents) stream_connected(job);
    return;
  }
  if (at[0].revents) job_read_report(job);
  if (job->used && at[1].revents) job_write(job);
  if (job->used && at[2].revents) job_read(job, &job->out, FRAME_STDOUT);
  if (job->used && at[3].revents) job_read(job, &job->err, FRAME_STDERR);
}

static int check_time(void) {
  int64_t now = now_ms(), next = freeze_check_time(now);
  for (uint32_t at = 0; at < init.jobs_used; at++) {
    if (!init.jobs[at].used) continue;
    int64_t due = job_check_time(&init.jobs[at], now);
    if (due < next) next = due;
  }
  if (next == INT64_MAX) return -1;
  return next <= now ? 0 : (int)(next - now < INT32_MAX ? next - now : INT32_MAX);
}

/* All have ended, and that was told. */
static bool nothing_left(void) {
  for (uint32_t at = 0; at < init.jobs_used; at++)
    if (init.jobs[at].used) return false;
  return init.childless && !init.wire.first;
}

static void turn(void) {
  int wait = check_time();
  if (init.stopping && nothing_left()) {
    init.over = true;
    return;
  }
  polls[POLL_SIGNALS] = (struct pollfd){.fd = init.signals, .events = POLLIN};
  polls[POLL_WIRE] = (struct pollfd){.fd = init.wire.fd, .events = (short)(POLLIN | (init.wire.first ? POLLOUT : 0))};
  uint32_t jobs = init.jobs_used;
  nfds_t count = POLL_FIXED;
  for (uint32_t at = 0; at < jobs; at++, count += POLLS_A_JOB) {
    if (init.jobs[at].used) gather_job(&init.jobs[at], &polls[count]);
    else for (int each = 0; each < POLLS_A_JOB; each++) polls[count + (nfds_t)each] = (struct pollfd){.fd = -1};
  }
  struct pollfd *drains = &polls[count];
  for (int at = 0; at < DRAINS_MOST; at++) {
    int fd = init.drains[at].fd;
    if (fd > 0) drains[at] = (struct pollfd){.fd = fd, .events = POLLIN};
    else drains[at] = (struct pollfd){.fd = -1};
  }
  if (poll(polls, count + DRAINS_MOST, wait) < 0) {
    init.over = errno != EINTR;
    return;
  }
  if (polls[POLL_WIRE].revents & POLLOUT) wire_flush(&init.wire, NULL);
  for (uint32_t at = 0; at < jobs; at++)
    if (init.jobs[at].used) serve_job(&init.jobs[at], &polls[POLL_FIXED + at * POLLS_A_JOB]);
  for (int at = 0; at < DRAINS_MOST; at++)
    if (drains[at].revents) drain_read(&init.drains[at]);
  if (polls[POLL_SIGNALS].revents) handle_signals();
  if (polls[POLL_WIRE].revents & ~POLLOUT) handle_wire();
  if (init.wire.failed) init.over = true;
}

int run_init(void) {
  if (!set_up(SOCKET_FD)) _exit(1);
  while (!init.over) turn();
  end_init();
}
