#include <signal.h>

#include "box.h"

#define GRANT_LEAST 4096
/* For the supervisor itself, whatever clients do. */
#define SLOTS_OWN 16

struct slot *slot_new(enum slot_kind kind, uint8_t request, struct client *client, uint32_t id) {
  uint32_t most = client ? SLOTS_MOST - SLOTS_OWN : SLOTS_MOST;
  for (uint32_t at = 0; at < most; at++) {
    struct slot *slot = &box.slots[at];
    if (slot->kind != SLOT_FREE) continue;
    *slot = (struct slot){.kind = kind, .request = request, .client = client, .id = id, .use = slot->use + 1};
    slot->limit = UINT64_MAX;
    slot->deadline = INT64_MAX;
    if (at >= box.slots_used) box.slots_used = at + 1;
    return slot;
  }
  return NULL;
}

struct slot *slot_of(const struct client *client, uint32_t id) {
  for (uint32_t at = 0; at < box.slots_used; at++) {
    struct slot *slot = &box.slots[at];
    if (slot->kind != SLOT_FREE && slot->client == client && slot->id == id) return slot;
  }
  return NULL;
}

uint32_t slot_number(const struct slot *slot) {
  return (uint32_t)(slot - box.slots);
}

void slot_free(struct slot *slot) {
  keep_free(slot->keep);
  slot->keep = NULL;
  slot->kind = SLOT_FREE;
  slot->client = NULL;
}

void slot_grant(struct slot *slot) {
  if (slot->kind != SLOT_JOB && slot->kind != SLOT_STREAM) return;
  /* What is kept or thrown away waits for nobody. */
  bool flows = slot->keep || !slot->client || slot->delivered >= slot->limit;
  uint32_t held = slot->granted + slot->queued;
  if (slot->granted > WINDOW / 2 || held >= WINDOW) return;
  if (!flows && slot->client->wire.queued >= UNREAD_MOST) return;
  uint64_t give = WINDOW - held;
  if (!flows && slot->owed < give) give = slot->owed;
  /* Not in crumbs; there will be more room when the client has taken what waits. */
  if (give == 0 || (give < GRANT_LEAST && slot->queued > 0)) return;
  if (!flows) slot->owed -= give;
  slot->granted += (uint32_t)give;
  uint8_t payload[4];
  write_u32(payload, (uint32_t)give);
  wire_send(&box.init, FRAME_CREDIT, slot_number(slot), payload, sizeof payload);
}

void slot_sent(uint32_t number, uint32_t use, uint32_t weight) {
  struct slot *slot = &box.slots[number];
  if (slot->kind == SLOT_FREE || slot->use != use) return;
  slot->queued -= weight;
  slot_grant(slot);
}

static void kill_slot(const struct slot *slot) {
  const uint8_t payload[4] = {SIGKILL};
  wire_send(&box.init, FRAME_SIGNAL, slot_number(slot), payload, sizeof payload);
}

void slot_abandon(struct slot *slot) {
  slot->client = NULL;
  slot->queued = 0;
  if (slot->keep) {
    /* Half of what it was to be told may mean something else. */
    if (slot->half_told) kill_slot(slot);
    else wire_send(&box.init, FRAME_EOF, slot_number(slot), NULL, 0);
    return;
  }
  if (slot->kind != SLOT_JOB && slot->kind != SLOT_STREAM) return;
  kill_slot(slot);
  slot_grant(slot);
}

void slots_kill_all(void) {
  for (uint32_t at = 0; at < box.slots_used; at++)
    if (box.slots[at].kind == SLOT_JOB && !box.slots[at].ended) kill_slot(&box.slots[at]);
}

int64_t slots_check_time(int64_t now) {
  int64_t next = INT64_MAX;
  for (uint32_t at = 0; at < box.slots_used; at++) {
    struct slot *slot = &box.slots[at];
    if (slot->kind != SLOT_JOB || slot->ended || slot->timed_out) continue;
    if (slot->deadline <= now) {
      slot->timed_out = true;
      kill_slot(slot);
    } else if (slot->deadline < next) next = slot->deadline;
  }
  return next;
}
