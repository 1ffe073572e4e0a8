#include <stdio.h>
#include <string.h>

#include "box.h"
#include "../common/tags.h"

static int received = -1;

void send_setup(void) {
  static const char *const levels[] = {"none", "guarded", "namespace"};
  struct record record = {0};
  record_text(&record, 'V', PROTOCOL_VERSION);
  record_text(&record, 'k', levels[box.spec.level]);
  if (box.spec.port) record_number(&record, 'P', box.spec.port);
  if (box.spec.landlock >= 0) record_number(&record, 'L', (uint64_t)box.spec.landlock);
  if (box.spec.filter >= 0) record_number(&record, 'F', (uint64_t)box.spec.filter);
  wire_send(&box.init, FRAME_SETUP, 0, record.bytes, record.length);
}

enum wire_result read_greeting(void) {
  return wire_read_with_fd(&box.init, &received);
}

/* Its version, and the socket to listen on if one was asked for. */
bool is_greeting(const struct frame *frame) {
  static const char version[] = "V" PROTOCOL_VERSION;
  if (frame->type != FRAME_READY || frame->id != 0) return false;
  if (frame->length != sizeof version || memcmp(frame->data, version, sizeof version) != 0) return false;
  if (box.spec.port) return received >= 0 && proxy_receive(received);
  close_fd(&received);
  return true;
}
