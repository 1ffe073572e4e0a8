/* The supervisor: starts a box, serves its clients, ends with it. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "box.h"
#include "../common/kernel.h"
#include "../launch/launch.h"

/* More than there may be clients: one too many is told so, and not that nobody listens. */
#define BACKLOG 1024
#define START_MS 30000
#define FIRST_CLIENT_MS 30000

struct box box;

static char *read_spec(size_t *length) {
  char *text = malloc(SPEC_MOST + 1);
  if (!text) end_start(ENOMEM, "reading the spec");
  *length = 0;
  for (;;) {
    ssize_t count = read(0, text + *length, SPEC_MOST + 1 - *length);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) end_start(errno, "reading the spec");
    if (count == 0) return text;
    *length += (size_t)count;
    if (*length > SPEC_MOST) end_start(E2BIG, "the spec is too long");
  }
}

static void listen_for_clients(void) {
  struct sockaddr_un at = {.sun_family = AF_UNIX};
  snprintf(at.sun_path, sizeof at.sun_path, "/proc/self/fd/%d/s", box.spec.directory);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  umask(077);
  if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) < 0) end_start(errno, "binding the socket");
  box.listener = fd;
  if (listen(fd, BACKLOG) < 0) end_start(errno, "listening");
}

static void watch_signals(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGHUP);
  if (sigprocmask(SIG_SETMASK, &set, NULL) < 0) end_start(errno, "blocking signals");
  signal(SIGPIPE, SIG_IGN);
  /* A limit of the starter's on files is met by a write that fails. */
  signal(SIGXFSZ, SIG_IGN);
  box.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (box.signals < 0) end_start(errno, "watching signals");
}

/* Whatever else the starter had open is none of ours: somebody may be waiting for the end of it. */
static void close_others(void) {
  int last = 2;
  for (int next; last >= 0; last = next) {
    next = next_above(box.spec.handles, box.spec.handle_count, last);
    const int own[] = {box.spec.directory, box.spec.settings};
    int mine = next_above(own, 2, last);
    if (mine > 0 && (next < 0 || mine < next)) next = mine;
    unsigned end = next < 0 ? ~0u : (unsigned)next - 1;
    if ((unsigned)last + 1 <= end && sys_close_range((unsigned)last + 1, end, 0) < 0) end_start(errno, "close_range");
  }
}

static void close_handles(void) {
  for (size_t at = 0; at < box.spec.handle_count; at++) close(box.spec.handles[at]);
}

static void start_box(void) {
  int ends[2];
  struct failure failure;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) end_start(errno, "making a socket pair");
  if (launch(&box.spec, ends[1], &box.first, &failure) < 0) end_start(failure.error, failure.text);
  close(ends[1]);
  close_handles();
  if (!set_nonblocking(ends[0])) end_start(errno, "the socket pair");
  wire_open(&box.init, ends[0], INIT_FRAME_MOST);
  send_setup();
}

/* From here on, nobody else writes to what the starter gave us. */
static void tell_ready(void) {
  char line[32];
  int length = snprintf(line, sizeof line, "ready %d\n", (int)box.first);
  box.ready = true;
  size_start();
  box.deadline = box.spec.wall_ms ? now_ms() + (int64_t)box.spec.wall_ms : INT64_MAX;
  /* Whoever takes the answer comes at once; one that died with it in its hand never does. */
  box.alone_until = now_ms() + FIRST_CLIENT_MS;
  bool told = write_all(1, line, (size_t)length);
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (!told || null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0) box.over = true;
  close_fd(&null);
}

static void handle_signals(void) {
  struct signalfd_siginfo info;
  while (read(box.signals, &info, sizeof info) == (ssize_t)sizeof info)
    if (info.ssi_signo != SIGCHLD) box.over = true;
  for (pid_t pid; (pid = waitpid(-1, NULL, WNOHANG)) > 0;) {
    if (pid == box.first) box.first_ended = true;
    if (pid == box.proxy) proxy_ended();
  }
}

static void handle_init(void) {
  struct frame frame;
  enum wire_result result = box.ready ? wire_read(&box.init) : read_greeting();
  int more = 0;
  while (!box.over && (more = wire_next(&box.init, &frame)) > 0) {
    bool fine = box.ready ? init_frame(&frame) : is_greeting(&frame);
    if (fine && !box.ready) tell_ready();
    if (!fine) box.over = true;
    wire_taken(&box.init, &frame);
  }
  if (more < 0 || result == WIRE_CLOSED || (result == WIRE_NOTHING && box.first_ended)) box.over = true;
}

static int64_t earliest(int64_t one, int64_t other) {
  return one < other ? one : other;
}

