#include "call.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

/* Somebody else's would hear what is asked for, and could answer anything. */
static int is_ours(int fd) {
  struct ucred peer;
  socklen_t length = sizeof peer;

  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == geteuid();
}

int reach(const char *socket_path) {
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  /* One that is stopped takes no more than fits into the kernel; what it has not taken whole it does not do. */
  const struct timeval patience = { .tv_sec = SILENCE_MS / 1000 };
  struct stat found;
  int fd;

  if (strlen(socket_path) >= sizeof address.sun_path || lstat(socket_path, &found) != 0)
    return -1;
  if (!S_ISSOCK(found.st_mode) || found.st_uid != geteuid())
    return -1;
  strcpy(address.sun_path, socket_path);
  fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd == -1)
    return -1;
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0 && is_ours(fd))
    return fd;
  close(fd);
  return -1;
}

int send_all(int fd, const char *bytes, size_t length) {
  while (length > 0) {
    ssize_t count = send(fd, bytes, length, MSG_NOSIGNAL);

    if (count == -1 && errno == EINTR)
      continue;
    if (count <= 0)
      return 0;
    bytes += count;
    length -= (size_t)count;
  }
  return 1;
}
