/* Bytes between commands and the supervisor. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "init.h"

/* A terminal has no end of its own; a program that reads lines takes this character for one. */
static bool end_terminal_input(const struct job *job) {
  return write(job->in, "\004", 1) == 1 || (errno != EAGAIN && errno != EINTR);
}

static void close_input(struct job *job, bool broken) {
  if (job->in < 0) return;
  if (job->is_stream) stream_half_close(job);
  else if (!job->terminal) close_fd(&job->in);
  else if (broken || end_terminal_input(job)) job->in = -1;
}

static void tell_taken(const struct job *job, size_t count) {
  uint8_t payload[4];
  write_u32(payload, (uint32_t)count);
  if (count > 0) wire_send(&init.wire, FRAME_TAKEN, job->id, payload, sizeof payload);
}

static void discard_input(struct job *job) {
  tell_taken(job, job->input_length - job->input_sent);
  free(job->input);
  job->input = NULL;
  job->input_length = job->input_sent = 0;
}

void job_write(struct job *job) {
  size_t before = job->input_sent;
  bool broken = job->in < 0;
  while (!broken && job->input_sent < job->input_length) {
    ssize_t count = write(job->in, job->input + job->input_sent, job->input_length - job->input_sent);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) break;
    if (count < 0) broken = true;
    else job->input_sent += (size_t)count;
  }
  tell_taken(job, job->input_sent - before);
  /* Nobody reads it any more, which is no error. */
  if (broken || job->input_sent == job->input_length) discard_input(job);
  if (broken || (job->input_ends && job->input_length == 0)) close_input(job, broken);
}

void job_input(struct job *job, const uint8_t *data, size_t length) {
  size_t held = job->input_length - job->input_sent;
  if (length == 0) return;
  if (job->input_ends) {
    tell_taken(job, length);
    return;
  }
  if (length > STDIN_MOST - held) {
    init.over = true;
    return;
  }
  if (job->input_sent > 0) memmove(job->input, job->input + job->input_sent, held);
  uint8_t *input = realloc(job->input, held + length);
  if (!input) {
    init.over = true;
    return;
  }
  memcpy(input + held, data, length);
  job->input = input;
  job->input_sent = 0;
  job->input_length = held + length;
  if (job->started) job_write(job);
}

void job_input_end(struct job *job) {
  if (job->input_ends) return;
  job->input_ends = true;
  if (job->started) job_write(job);
}

void job_read(struct job *job, struct source *source, uint8_t type) {
  static uint8_t bytes[OUTPUT_MOST];
  uint64_t most = sizeof bytes;
  if (source->fd < 0) return;
  if (most > job->credit) most = job->credit;
  if (most > source->left) most = source->left;
  if (most == 0) return;
  ssize_t count = read(source->fd, bytes, (size_t)most);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) {
    int error = count < 0 ? errno : 0;
    if (job->is_stream) stream_end(job, error);
    else if (job->terminal && job->in == source->fd) job->in = -1;
    if (job->used && !job->is_stream) close_fd(&source->fd);
    return;
  }
  wire_send(&init.wire, type, job->id, bytes, (size_t)count);
  job->credit -= (uint64_t)count;
  if (source->left != UINT64_MAX) source->left -= (uint64_t)count;
}

/* What was left running may go on writing. With too many of them, the oldest find nobody who reads. */
void drain_add(struct source *source) {
  static unsigned next;
  if (source->fd < 0) return;
  struct source *place = NULL;
  for (int at = 0; at < DRAINS_MOST && !place; at++)
    if (init.drains[at].fd <= 0) place = &init.drains[at];
  if (!place) {
    place = &init.drains[next++ % DRAINS_MOST];
    close_fd(&place->fd);
  }
  place->fd = source->fd;
  source->fd = -1;
}

/* Makes room for a command, which has several files of its own. False if there is none to be made. */
bool drain_drop(void) {
  int dropped = 0;
  for (int at = 0; at < DRAINS_MOST && dropped < FILES_OF_COMMAND; at++) {
    struct source *drain = &init.drains[at];
    if (drain->fd <= 0) continue;
    close(drain->fd);
    drain->fd = 0;
    dropped++;
  }
  return dropped > 0;
}

void drain_read(struct source *drain) {
  static uint8_t bytes[OUTPUT_MOST];
  ssize_t count = read(drain->fd, bytes, sizeof bytes);
  if (count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR))) return;
  close(drain->fd);
  drain->fd = 0;
}
