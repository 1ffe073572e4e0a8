/* One connection that carries frames. It never blocks: what the other side does not take is kept until it does. */
#ifndef AW_WIRE_H
#define AW_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  FRAME_EXEC = 1,
  FRAME_STDIN,
  FRAME_EOF,
  FRAME_SIGNAL,
  FRAME_RESIZE,
  FRAME_CREDIT,
  FRAME_CONNECT,
  FRAME_PUT,
  FRAME_STATUS,
  FRAME_FREEZE,
  FRAME_THAW,
  FRAME_STOP,
  FRAME_PING,
  FRAME_SETUP,
  FRAME_REMOVE,
  FRAME_SIGNAL_KEPT,
  FRAME_SIZE_LIMIT,

  FRAME_READY = 64,
  FRAME_STDOUT,
  FRAME_STDERR,
  FRAME_EXIT,
  FRAME_OK,
  FRAME_ERR,
  FRAME_STARTED,
  FRAME_TAKEN,
  FRAME_ENDED,
};

#define FRAME_MOST (4u << 20)
/* The largest piece of output in one frame, and the largest frame that init may send. */
#define OUTPUT_MOST (64u << 10)
#define INIT_FRAME_MOST (OUTPUT_MOST + 64)
#define STDIN_MOST (256u << 10)

struct frame {
  uint8_t type;
  uint32_t id;
  const uint8_t *data;
  size_t length;
};

struct chunk {
  struct chunk *next;
  size_t length, sent;
  uint32_t owner, owner_use, weight;
  uint8_t bytes[];
};

struct wire {
  int fd;
  uint32_t most;
  uint8_t *in;
  size_t in_size, in_start, in_end;
  struct chunk *first, *last;
  /* Bytes that wait to be sent. */
  size_t queued;
  bool failed;
};

enum wire_result { WIRE_DATA, WIRE_NOTHING, WIRE_CLOSED };

void wire_open(struct wire *wire, int fd, uint32_t most);
void wire_close(struct wire *wire);

/* Reads once. Descriptors that come with it are dropped. */
enum wire_result wire_read(struct wire *wire);
/* The same; a descriptor that comes with it is the caller's. */
enum wire_result wire_read_with_fd(struct wire *wire, int *fd);
/* 1: the next whole frame, which stays where it is until `wire_taken`; 0: not whole yet; -1: no frame. */
int wire_next(struct wire *wire, struct frame *frame);
void wire_taken(struct wire *wire, const struct frame *frame);

/* Sends now or later. A failure shows in `failed`. */
void wire_send(struct wire *wire, uint8_t type, uint32_t id, const void *data, size_t length);
/* The same; true if a part waits: then `wire_flush` will tell `weight` to the owner when it has gone. */
bool wire_send_for(struct wire *wire, uint8_t type, uint32_t id, const void *data, size_t length, uint32_t owner,
                   uint32_t owner_use);
void wire_error(struct wire *wire, uint32_t id, int error, const char *text);

typedef void sent_fn(uint32_t owner, uint32_t owner_use, uint32_t weight);
void wire_flush(struct wire *wire, sent_fn *sent);

#endif
