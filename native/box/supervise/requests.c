/* What clients ask for: checked, and passed on to init under an id of its own. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "box.h"
#include "../common/tags.h"

/* Beyond so much for init, the next frame waits in its client. */
#define INIT_QUEUE_MOST (1u << 20)

void ask_init(uint8_t request, const void *data, size_t length) {
  struct slot *slot = slot_new(SLOT_REQUEST, request, NULL, 0);
  if (slot) wire_send(&box.init, request, slot_number(slot), data, length);
  else box.over = true;
}

static void refuse(struct client *client, const struct frame *frame, int error, const char *text) {
  wire_error(&client->wire, frame->id, error, text);
}

static struct slot *open_slot(struct client *client, const struct frame *frame, enum slot_kind kind) {
  struct slot *slot = box.stopping ? NULL : slot_new(kind, frame->type, client, frame->id);
  if (!slot) refuse(client, frame, box.stopping ? ESHUTDOWN : EAGAIN, box.stopping ? "the box is ending" : "busy");
  return slot;
}

/* Limits and credit are the supervisor's own affair; all else is passed on. Which tags are known, init says. */
static bool own_tag(struct slot *slot, const struct tag *tag) {
  uint64_t ms;
  switch (tag->name) {
    case 't':
      if (!parse_number(tag->value, INT32_MAX, &ms)) return false;
      slot->deadline = now_ms() + (int64_t)ms;
      return true;
    case 'm': return parse_number(tag->value, INT64_MAX, &slot->limit);
    case 'c': return parse_number(tag->value, UINT32_MAX, &slot->owed);
    default: return true;
  }
}

static size_t without_own(struct slot *slot, const struct frame *frame, char *copy, const char *own) {
  struct tags tags = tags_of(frame->data, frame->length);
  struct tag tag;
  size_t length = 0;
  int more;
  while ((more = tags_next(&tags, &tag)) > 0) {
    if (strchr(own, tag.name)) {
      if (!own_tag(slot, &tag)) return SIZE_MAX;
      continue;
    }
    size_t size = (size_t)(tags.at - tag.value) + 1;
    memcpy(copy + length, tag.value - 1, size);
    length += size;
  }
  return more < 0 ? SIZE_MAX : length;
}

static void begin(struct client *client, const struct frame *frame, enum slot_kind kind, const char *own) {
  struct slot *slot = open_slot(client, frame, kind);
  if (!slot) return;
  char *copy = malloc(frame->length + 1);
  size_t length = copy ? without_own(slot, frame, copy, own) : SIZE_MAX;
  bool keeps = kind != SLOT_JOB || keep_open(slot, frame);
  if (length == SIZE_MAX || !keeps) {
    int error = !copy ? ENOMEM : keeps ? EINVAL : errno;
    slot_free(slot);
    refuse(client, frame, error, keeps ? "the request" : "keep");
  } else {
    wire_send(&box.init, frame->type, slot_number(slot), copy, length);
    slot_grant(slot);
  }
  free(copy);
}

/* To a kept command, whoever asked for it. */
static void signal_kept(struct client *client, const struct frame *frame) {
  struct tags tags = tags_of(frame->data, frame->length);
  struct tag path, number;
  uint64_t signal;
  if (tags_next(&tags, &path) <= 0 || path.name != 'K' || tags_next(&tags, &number) <= 0 || number.name != 's' ||
      tags_next(&tags, &(struct tag){0}) != 0 || !parse_number(number.value, 64, &signal)) {
    refuse(client, frame, EINVAL, "the request");
    return;
  }
  struct slot *slot = keep_find(path.value);
  if (!slot) {
    refuse(client, frame, ESRCH, "no such command is kept");
    return;
  }
  uint8_t payload[4];
  write_u32(payload, (uint32_t)signal);
  wire_send(&box.init, FRAME_SIGNAL, slot_number(slot), payload, sizeof payload);
  wire_send(&client->wire, FRAME_OK, frame->id, NULL, 0);
}

static void pass_request(struct client *client, const struct frame *frame) {
  struct slot *slot = open_slot(client, frame, SLOT_REQUEST);
  if (slot) wire_send(&box.init, frame->type, slot_number(slot), frame->data, frame->length);
}

