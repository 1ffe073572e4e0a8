/* The state of a supervisor: one box, its clients, and what they wait for. */
#ifndef AW_BOX_H
#define AW_BOX_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "spec.h"
#include "../common/tags.h"
#include "../common/wire.h"

#define CLIENTS_MOST 256
#define SLOTS_MOST 1024
/* What init may have sent of one command's output and no client has taken yet. */
#define WINDOW (128u << 10)
/* A client with so much unread is neither read from nor given more output. */
#define UNREAD_MOST (1u << 20)

struct keep;

struct client {
  struct wire wire;
  bool open, freezes;
};

enum slot_kind { SLOT_FREE, SLOT_JOB, SLOT_STREAM, SLOT_REQUEST };

/* What init was asked for and has not finished. Its number is the id that init knows. */
struct slot {
  enum slot_kind kind;
  uint8_t request;
  /* `ended`: the command itself has, and its output is on the way. */
  bool started, ended, timed_out, cut;
  /* Some of its input has come, and not the end of it. */
  bool half_told;
  /* Counts up with each use, so that what is late for one is not taken for the next. */
  uint32_t use;
  /* Nobody: the client has gone, or it was the supervisor itself that asked. */
  struct client *client;
  uint32_t id;
  /* Credit that the client gave and init does not have yet; that init has; output that waits for the client. */
  uint64_t owed;
  uint32_t granted, queued;
  /* Input that init has not passed on yet. */
  uint32_t unacknowledged;
  uint64_t limit, delivered;
  /* Of a command that outlives its client. */
  struct keep *keep;
  int64_t deadline;
};

struct box {
  struct spec spec;
  struct wire init;
  struct client clients[CLIENTS_MOST];
  struct slot slots[SLOTS_MOST];
  uint32_t slots_used;
  /* `proxy_life` ends when the supervisor does, which the proxy sees. */
  int listener, signals, proxy_socket, proxy_log, proxy_life;
  pid_t first, proxy;
  /* `over_limit`: it ends because its tree has grown beyond the size limit. */
  bool ready, had_client, first_ended, stopping, frozen, over, over_limit;
  /* What the child that measures the tree will say, and how often in a row one could not; when it began, and when to
     begin again. */
  int size_result, size_failures;
  int64_t size_began, size_at;
  int64_t deadline, alone_until, kill_at, proxy_after, accept_after;
};

extern struct box box;

/* slots.c */
struct slot *slot_new(enum slot_kind kind, uint8_t request, struct client *client, uint32_t id);
struct slot *slot_of(const struct client *client, uint32_t id);
uint32_t slot_number(const struct slot *slot);
void slot_free(struct slot *slot);
/* Gives init what credit there is for it. */
void slot_grant(struct slot *slot);
/* The client has taken so much. */
void slot_sent(uint32_t number, uint32_t use, uint32_t weight);
/* The client has gone: it ends, and its output goes nowhere. */
void slot_abandon(struct slot *slot);
/* Ends what has run out of time; answers when to look again, or INT64_MAX. */
int64_t slots_check_time(int64_t now);
void slots_kill_all(void);

/* requests.c: a frame of a client. False: the connection is to be ended. `*wait`: init cannot take it yet. */
bool client_frame(struct client *client, const struct frame *frame, bool *wait);
void ask_init(uint8_t request, const void *data, size_t length);

/* answers.c: a frame of init. False: it broke the protocol. */
bool init_frame(const struct frame *frame);

/* clients.c */
void clients_accept(void);
void client_read(struct client *client);
void client_write(struct client *client);
/* Goes on with frames that had to wait. */
void client_resume(struct client *client);
void client_close(struct client *client);

/* keep.c: a command that is kept. False with errno if it is asked for wrongly; without `K` nothing is kept. */
bool keep_open(struct slot *slot, const struct frame *frame);
struct slot *keep_find(const char *path);
void keep_output(struct slot *slot, uint8_t type, const void *data, size_t length);
/* It has ended as the record says, or could not be started. */
void keep_end(struct slot *slot, struct record record);
/* Starts what is to follow those for whom nobody waits. The last thing that a supervisor does. */
void keep_finish_all(void);
void keep_free(struct keep *keep);

/* greeting.c: what supervisor and init say to each other first. */
void send_setup(void);
enum wire_result read_greeting(void);
bool is_greeting(const struct frame *frame);

/* size.c: the size limit of the tree. As slots_check_time. */
int64_t size_check_time(int64_t now);
void size_start(void);
void size_measured(void);

/* proxy.c */
bool proxy_receive(int fd);
void proxy_start(void);
void proxy_ended(void);
/* What it has to write down, it writes now. */
void proxy_warn(void);
/* Waits a little for it to do so, and ends it. */
void proxy_finish(void);

/* log.c: opens the log of the proxy, a new one if it has grown large. False with errno; then the last one stays. */
bool log_open(void);

/* ending.c */
_Noreturn void end_box(void);
_Noreturn void end_start(int error, const char *what);

int supervise(void);

#endif
