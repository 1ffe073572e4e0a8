#include "setup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "init.h"
#include "../common/tags.h"

#define FILTER_MOST 4096

static bool complain(const char *what) {
  dprintf(2, "aw-box init: %s: %s\n", what, error_text(errno));
  return false;
}

static bool read_filter(int fd) {
  size_t size = FILTER_MOST * sizeof(struct filter_instruction), length = 0;
  uint8_t *bytes = malloc(size);
  if (!bytes) return false;
  for (ssize_t count; (count = pread(fd, bytes + length, size - length, (off_t)length)) != 0;) {
    if (count < 0) return false;
    length += (size_t)count;
  }
  close(fd);
  if (length == 0 || length == size || length % sizeof(struct filter_instruction) != 0) {
    errno = EINVAL;
    return false;
  }
  init.filter.instructions = (struct filter_instruction *)(void *)bytes;
  init.filter.length = (unsigned short)(length / sizeof(struct filter_instruction));
  return true;
}

/* What the supervisor says first. It waits for that: there is nothing else to do yet. */
static bool read_setup(uint16_t *port) {
  struct frame frame;
  int whole;
  while ((whole = wire_next(&init.wire, &frame)) == 0)
    if (wire_read(&init.wire) == WIRE_CLOSED) return false;
  if (whole < 0 || frame.type != FRAME_SETUP) return false;
  struct tags tags = tags_of(frame.data, frame.length);
  struct tag tag;
  bool version = false;
  int more;
  while ((more = tags_next(&tags, &tag)) > 0) {
    uint64_t number = 0;
    bool is_number = parse_number(tag.value, 1 << 20, &number);
    switch (tag.name) {
      case 'V': version = strcmp(tag.value, PROTOCOL_VERSION) == 0; break;
      case 'k': if (!parse_level(tag.value, &init.level)) return false; break;
      case 'P': if (!is_number || number > 65535) return false; *port = (uint16_t)number; break;
      case 'L':
        init.landlock = (int)number;
        if (!is_number || !set_cloexec(init.landlock, true)) return false;
        break;
      case 'F': if (!is_number || !read_filter((int)number)) return false; break;
      default: return false;
    }
  }
  wire_taken(&init.wire, &frame);
  return more == 0 && version;
}

static bool send_ready(int listener) {
  static const char payload[] = "V" PROTOCOL_VERSION;
  uint8_t bytes[9 + sizeof payload] = {5 + sizeof payload, 0, 0, 0, FRAME_READY};
  memcpy(bytes + 9, payload, sizeof payload);
  union {
    struct cmsghdr head;
    char bytes[CMSG_SPACE(sizeof listener)];
  } control = {0};
  struct iovec part = {bytes, sizeof bytes};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  if (listener >= 0) {
    message.msg_control = &control;
    message.msg_controllen = sizeof control;
    control.head = (struct cmsghdr){
        .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof listener)};
    memcpy(CMSG_DATA(&control.head), &listener, sizeof listener);
  }
  return sendmsg(init.wire.fd, &message, 0) == (ssize_t)sizeof bytes;
}

static bool watch_signals(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  /* As process 1 of a namespace nobody but its commands could send it: to those it must be deaf. */
  if (getpid() != 1) sigaddset(&set, SIGTERM);
  if (sigprocmask(SIG_SETMASK, &set, NULL) < 0) return false;
  signal(SIGPIPE, SIG_IGN);
  init.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  return init.signals >= 0;
}

bool set_up(int socket) {
  uint16_t port = 0;
  int listener = -1;
  init.signals = init.landlock = -1;
  if (prctl(PR_SET_DUMPABLE, 0) < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) < 0) return complain("prctl");
  if (!watch_signals()) return complain("signals");
  /* Instead of the SIGKILL that it was started with: first it ends what it has started. */
  if (getpid() != 1 && prctl(PR_SET_PDEATHSIG, SIGTERM) < 0) return complain("prctl");
  umask(022);
  /* Each command has up to four descriptors here. */
  if (!set_cloexec(socket, true) || !raise_file_limit()) return complain("descriptors");
  wire_open(&init.wire, socket, FRAME_MOST);
  if (!read_setup(&port)) return complain("setup");
  if (port && (listener = listen_inside(port)) < 0) return complain("listening");
  if (!send_ready(listener)) return complain("telling that it is ready");
  close_fd(&listener);
  /* Nothing more is said there. */
  if (dup2(0, 1) < 0 || dup2(0, 2) < 0) return false;
  return set_nonblocking(socket);
}
