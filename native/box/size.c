/* The size limit of the tree, where the kernel does not enforce it: a child measures the tree every now and then. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "box.h"
#include "kernel.h"

/* Measuring takes at most one part in so many of the time, however large the tree is. */
#define REST 20
/* While the file system reports no change the tree is left alone, but never for longer than this. */
#define LOOK_AGAIN_MS 30000
/* What is left of the box after its commands were killed may take so long to end. */
#define GRACE_MS 1000

/* Files with several names, by device and inode: an open hash table. */
struct seen {
  struct { uint64_t device, inode; } *list;
  size_t size, count;
};

static bool is_new(struct seen *seen, uint64_t device, uint64_t inode) {
  if (seen->count * 2 >= seen->size) {
    struct seen more = {.size = seen->size ? seen->size * 2 : 1024};
    more.list = calloc(more.size, sizeof *more.list);
    if (!more.list) return true;
    for (size_t at = 0; at < seen->size; at++)
      if (seen->list[at].inode) is_new(&more, seen->list[at].device, seen->list[at].inode);
    free(seen->list);
    *seen = more;
  }
  size_t at = (size_t)((inode ^ device << 7) * 0x9e3779b97f4a7c15u) & (seen->size - 1);
  for (; seen->list[at].inode; at = (at + 1) & (seen->size - 1))
    if (seen->list[at].inode == inode && seen->list[at].device == device) return false;
  seen->list[at].inode = inode;
  seen->list[at].device = device;
  seen->count++;
  return true;
}

/* Links are not followed and mounts are not crossed. */
static int open_below(int directory, const char *name) {
  const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  int fd = sys_open_on_mount(directory, name, flags);
  return fd < 0 && (errno == ENOSYS || errno == EPERM) ? openat(directory, name, flags) : fd;
}

/* Adds up the sizes of regular files; one with several names counts once. What cannot be read is not counted. */
static void add_up(int fd, struct seen *seen, uint64_t *bytes) {
  DIR *directory = fdopendir(fd);
  if (!directory) {
    close(fd);
    return;
  }
  for (struct dirent *entry; (entry = readdir(directory));) {
    struct stat found;
    const char *name = entry->d_name;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) continue;
    if (entry->d_type != DT_REG && entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN) continue;
    if (fstatat(dirfd(directory), name, &found, AT_SYMLINK_NOFOLLOW) < 0) continue;
    if (S_ISREG(found.st_mode) && (found.st_nlink == 1 || is_new(seen, found.st_dev, found.st_ino)))
      *bytes += (uint64_t)found.st_size;
    int below = S_ISDIR(found.st_mode) ? open_below(dirfd(directory), name) : -1;
    if (below >= 0) add_up(below, seen, bytes);
  }
  closedir(directory);
}

_Noreturn static void measure(pid_t parent, int result) {
  struct seen seen = {0};
  uint64_t bytes = 0;
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent) _exit(1);
  reset_signals();
  /* The sockets of clients must end when the supervisor lets go of them. */
  if (dup2(result, 3) < 0 || sys_close_range(4, ~0u, 0) < 0) _exit(1);
  setpriority(PRIO_PROCESS, 0, 10);
  for (size_t at = 0; at < box.spec.sized.count; at++) {
    int fd = open(box.spec.sized.list[at], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0) add_up(fd, &seen, &bytes);
  }
  _exit(write_all(3, &bytes, sizeof bytes) ? 0 : 1);
}

static int64_t later(int64_t now, int64_t took) {
  int64_t every = (int64_t)box.spec.size_every_ms;
  return now + (took * REST > every ? took * REST : every);
}

/* On these file systems whatever is written shows at once in what is free. */
static bool unchanged(void) {
  static struct statfs before;
  struct statfs now;
  if (statfs(box.spec.sized.list[0], &now) < 0) return false;
  bool tells = now.f_type == 0xEF53 || now.f_type == 0x58465342 || now.f_type == 0x01021994;
  bool same = tells && now.f_bfree == before.f_bfree && now.f_ffree == before.f_ffree && now.f_type == before.f_type;
  before = now;
  return same;
}

static void begin_measuring(int64_t now) {
  int ends[2];
  box.size_at = later(now, 0);
  if (unchanged() && now - box.size_began < LOOK_AGAIN_MS) return;
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) return;
  pid_t parent = getpid(), pid = fork();
  if (pid == 0) measure(parent, ends[1]);
  close(ends[1]);
  if (pid < 0) {
    close(ends[0]);
    return;
  }
  box.size_result = ends[0];
  box.size_began = now;
  box.size_at = INT64_MAX;
}

void size_start(void) {
  if (box.size_result >= 0) return;
  box.size_began = INT64_MIN / 2;
  box.size_at = box.spec.size_most > 0 ? later(now_ms(), 0) : INT64_MAX;
}

int64_t size_check_time(int64_t now) {
  if (box.size_at <= now && !box.stopping) begin_measuring(now);
  return box.size_at;
}

/* Whoever comes later finds out here why the box has ended. */
static void leave_note(uint64_t bytes) {
  char text[24];
  int length = snprintf(text, sizeof text, "%llu\n", (unsigned long long)bytes);
  int file = openat(box.spec.directory, "over-limit", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return;
  write_all(file, text, (size_t)length);
  close(file);
}

void size_measured(void) {
  uint64_t bytes;
  ssize_t count = read(box.size_result, &bytes, sizeof bytes);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  close_fd(&box.size_result);
  int64_t now = now_ms();
  box.size_at = box.spec.size_most > 0 ? later(now, now - box.size_began) : INT64_MAX;
  if (count != (ssize_t)sizeof bytes || box.size_at == INT64_MAX || bytes <= box.spec.size_most || box.stopping) return;
  leave_note(bytes);
  box.over_limit = true;
  slots_kill_all();
  ask_init(FRAME_STOP, NULL, 0);
  box.stopping = true;
  box.kill_at = now + GRACE_MS;
}
