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
#include "../common/kernel.h"

/* Measuring takes at most one part in so many of the time, however large the tree is. */
#define REST 20
/* While the file system reports no change the tree is left alone, but never for longer than this. */
#define LOOK_AGAIN_MS 30000
/* What is left of the box after its commands were killed may take so long to end. */
#define GRACE_MS 1000
/* So many directories stay open while the tree is measured, besides the one that is read. */
#define OPEN_MOST 20
/* A tree that could not be measured so many times in a row is taken for one over the limit. */
#define FAILURES_MOST 5

static void complain(const char *why) {
  dprintf(2, "aw-box supervise: cannot measure the tree: %s\n", why);
}

/* A sum that lacks something must not pass for the size. */
_Noreturn static void give_up(const char *why) {
  complain(why);
  _exit(1);
}

/* Files with several names, by device and inode: an open hash table. */
struct seen {
  struct { uint64_t device, inode; } *list;
  size_t size, count;
};

static bool is_new(struct seen *seen, uint64_t device, uint64_t inode) {
  if (seen->count * 2 >= seen->size) {
    struct seen more = {.size = seen->size ? seen->size * 2 : 1024};
    more.list = calloc(more.size, sizeof *more.list);
    if (!more.list) give_up(error_text(errno));
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

/* A directory on the way from the top to where the walk is. */
struct step {
  uint64_t device, inode;
  /* Where the names of its directories begin that are still to be visited. */
  size_t names;
  int fd;
};

struct walk {
  struct seen seen;
  struct step *steps;
  size_t depth, steps_room;
  /* One after the other, each with a NUL behind it. */
  char *names;
  size_t names_length, names_room;
  uint64_t bytes;
};

/* It has gone or changed since its name was read, is on another mount, or may not be read: it is not counted. */
static void pass_over(void) {
  const int fine[] = {ENOENT, ENOTDIR, ELOOP, EXDEV, EACCES, EPERM};
  for (size_t at = 0; at < sizeof fine / sizeof *fine; at++)
    if (errno == fine[at]) return;
  give_up(error_text(errno));
}

static void *with_room(void *list, size_t *room, size_t wanted, size_t size) {
  if (wanted <= *room) return list;
  *room = wanted * 2;
  list = reallocarray(list, *room, size);
  if (!list) give_up(error_text(errno));
  return list;
}

/* Links are not followed and mounts are not crossed. */
static int open_below(int directory, const char *name) {
  const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  int fd = sys_open_on_mount(directory, name, flags);
  return fd < 0 && (errno == ENOSYS || errno == EPERM) ? openat(directory, name, flags) : fd;
}

/* Counts a regular file, once whatever its names, and notes a directory for later. */
static void take(struct walk *walk, int directory, const struct dirent *entry) {
  struct stat found = {.st_mode = S_IFDIR};
  const char *name = entry->d_name;
  if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) return;
  if (entry->d_type != DT_REG && entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN) return;
  if (entry->d_type != DT_DIR && fstatat(directory, name, &found, AT_SYMLINK_NOFOLLOW) < 0) {
    pass_over();
    return;
  }
  if (S_ISREG(found.st_mode) && (found.st_nlink == 1 || is_new(&walk->seen, found.st_dev, found.st_ino)))
    walk->bytes += (uint64_t)found.st_size;
  if (!S_ISDIR(found.st_mode)) return;
  size_t length = strlen(name) + 1;
  walk->names = with_room(walk->names, &walk->names_room, walk->names_length + length, 1);
  memcpy(walk->names + walk->names_length, name, length);
  walk->names_length += length;
}

static void enter(struct walk *walk, int fd) {
  static _Alignas(struct dirent) char entries[32768];
  struct stat found;
  int length;
  if (fstat(fd, &found) < 0) give_up(error_text(errno));
  walk->steps = with_room(walk->steps, &walk->steps_room, walk->depth + 1, sizeof *walk->steps);
  walk->steps[walk->depth++] = (struct step){found.st_dev, found.st_ino, walk->names_length, fd};
  while ((length = getdents(fd, (struct dirent *)entries, sizeof entries)) > 0)
    for (int at = 0; at < length; at += ((struct dirent *)(entries + at))->d_reclen)
      take(walk, fd, (struct dirent *)(entries + at));
  if (length < 0) pass_over();
}

/* Back to the directory above, if the one that the walk is in is still there. */
static void leave(struct walk *walk) {
  struct step *left = &walk->steps[--walk->depth], *above = left - 1;
  if (walk->depth > 0 && above->fd < 0) {
    struct stat found;
    above->fd = open_below(left->fd, "..");
    if (above->fd < 0 || fstat(above->fd, &found) < 0) give_up(error_text(errno));
    if (found.st_dev != above->device || found.st_ino != above->inode) give_up("a directory was moved meanwhile");
  }
  close(left->fd);
}

/* However deep it is, only the directories next to the top stay open. */
static void add_up(struct walk *walk, int top) {
  enter(walk, top);
  while (walk->depth > 0) {
    struct step *here = &walk->steps[walk->depth - 1];
    if (walk->names_length == here->names) {
      leave(walk);
      continue;
    }
    size_t last = walk->names_length - 1;
    while (last > here->names && walk->names[last - 1]) last--;
    int below = open_below(here->fd, walk->names + last);
    walk->names_length = last;
    if (below < 0) {
      pass_over();
      continue;
    }
    if (walk->depth > OPEN_MOST) close_fd(&here->fd);
    enter(walk, below);
  }
}

_Noreturn static void measure(pid_t parent, int result) {
  struct walk walk = {0};
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent) _exit(1);
  reset_signals();
  /* The sockets of clients must end when the supervisor lets go of them. */
  if (dup2(result, 3) < 0 || sys_close_range(4, ~0u, 0) < 0) _exit(1);
  setpriority(PRIO_PROCESS, 0, 10);
  for (size_t at = 0; at < box.spec.sized.count; at++) {
    int fd = open(box.spec.sized.list[at], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0) add_up(&walk, fd);
    else pass_over();
  }
  _exit(write_all(3, &walk.bytes, sizeof walk.bytes) ? 0 : 1);
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

/* Whoever comes later finds out here why the box has ended. */
static void leave_note(const char *text) {
  int file = openat(box.spec.directory, "over-limit", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return;
  write_all(file, text, strlen(text));
  close(file);
}

static void stop_over_limit(const char *note) {
  leave_note(note);
  box.over_limit = true;
  slots_kill_all();
  ask_init(FRAME_STOP, NULL, 0);
  box.stopping = true;
  box.kill_at = now_ms() + GRACE_MS;
}

/* Once may be chance, so it is tried again; a tree that cannot be measured must not grow without a limit. */
static void not_measured(void) {
  if (++box.size_failures < FAILURES_MOST || box.stopping) return;
  dprintf(2, "aw-box supervise: the tree could not be measured %d times in a row, so the box ends\n", FAILURES_MOST);
  stop_over_limit("");
}

static void begin_measuring(int64_t now) {
  int ends[2];
  box.size_at = later(now, 0);
  if (box.size_failures == 0 && unchanged() && now - box.size_began < LOOK_AGAIN_MS) return;
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) {
    complain(error_text(errno));
    not_measured();
    return;
  }
  pid_t parent = getpid(), pid = fork();
  if (pid == 0) measure(parent, ends[1]);
  int error = errno;
  close(ends[1]);
  if (pid < 0) {
    close(ends[0]);
    complain(error_text(error));
    not_measured();
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
  return box.stopping ? box.kill_at : box.size_at;
}

void size_measured(void) {
  uint64_t bytes;
  char note[24];
  ssize_t count = read(box.size_result, &bytes, sizeof bytes);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  close_fd(&box.size_result);
  int64_t now = now_ms();
  box.size_at = box.spec.size_most > 0 ? later(now, now - box.size_began) : INT64_MAX;
  if (box.size_at == INT64_MAX || box.stopping) return;
  if (count != (ssize_t)sizeof bytes) {
    not_measured();
    return;
  }
  box.size_failures = 0;
  if (bytes <= box.spec.size_most) return;
  snprintf(note, sizeof note, "%llu\n", (unsigned long long)bytes);
  stop_over_limit(note);
}
