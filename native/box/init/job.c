#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "init.h"
#include "../common/procs.h"
#include "../common/tags.h"

#define LINGER_MS 100
#define NEVER INT64_MAX

struct job *job_new(uint32_t id) {
  for (uint32_t at = 0; at < JOBS_MOST; at++) {
    struct job *job = &init.jobs[at];
    if (job->used) continue;
    *job = (struct job){.used = true, .id = id, .report = -1, .in = -1, .deadline = NEVER};
    job->out = job->err = (struct source){.fd = -1, .left = UINT64_MAX};
    job->began_us = now_us();
    if (at >= init.jobs_used) init.jobs_used = at + 1;
    return job;
  }
  return NULL;
}

struct job *job_of(uint32_t id) {
  for (uint32_t at = 0; at < init.jobs_used; at++)
    if (init.jobs[at].used && init.jobs[at].id == id) return &init.jobs[at];
  return NULL;
}

void job_close(struct job *job) {
  // Of a terminal they are one.
  if (job->in != job->out.fd) close_fd(&job->in);
  job->in = -1;
  close_fd(&job->out.fd);
  close_fd(&job->err.fd);
  close_fd(&job->report);
}

void job_free(struct job *job) {
  job_close(job);
  free(job->input);
  *job = (struct job){0};
  while (init.jobs_used > 0 && !init.jobs[init.jobs_used - 1].used) init.jobs_used--;
}

/* The program runs as soon as the pipe closes without a word. */
void job_read_report(struct job *job) {
  struct refusal refusal;
  ssize_t count = read(job->report, &refusal, sizeof refusal);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count == (ssize_t)sizeof refusal) {
    refusal.step[sizeof refusal.step - 1] = 0;
    wire_error(&init.wire, job->id, refusal.error, refusal.step);
    job_free(job);
    return;
  }
  close_fd(&job->report);
  uint8_t pid[4];
  write_u32(pid, (uint32_t)job->pid);
  wire_send(&init.wire, FRAME_STARTED, job->id, pid, sizeof pid);
  job->started = true;
  job_write(job);
}

void job_exited(struct job *job, int status, const struct rusage *usage) {
  job->exited = true;
  job->status = status;
  job->usage = *usage;
  job->ended_us = now_us();
  job->deadline = now_ms() + LINGER_MS;
}

static uint64_t microseconds(struct timeval time) {
  return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_usec;
}

static void tell_exit(const struct job *job) {
  struct record record = {0};
  if (WIFSIGNALED(job->status)) record_number(&record, 's', (uint64_t)WTERMSIG(job->status));
  else record_number(&record, 'x', (uint64_t)WEXITSTATUS(job->status));
  record_number(&record, 'm', (uint64_t)job->usage.ru_maxrss);
  record_number(&record, 'u', microseconds(job->usage.ru_utime));
  record_number(&record, 'y', microseconds(job->usage.ru_stime));
  record_number(&record, 'w', (uint64_t)(job->ended_us - job->began_us));
  wire_send(&init.wire, FRAME_EXIT, job->id, record.bytes, record.length);
}

/* Its output may be read long after that: this does not count as its time. */
static void tell_end(struct job *job) {
  if (!job->told_end) wire_send(&init.wire, FRAME_ENDED, job->id, NULL, 0);
  job->told_end = true;
}

static uint64_t waiting(const struct source *source) {
  int count = 0;
  if (source->fd < 0 || ioctl(source->fd, FIONREAD, &count) < 0 || count < 0) return 0;
  return (uint64_t)count;
}

/* Without credit it is not read; that all have closed it shows all the same. */
static void close_if_over(struct source *source) {
  struct pollfd look = {.fd = source->fd, .events = POLLIN};
  if (source->fd >= 0 && poll(&look, 1, 0) == 1 && look.revents == POLLHUP) close_fd(&source->fd);
}

static bool is_empty(const struct source *source) {
  return source->fd < 0 || source->left == 0;
}

/* What it wrote comes first. Others that hold its pipes may write for ever: what is there after a while is the last. */
static int64_t finish(struct job *job, int64_t now) {
  if (now >= job->deadline && job->deadline != NEVER) {
    job->out.left = waiting(&job->out);
    job->err.left = waiting(&job->err);
    job->deadline = NEVER;
  }
  if (job->credit == 0 && !job->terminal) {
    close_if_over(&job->out);
    close_if_over(&job->err);
  }
  if (!is_empty(&job->out) || !is_empty(&job->err)) {
    tell_end(job);
    return job->deadline;
  }
  tell_exit(job);
  if (job->terminal) job->in = -1;
  drain_add(&job->out);
  drain_add(&job->err);
  job_free(job);
  return NEVER;
}

int64_t job_check_time(struct job *job, int64_t now) {
  if (job->is_stream && !job->started && now >= job->deadline) {
    wire_error(&init.wire, job->id, ETIMEDOUT, "connect");
    job_free(job);
    return NEVER;
  }
  if (job->exited && job->started) return finish(job, now);
  return job->deadline;
}

static void kill_session(pid_t session) {
  struct procs procs;
  kill(-session, SIGKILL);
  if (!procs_read(&procs)) return;
  for (size_t at = 0; at < procs.count; at++)
    if (procs.list[at].session == session) proc_signal(&procs.list[at], SIGKILL);
  procs_free(&procs);
}

void job_signal(struct job *job, int signal) {
  if (job->is_stream) {
    if (signal == SIGKILL) stream_end(job, ECANCELED);
    return;
  }
  if (job->exited || signal <= 0 || signal >= _NSIG) return;
  if (signal == SIGKILL) {
    kill(job->pid, SIGKILL);
    kill_session(job->pid);
    return;
  }
  if (!job->started) {
    kill(job->pid, signal);
    return;
  }
  int group = 0;
  if (!job->terminal || ioctl(job->out.fd, TIOCGPGRP, &group) < 0 || group <= 0) group = job->pid;
  kill(-group, signal);
}

void job_resize(struct job *job, unsigned columns, unsigned rows) {
  struct winsize size = {.ws_col = (unsigned short)columns, .ws_row = (unsigned short)rows};
  if (job->terminal) ioctl(job->out.fd, TIOCSWINSZ, &size);
}