static void freeze(struct client *client, const struct frame *frame) {
  if (box.frozen) {
    refuse(client, frame, EBUSY, "it is frozen already");
    return;
  }
  struct slot *slot = open_slot(client, frame, SLOT_REQUEST);
  if (!slot) return;
  box.frozen = client->freezes = true;
  wire_send(&box.init, FRAME_FREEZE, slot_number(slot), NULL, 0);
}

static void thaw(struct client *client, const struct frame *frame) {
  if (!client->freezes) {
    refuse(client, frame, EINVAL, "it is not frozen by this client");
    return;
  }
  box.frozen = client->freezes = false;
  pass_request(client, frame);
}

/* The supervisor keeps the time; init only passes the signal on, and ends early if nothing is left. */
static bool stop(struct client *client, const struct frame *frame) {
  if (frame->length != 4) return false;
  int64_t at = now_ms() + read_u32(frame->data);
  if (!box.stopping) ask_init(FRAME_STOP, NULL, 0);
  if (!box.stopping || at < box.kill_at) box.kill_at = at;
  box.stopping = true;
  wire_send(&client->wire, FRAME_OK, frame->id, NULL, 0);
  return true;
}

/* The size limit of the tree has been changed; 0 takes it away. */
static void limit_size(struct client *client, const struct frame *frame) {
  struct tags tags = tags_of(frame->data, frame->length);
  struct tag most;
  uint64_t bytes;
  if (tags_next(&tags, &most) <= 0 || most.name != 'Q' || tags_next(&tags, &(struct tag){0}) != 0 ||
      !parse_number(most.value, INT64_MAX, &bytes) || box.spec.sized.count == 0) {
    refuse(client, frame, EINVAL, "the request");
    return;
  }
  box.spec.size_most = bytes;
  size_start();
  wire_send(&client->wire, FRAME_OK, frame->id, NULL, 0);
}

/* What is for something that has just ended is for nobody, and no error. */
static bool pass_to_job(struct client *client, const struct frame *frame) {
  struct slot *slot = slot_of(client, frame->id);
  if (!slot) return true;
  if (slot->kind == SLOT_REQUEST) return false;
  if (frame->type == FRAME_CREDIT) {
    if (frame->length != 4) return false;
    uint64_t more = read_u32(frame->data);
    slot->owed = slot->owed > UINT64_MAX - more ? UINT64_MAX : slot->owed + more;
    slot_grant(slot);
    return true;
  }
  if (frame->type == FRAME_STDIN) {
    if (frame->length > STDIN_MOST - slot->unacknowledged) return false;
    slot->unacknowledged += (uint32_t)frame->length;
    slot->half_told = true;
  }
  if (frame->type == FRAME_EOF && frame->length != 0) return false;
  if (frame->type == FRAME_EOF) slot->half_told = false;
  if ((frame->type == FRAME_SIGNAL || frame->type == FRAME_RESIZE) && frame->length != 4) return false;
  wire_send(&box.init, frame->type, slot_number(slot), frame->data, frame->length);
  return true;
}

static bool is_new(const struct client *client, const struct frame *frame) {
  return !slot_of(client, frame->id);
}

bool client_frame(struct client *client, const struct frame *frame, bool *wait) {
  if (frame->type == FRAME_STOP) return is_new(client, frame) && stop(client, frame);
  if (frame->type == FRAME_PING) {
    wire_send(&client->wire, FRAME_OK, frame->id, NULL, 0);
    return is_new(client, frame);
  }
  if (frame->type < FRAME_EXEC || frame->type > FRAME_SIZE_LIMIT || frame->type == FRAME_SETUP) return false;
  if (box.init.queued > INIT_QUEUE_MOST) return *wait = true;
  if (frame->type >= FRAME_STDIN && frame->type <= FRAME_CREDIT) return pass_to_job(client, frame);
  if (!is_new(client, frame)) return false;
  switch (frame->type) {
    case FRAME_EXEC: begin(client, frame, SLOT_JOB, "tmcKSrfF"); break;
    case FRAME_CONNECT: begin(client, frame, SLOT_STREAM, "c"); break;
    case FRAME_FREEZE: freeze(client, frame); break;
    case FRAME_THAW: thaw(client, frame); break;
    case FRAME_SIGNAL_KEPT: signal_kept(client, frame); break;
    case FRAME_SIZE_LIMIT: limit_size(client, frame); break;
    default: pass_request(client, frame);
  }
  return true;
}
