#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "box.h"
#include "../common/tags.h"

/* Where there are no descriptors left, the next try must not come at once. */
#define ACCEPT_AGAIN_MS 100

static bool may_connect(int fd) {
  struct ucred peer;
  socklen_t length = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0) return false;
  return peer.uid == 0 || peer.uid == geteuid();
}

static struct client *free_place(void) {
  for (int at = 0; at < CLIENTS_MOST; at++)
    if (!box.clients[at].open) return &box.clients[at];
  return NULL;
}

static void greet(struct client *client) {
  struct record record = {0};
  record_text(&record, 'V', PROTOCOL_VERSION);
  record_number(&record, 'p', (uint64_t)getpid());
  wire_send(&client->wire, FRAME_READY, 0, record.bytes, record.length);
}

/* It has sent nothing yet, so this is there to be read when the connection has ended. */
static void turn_away(int fd) {
  struct wire wire;
  wire_open(&wire, fd, FRAME_MOST);
  wire_error(&wire, 0, EAGAIN, "too many connections");
  wire_close(&wire);
}

void clients_accept(void) {
  int fd = accept4(box.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) {
    box.accept_after = now_ms() + ACCEPT_AGAIN_MS;
    return;
  }
  if (!may_connect(fd)) {
    close(fd);
    return;
  }
  struct client *client = free_place();
  if (!client) {
    turn_away(fd);
    return;
  }
  *client = (struct client){.open = true};
  wire_open(&client->wire, fd, FRAME_MOST);
  box.had_client = true;
  greet(client);
}

/* Its commands end with it, and what it froze goes on. */
void client_close(struct client *client) {
  if (client->freezes) {
    box.frozen = false;
    ask_init(FRAME_THAW, NULL, 0);
  }
  for (uint32_t at = 0; at < box.slots_used; at++)
    if (box.slots[at].kind != SLOT_FREE && box.slots[at].client == client) slot_abandon(&box.slots[at]);
  wire_close(&client->wire);
  *client = (struct client){0};
}

static bool take_frames(struct client *client) {
  struct frame frame;
  int more;
  while (client->wire.queued < UNREAD_MOST && (more = wire_next(&client->wire, &frame)) != 0) {
    bool wait = false;
    if (more < 0 || !client_frame(client, &frame, &wait)) return false;
    if (wait) return true;
    wire_taken(&client->wire, &frame);
  }
  return true;
}

void client_read(struct client *client) {
  enum wire_result result = wire_read(&client->wire);
  bool fine = take_frames(client);
  if (!fine || result == WIRE_CLOSED || client->wire.failed) client_close(client);
}

void client_write(struct client *client) {
  wire_flush(&client->wire, slot_sent);
  if (client->wire.failed) {
    client_close(client);
    return;
  }
  for (uint32_t at = 0; at < box.slots_used; at++)
    if (box.slots[at].client == client) slot_grant(&box.slots[at]);
}

void client_resume(struct client *client) {
  if (!take_frames(client) || client->wire.failed) client_close(client);
}
