/* What init says. It is believed nothing: an answer must be one that was asked for, of a size that was allowed. */
#include <string.h>

#include "box.h"
#include "../common/tags.h"

static void to_client(const struct slot *slot, uint8_t type, const void *data, size_t length) {
  if (slot->client) wire_send(&slot->client->wire, type, slot->id, data, length);
}

/* Tags out of `known`, each a number and at most once. */
static bool numbers_only(const struct frame *frame, const char *known) {
  struct tags tags = tags_of(frame->data, frame->length);
  struct tag tag;
  char seen[16] = "";
  size_t count = 0;
  uint64_t value;
  int more;
  while ((more = tags_next(&tags, &tag)) > 0) {
    if (!strchr(known, tag.name) || strchr(seen, tag.name) || count + 1 == sizeof seen) return false;
    if (!parse_number(tag.value, INT64_MAX, &value)) return false;
    seen[count++] = tag.name;
  }
  return more == 0;
}

static bool output(struct slot *slot, const struct frame *frame) {
  if (slot->kind == SLOT_REQUEST || !slot->started) return false;
  if (frame->length == 0 || frame->length > slot->granted) return false;
  slot->granted -= (uint32_t)frame->length;
  if (slot->client || slot->keep) {
    uint64_t room = slot->limit - slot->delivered;
    size_t take = frame->length < room ? frame->length : (size_t)room;
    slot->cut |= take < frame->length;
    slot->delivered += take;
    if (take > 0 && slot->keep) keep_output(slot, frame->type, frame->data, take);
    else if (take > 0 && wire_send_for(&slot->client->wire, frame->type, slot->id, frame->data, take, slot_number(slot),
                                  slot->use))
      slot->queued += (uint32_t)take;
  }
  slot_grant(slot);
  return true;
}

static bool ended(struct slot *slot, const struct frame *frame) {
  if (slot->kind != SLOT_JOB || !slot->started || slot->ended || frame->length > 0) return false;
  return slot->ended = true;
}

static bool has_tag(const struct frame *frame, char name) {
  struct tags tags = tags_of(frame->data, frame->length);
  struct tag tag;
  while (tags_next(&tags, &tag) > 0)
    if (tag.name == name) return true;
  return false;
}

static bool finished(struct slot *slot, const struct frame *frame) {
  if (slot->kind == SLOT_REQUEST || !slot->started || !numbers_only(frame, "xsmuyw")) return false;
  struct record record = {0};
  if (frame->length > sizeof record.bytes - 8) return false;
  memcpy(record.bytes, frame->data, frame->length);
  record.length = frame->length;
  /* One that ended by itself just before it was killed was in time. */
  if (slot->timed_out && has_tag(frame, 's')) record_text(&record, 'T', "");
  if (box.over_limit && has_tag(frame, 's')) record_text(&record, 'Q', "");
  if (slot->cut) record_text(&record, 'O', "");
  /* How it ended is kept before anybody hears of it. */
  if (slot->keep) keep_end(slot, record);
  to_client(slot, FRAME_EXIT, record.bytes, record.length);
  slot_free(slot);
  return true;
}

static bool taken(struct slot *slot, const struct frame *frame) {
  if (slot->kind == SLOT_REQUEST || frame->length != 4) return false;
  uint32_t count = read_u32(frame->data);
  if (count == 0 || count > slot->unacknowledged) return false;
  slot->unacknowledged -= count;
  to_client(slot, FRAME_TAKEN, frame->data, frame->length);
  return true;
}

static bool started(struct slot *slot, const struct frame *frame) {
  if (slot->kind == SLOT_REQUEST || slot->started || frame->length != 4) return false;
  slot->started = true;
  to_client(slot, FRAME_STARTED, frame->data, frame->length);
  return true;
}

static bool done(struct slot *slot, const struct frame *frame) {
  if (slot->kind != SLOT_REQUEST) return false;
  if (slot->request == FRAME_STATUS ? !numbers_only(frame, "jp") : frame->length > 0) return false;
  to_client(slot, FRAME_OK, frame->data, frame->length);
  slot_free(slot);
  return true;
}

static bool failed(struct slot *slot, const struct frame *frame) {
  if (slot->started || frame->length < 4 || frame->length > 1024) return false;
  bool unfreezes = slot->request == FRAME_FREEZE && slot->client && slot->client->freezes;
  if (unfreezes) box.frozen = slot->client->freezes = false;
  if (slot->keep) {
    struct record record = {0};
    record_number(&record, 'E', read_u32(frame->data));
    keep_end(slot, record);
  }
  to_client(slot, FRAME_ERR, frame->data, frame->length);
  slot_free(slot);
  return true;
}

bool init_frame(const struct frame *frame) {
  if (frame->id >= SLOTS_MOST || box.slots[frame->id].kind == SLOT_FREE) return false;
  struct slot *slot = &box.slots[frame->id];
  switch (frame->type) {
    case FRAME_STDOUT:
    case FRAME_STDERR: return output(slot, frame);
    case FRAME_ENDED: return ended(slot, frame);
    case FRAME_EXIT: return finished(slot, frame);
    case FRAME_TAKEN: return taken(slot, frame);
    case FRAME_STARTED: return started(slot, frame);
    case FRAME_OK: return done(slot, frame);
    case FRAME_ERR: return failed(slot, frame);
    default: return false;
  }
}
