#include "wire.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common.h"

#define HEADER 9
#define IN_USUAL (64u << 10)
#define NO_OWNER UINT32_MAX

void wire_open(struct wire *wire, int fd, uint32_t most) {
  *wire = (struct wire){.fd = fd, .most = most};
}

void wire_close(struct wire *wire) {
  close_fd(&wire->fd);
  free(wire->in);
  while (wire->first) {
    struct chunk *chunk = wire->first;
    wire->first = chunk->next;
    free(chunk);
  }
  *wire = (struct wire){.fd = -1};
}

/* How much room the frame that has begun needs, as far as its length is known. */
static size_t wanted(const struct wire *wire) {
  size_t held = wire->in_end - wire->in_start;
  if (held < 4) return IN_USUAL;
  size_t whole = 4 + (size_t)read_u32(wire->in + wire->in_start);
  return whole > IN_USUAL && whole <= 4 + (size_t)wire->most ? whole : IN_USUAL;
}

/* Room for what comes; memory that only a large frame needed is given back. */
static bool make_room(struct wire *wire) {
  size_t held = wire->in_end - wire->in_start;
  if (held > 0 && wire->in_start > 0) memmove(wire->in, wire->in + wire->in_start, held);
  wire->in_start = 0;
  wire->in_end = held;
  size_t size = wanted(wire);
  if (size < held) size = held;
  if (size == wire->in_size) return true;
  uint8_t *in = realloc(wire->in, size);
  if (!in) return false;
  wire->in = in;
  wire->in_size = size;
  return true;
}

static enum wire_result received(struct wire *wire, ssize_t count) {
  if (count > 0) {
    wire->in_end += (size_t)count;
    return WIRE_DATA;
  }
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return WIRE_NOTHING;
  return WIRE_CLOSED;
}

enum wire_result wire_read(struct wire *wire) {
  if (!make_room(wire)) return WIRE_CLOSED;
  if (wire->in_end == wire->in_size) return WIRE_DATA;
  return received(wire, read(wire->fd, wire->in + wire->in_end, wire->in_size - wire->in_end));
}

enum wire_result wire_read_with_fd(struct wire *wire, int *fd) {
  if (!make_room(wire)) return WIRE_CLOSED;
  union {
    struct cmsghdr head;
    char bytes[CMSG_SPACE(sizeof *fd)];
  } control = {0};
  struct iovec part = {wire->in + wire->in_end, wire->in_size - wire->in_end};
  /* Exactly one has room: what more comes, the kernel drops. */
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_LEN(sizeof *fd)};
  if (part.iov_len == 0) return WIRE_DATA;
  ssize_t count = recvmsg(wire->fd, &message, MSG_CMSG_CLOEXEC);
  struct cmsghdr *head = count > 0 ? CMSG_FIRSTHDR(&message) : NULL;
  if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS &&
      head->cmsg_len == CMSG_LEN(sizeof *fd)) {
    close_fd(fd);
    memcpy(fd, CMSG_DATA(head), sizeof *fd);
  }
  return received(wire, count);
}

int wire_next(struct wire *wire, struct frame *frame) {
  size_t held = wire->in_end - wire->in_start;
  if (held < 4) return 0;
  const uint8_t *at = wire->in + wire->in_start;
  uint32_t length = read_u32(at);
  if (length < HEADER - 4 || length > wire->most) return -1;
  if (held - 4 < length) return 0;
  *frame = (struct frame){.type = at[4], .id = read_u32(at + 5), .data = at + HEADER, .length = length - (HEADER - 4)};
  return 1;
}

void wire_taken(struct wire *wire, const struct frame *frame) {
  wire->in_start += HEADER + frame->length;
}

static struct chunk *keep(struct wire *wire, const struct iovec parts[2], size_t sent) {
  size_t whole = parts[0].iov_len + parts[1].iov_len;
  struct chunk *chunk = malloc(sizeof *chunk + whole - sent);
  if (!chunk) return NULL;
  *chunk = (struct chunk){.length = whole - sent, .owner = NO_OWNER};
  size_t skip = sent, at = 0;
  for (int part = 0; part < 2; part++) {
    size_t begin = skip < parts[part].iov_len ? skip : parts[part].iov_len;
    size_t count = parts[part].iov_len - begin;
    if (count > 0) memcpy(chunk->bytes + at, (const uint8_t *)parts[part].iov_base + begin, count);
    at += count;
    skip -= begin;
  }
  if (wire->last) wire->last->next = chunk;
  else wire->first = chunk;
  wire->last = chunk;
  wire->queued += chunk->length;
  return chunk;
}

bool wire_send_for(struct wire *wire, uint8_t type, uint32_t id, const void *data, size_t length, uint32_t owner,
                   uint32_t owner_use) {
  if (wire->failed || wire->fd < 0) return false;
  uint8_t header[HEADER];
  write_u32(header, (uint32_t)(HEADER - 4 + length));
  header[4] = type;
  write_u32(header + 5, id);
  struct iovec parts[2] = {{header, sizeof header}, {(void *)(uintptr_t)data, length}};
  ssize_t sent = 0;
  if (!wire->first) {
    sent = writev(wire->fd, parts, 2);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) {
      wire->failed = true;
      return false;
    }
    if (sent < 0) sent = 0;
    if ((size_t)sent == sizeof header + length) return false;
  }
  struct chunk *chunk = keep(wire, parts, (size_t)sent);
  if (!chunk) {
    wire->failed = true;
    return false;
  }
  chunk->owner = owner;
  chunk->owner_use = owner_use;
  chunk->weight = (uint32_t)length;
  return true;
}

void wire_send(struct wire *wire, uint8_t type, uint32_t id, const void *data, size_t length) {
  wire_send_for(wire, type, id, data, length, NO_OWNER, 0);
}

void wire_error(struct wire *wire, uint32_t id, int error, const char *text) {
  uint8_t payload[256];
  write_u32(payload, (uint32_t)error);
  int length = snprintf((char *)payload + 4, sizeof payload - 4, "%s: %s", text, error_text(error));
  if (length > (int)sizeof payload - 5) length = (int)sizeof payload - 5;
  wire_send(wire, FRAME_ERR, id, payload, 4 + (size_t)length);
}

void wire_flush(struct wire *wire, sent_fn *sent) {
  while (wire->first && !wire->failed) {
    struct chunk *chunk = wire->first;
    ssize_t count = write(wire->fd, chunk->bytes + chunk->sent, chunk->length - chunk->sent);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count < 0) {
      wire->failed = true;
      return;
    }
    chunk->sent += (size_t)count;
    wire->queued -= (size_t)count;
    if (chunk->sent < chunk->length) return;
    wire->first = chunk->next;
    if (!wire->first) wire->last = NULL;
    if (sent && chunk->owner != NO_OWNER) sent(chunk->owner, chunk->owner_use, chunk->weight);
    free(chunk);
  }
}
