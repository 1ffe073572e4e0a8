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

#include "../common/procs.h"
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
    case FRAME_REMOVE: take_back(frame); return true;
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

/* Each descriptor once and none that is not open: the kernel takes no more of them than this process may have. */
static struct pollfd polls[POLL_FIXED + JOBS_MOST * POLLS_A_JOB + DRAINS_MOST];
static uint16_t poll_count;

/* Where in `polls` something is; 0: it is not looked at. */
struct watched {
  uint16_t report, in, out, err;
};

static uint16_t watch(bool wanted, int fd, short events) {
  if (!wanted || fd < 0) return 0;
  polls[poll_count] = (struct pollfd){.fd = fd, .events = events};
  return poll_count++;
}

/* Only what can be dealt with now: anything else that has hung up would be told again and again. */
static struct watched watch_job(const struct job *job) {
  if (!job->used) return (struct watched){0};
  bool reads = job->started && job->credit > 0;
  bool has_input = job->input_length > job->input_sent || job->input_ends;
  bool writes = job->started ? has_input : job->is_stream;
  struct watched at = {
      .report = watch(true, job->report, POLLIN),
      .out = watch(reads && job->out.left, job->out.fd, POLLIN),
      .err = watch(reads && job->err.left, job->err.fd, POLLIN),
  };
  if (writes && at.out && job->in == job->out.fd) {
    polls[at.out].events |= POLLOUT;
    at.in = at.out;
  } else at.in = watch(writes, job->in, POLLOUT);
  return at;
}

static bool happened(uint16_t at, short but) {
  return at > 0 && polls[at].revents & ~but;
}

static void serve_job(struct job *job, struct watched at) {
  if (job->is_stream && !job->started) {
    if (happened(at.in, 0)) stream_connected(job);
    return;
  }
  if (happened(at.report, 0)) job_read_report(job);
  if (job->used && happened(at.in, POLLIN)) job_write(job);
  if (job->used && happened(at.out, POLLOUT)) job_read(job, &job->out, FRAME_STDOUT);
  if (job->used && happened(at.err, 0)) job_read(job, &job->err, FRAME_STDERR);
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
  static struct watched jobs[JOBS_MOST];
  static uint16_t drains[DRAINS_MOST];
  int wait = check_time();
  if (init.stopping && nothing_left()) {
    init.over = true;
    return;
  }
  polls[POLL_SIGNALS] = (struct pollfd){.fd = init.signals, .events = POLLIN};
  polls[POLL_WIRE] = (struct pollfd){.fd = init.wire.fd, .events = (short)(POLLIN | (init.wire.first ? POLLOUT : 0))};
  poll_count = POLL_FIXED;
  uint32_t count = init.jobs_used;
  for (uint32_t at = 0; at < count; at++) jobs[at] = watch_job(&init.jobs[at]);
  for (int at = 0; at < DRAINS_MOST; at++) drains[at] = watch(init.drains[at].fd > 0, init.drains[at].fd, POLLIN);
  if (poll(polls, poll_count, wait) < 0) {
    init.over = errno != EINTR;
    return;
  }
  if (polls[POLL_WIRE].revents & POLLOUT) wire_flush(&init.wire, NULL);
  for (uint32_t at = 0; at < count; at++)
    if (init.jobs[at].used) serve_job(&init.jobs[at], jobs[at]);
  for (int at = 0; at < DRAINS_MOST; at++)
    if (happened(drains[at], 0)) drain_read(&init.drains[at]);
  if (polls[POLL_SIGNALS].revents) handle_signals();
  if (polls[POLL_WIRE].revents & ~POLLOUT) handle_wire();
  if (init.wire.failed) init.over = true;
}

int run_init(void) {
  if (!set_up(SOCKET_FD)) _exit(1);
  while (!init.over) turn();
  end_init();
}
