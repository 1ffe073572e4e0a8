/* Connections to what listens inside, and the one socket that the way out listens on. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "init.h"
#include "../common/tags.h"

#define CONNECT_MS 10000

static struct sockaddr_in loopback(uint16_t port) {
  return (struct sockaddr_in){
      .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static bool parse_port(const struct frame *frame, uint16_t *port) {
  struct tags tags = tags_of(frame->data, frame->length);
  struct tag tag;
  uint64_t number = 0;
  int more;
  while ((more = tags_next(&tags, &tag)) > 0)
    if (tag.name != 'n' || !parse_number(tag.value, 65535, &number)) return false;
  *port = (uint16_t)number;
  return more == 0 && number > 0;
}

/* 0 or an errno. */
static int begin(struct job *job, uint16_t port) {
  struct sockaddr_in at = loopback(port);
  job->is_stream = true;
  job->deadline = now_ms() + CONNECT_MS;
  reserve_files(true);
  job->out.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  int error = errno;
  reserve_files(false);
  if (job->out.fd < 0) return error;
  job->in = job->out.fd;
  return connect(job->out.fd, (struct sockaddr *)&at, sizeof at) < 0 && errno != EINPROGRESS ? errno : 0;
}

void stream_start(const struct frame *frame) {
  uint16_t port;
  int error = EINVAL;
  struct job *job = NULL;
  if (parse_port(frame, &port)) {
    job = job_new(frame->id);
    error = job ? begin(job, port) : EAGAIN;
  }
  if (!error) return;
  wire_error(&init.wire, frame->id, error, "connect");
  if (job) job_free(job);
}

void stream_connected(struct job *job) {
  int error = 0;
  socklen_t length = sizeof error;
  if (getsockopt(job->out.fd, SOL_SOCKET, SO_ERROR, &error, &length) < 0) error = errno;
  if (error) {
    wire_error(&init.wire, job->id, error, "connect");
    job_free(job);
    return;
  }
  static const uint8_t nobody[4];
  job->started = true;
  job->deadline = INT64_MAX;
  wire_send(&init.wire, FRAME_STARTED, job->id, nobody, sizeof nobody);
  job_write(job);
}

/* 0 if the other side has said all it had to say. */
void stream_end(struct job *job, int error) {
  if (!job->started) wire_error(&init.wire, job->id, error, "connect");
  else {
    struct record record = {0};
    record_number(&record, 'x', (uint64_t)error);
    record_number(&record, 'w', (uint64_t)(now_us() - job->began_us));
    wire_send(&init.wire, FRAME_EXIT, job->id, record.bytes, record.length);
  }
  job_free(job);
}

void stream_half_close(struct job *job) {
  shutdown(job->in, SHUT_WR);
  job->in = -1;
}

int listen_inside(uint16_t port) {
  struct sockaddr_in at = loopback(port);
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
  if (fd < 0) return -1;
  if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
      bind(fd, (struct sockaddr *)&at, sizeof at) == 0 && listen(fd, 128) == 0)
    return fd;
  close(fd);
  return -1;
}