/* Ends what is over; answers how long to wait for what comes next. */
static int check_time(void) {
  int64_t now = now_ms(), end = box.deadline;
  if (box.stopping) end = earliest(end, box.kill_at);
  if (!box.had_client) end = earliest(end, box.alone_until);
  if (now >= end) box.over = true;
  int64_t next = earliest(end, earliest(slots_check_time(now), size_check_time(now)));
  if (box.accept_after > now) next = earliest(next, box.accept_after);
  if (box.proxy_socket >= 0 && !box.proxy && box.proxy_after > now) next = earliest(next, box.proxy_after);
  if (box.first_ended) return 0;
  if (next == INT64_MAX) return -1;
  return next <= now ? 0 : (int)earliest(next - now, INT32_MAX);
}

static bool any_client(void) {
  for (int at = 0; at < CLIENTS_MOST; at++)
    if (box.clients[at].open) return true;
  return false;
}

static short client_events(const struct client *client) {
  struct frame frame;
  struct wire *wire = (struct wire *)(uintptr_t)&client->wire;
  bool reads = wire->queued < UNREAD_MOST && wire_next(wire, &frame) == 0;
  return (short)((reads ? POLLIN : 0) | (wire->first ? POLLOUT : 0));
}

enum { POLL_SIGNALS, POLL_INIT, POLL_LISTENER, POLL_PROXY, POLL_SIZE, POLL_FIXED };

static struct pollfd polls[POLL_FIXED + CLIENTS_MOST];
static struct client *owners[CLIENTS_MOST];

static nfds_t gather(void) {
  int64_t now = now_ms();
  bool accepts = box.ready && box.accept_after <= now;
  bool proxy_waits = box.proxy_socket >= 0 && !box.proxy && box.proxy_after <= now;
  polls[POLL_SIGNALS] = (struct pollfd){.fd = box.signals, .events = POLLIN};
  polls[POLL_INIT] = (struct pollfd){.fd = box.init.fd, .events = (short)(POLLIN | (box.init.first ? POLLOUT : 0))};
  polls[POLL_LISTENER] = (struct pollfd){.fd = accepts ? box.listener : -1, .events = POLLIN};
  polls[POLL_PROXY] = (struct pollfd){.fd = proxy_waits ? box.proxy_socket : -1, .events = POLLIN};
  polls[POLL_SIZE] = (struct pollfd){.fd = box.size_result, .events = POLLIN};
  nfds_t count = 0;
  for (int at = 0; at < CLIENTS_MOST; at++) {
    struct client *client = &box.clients[at];
    if (!client->open) continue;
    owners[count] = client;
    polls[POLL_FIXED + count] = (struct pollfd){.fd = client->wire.fd, .events = client_events(client)};
    count++;
  }
  return count;
}

static void serve(struct client *client, short events) {
  if (events & POLLOUT) client_write(client);
  if (client->open && events & POLLIN) client_read(client);
  else if (client->open && events & (POLLHUP | POLLERR | POLLNVAL)) client_close(client);
  if (client->open) client_resume(client);
}

static void turn(void) {
  int wait = check_time();
  if (box.over) return;
  nfds_t count = gather();
  if (poll(polls, POLL_FIXED + count, wait) < 0) {
    if (errno != EINTR) box.over = true;
    return;
  }
  if (polls[POLL_SIGNALS].revents) handle_signals();
  if (polls[POLL_INIT].revents & POLLOUT) wire_flush(&box.init, NULL);
  if (polls[POLL_INIT].revents & ~POLLOUT || box.first_ended) handle_init();
  for (nfds_t at = 0; at < count; at++) serve(owners[at], polls[POLL_FIXED + at].revents);
  if (polls[POLL_LISTENER].revents) clients_accept();
  if (polls[POLL_PROXY].revents) proxy_start();
  if (polls[POLL_SIZE].revents) size_measured();
  if (box.init.failed) box.over = true;
  if (box.spec.ends_with_clients && box.had_client && !any_client()) box.over = true;
}

int supervise(void) {
  size_t length;
  const char *problem;
  box.listener = box.signals = box.proxy_socket = box.proxy_log = box.proxy_life = box.init.fd = box.size_result = -1;
  box.size_at = INT64_MAX;
  if (!raise_file_limit()) end_start(errno, "setrlimit");
  if (sys_close_range(3, ~0u, CLOSE_RANGE_CLOEXEC) < 0) end_start(errno, "close_range");
  if (chdir("/") < 0) end_start(errno, "chdir");
  char *text = read_spec(&length);
  if (!spec_parse(&box.spec, text, length, &problem)) end_start(errno, problem);
  close_others();
  if (prctl(PR_SET_DUMPABLE, 0) < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) < 0) end_start(errno, "prctl");
  watch_signals();
  if (box.spec.proxy_log && !log_open()) end_start(errno, "opening the log of the proxy");
  listen_for_clients();
  box.deadline = now_ms() + START_MS;
  box.alone_until = INT64_MAX;
  start_box();
  while (!box.over) turn();
  if (box.ready) end_box();
  if (now_ms() >= box.deadline) end_start(ETIMEDOUT, "the box took too long to start");
  end_start(EPROTO, "the program that makes the walls has ended");
}
