/* Commands that outlive whoever asked for them: what they write and how they end is kept in a directory. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "box.h"
#include "../common/kernel.h"
#include "../common/tags.h"

#define LOG_LEAST (64u << 10)
#define LOG_USUAL (64u << 20)
/* The log is so many pieces, of which the oldest goes. */
#define PIECES 8
#define HEAD 13

enum { KEPT_STDOUT = 1, KEPT_STDERR, KEPT_LOST };

struct keep {
  char *text;
  const char *path;
  int directory, file;
  /* Where the next record begins, counted from the first one ever; where the pieces begin that are there. */
  uint64_t offset, pieces[PIECES + 1], most, lost;
  size_t piece_count;
  struct strings finish, environment;
  bool ends_box;
};

static bool take(struct keep *keep, const struct tag *tag) {
  switch (tag->name) {
    case 'K': return *tag->value == '/' && !keep->path && (keep->path = tag->value);
    case 'S': return parse_number(tag->value, INT64_MAX, &keep->most) && keep->most >= LOG_LEAST;
    case 'r': return !*tag->value && (keep->ends_box = true);
    case 'f': return strings_add(&keep->finish, tag->value);
    case 'F': return strchr(tag->value, '=') && strings_add(&keep->environment, tag->value);
    default: return true;
  }
}

void keep_free(struct keep *keep) {
  if (!keep) return;
  close_fd(&keep->directory);
  close_fd(&keep->file);
  free(keep->finish.list);
  free(keep->environment.list);
  free(keep->text);
  free(keep);
}

/* Room for how it ends is taken while there is some: the command itself may fill the disk. */
static bool reserve_end(const struct keep *keep) {
  static const char nothing[sizeof ((struct record *)0)->bytes];
  int file = openat(keep->directory, "end.new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return false;
  bool whole = write_all(file, nothing, sizeof nothing);
  int error = errno;
  close(file);
  errno = error;
  return whole;
}

static bool fill(struct keep *keep, const struct frame *frame) {
  keep->text = malloc(frame->length + 1);
  if (!keep->text) return false;
  memcpy(keep->text, frame->data, frame->length);
  struct tags tags = tags_of(keep->text, frame->length);
  struct tag tag;
  errno = EINVAL;
  while (tags_next(&tags, &tag) > 0)
    if (!take(keep, &tag)) return false;
  if (keep->finish.count > 0 && *keep->finish.list[0] != '/') return false;
  if (!keep->path) return !keep->ends_box && keep->finish.count == 0 && keep->environment.count == 0;
  keep->directory = open(keep->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  return keep->directory >= 0 && reserve_end(keep);
}

bool keep_open(struct slot *slot, const struct frame *frame) {
  struct keep *keep = calloc(1, sizeof *keep);
  if (!keep) return false;
  *keep = (struct keep){.directory = -1, .file = -1, .most = LOG_USUAL};
  bool fine = fill(keep, frame);
  int error = errno;
  if (fine && keep->path) slot->keep = keep;
  else keep_free(keep);
  errno = error;
  return fine;
}

struct slot *keep_find(const char *path) {
  for (uint32_t at = 0; at < box.slots_used; at++) {
    struct slot *slot = &box.slots[at];
    if (slot->kind != SLOT_FREE && slot->keep && strcmp(slot->keep->path, path) == 0) return slot;
  }
  return NULL;
}

static void name_of(uint64_t piece, char name[32]) {
  snprintf(name, 32, "%020llu.log", (unsigned long long)piece);
}

static bool next_piece(struct keep *keep) {
  char name[32];
  name_of(keep->offset, name);
  int file = openat(keep->directory, name, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return false;
  close_fd(&keep->file);
  keep->file = file;
  keep->pieces[keep->piece_count++] = keep->offset;
  if (keep->piece_count <= PIECES) return true;
  name_of(keep->pieces[0], name);
  unlinkat(keep->directory, name, 0);
  memmove(keep->pieces, keep->pieces + 1, PIECES * sizeof *keep->pieces);
  keep->piece_count = PIECES;
  return true;
}

static void write_u64(uint8_t *bytes, uint64_t value) {
  write_u32(bytes, (uint32_t)value);
  write_u32(bytes + 4, (uint32_t)(value >> 32));
}

static uint64_t clock_ms(void) {
  struct timespec at;
  clock_gettime(CLOCK_REALTIME, &at);
  return (uint64_t)at.tv_sec * 1000 + (uint64_t)at.tv_nsec / 1000000;
}

/* Whole or not at all: a record that does not fit on the disk is taken back. */
static bool put(struct keep *keep, uint8_t kind, const void *data, size_t length) {
  uint64_t begin = keep->piece_count ? keep->pieces[keep->piece_count - 1] : 0;
  if (keep->file < 0 || keep->offset - begin >= keep->most / PIECES) {
    if (!next_piece(keep)) return false;
    begin = keep->offset;
  }
  uint8_t head[HEAD] = {kind};
  write_u64(head + 1, clock_ms());
  write_u32(head + 9, (uint32_t)length);
  struct iovec parts[] = {{.iov_base = head, .iov_len = HEAD},
                          {.iov_base = (void *)(uintptr_t)data, .iov_len = length}};
  ssize_t count;
  do count = writev(keep->file, parts, 2);
  while (count < 0 && errno == EINTR);
  if (count == (ssize_t)(HEAD + length)) {
    keep->offset += HEAD + length;
    return true;
  }
  if (count > 0 && ftruncate(keep->file, (off_t)(keep->offset - begin)) < 0) close_fd(&keep->file);
  return false;
}

static void tell_lost(struct keep *keep) {
  uint8_t count[8];
  write_u64(count, keep->lost);
  if (keep->lost > 0 && put(keep, KEPT_LOST, count, sizeof count)) keep->lost = 0;
}

void keep_output(struct slot *slot, uint8_t type, const void *data, size_t length) {
  struct keep *keep = slot->keep;
  tell_lost(keep);
  if (!put(keep, type == FRAME_STDOUT ? KEPT_STDOUT : KEPT_STDERR, data, length)) keep->lost += length;
}

static void write_end(struct keep *keep, const struct record *record) {
  int file = openat(keep->directory, "end.new", O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return;
  bool whole = write_all(file, record->bytes, record->length) && ftruncate(file, (off_t)record->length) == 0 &&
               fsync(file) == 0;
  close(file);
  if (whole && renameat(keep->directory, "end.new", keep->directory, "end") == 0) fsync(keep->directory);
}

_Noreturn static void become_finisher(const struct keep *keep) {
  static char *empty[] = {NULL};
  setsid();
  reset_signals();
  int log = openat(keep->directory, "finish.log", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(log < 0 ? null : log, 2) < 0) _exit(1);
  if (sys_close_range(3, ~0u, 0) < 0 || !restore_file_limit()) _exit(1);
  execve(keep->finish.list[0], keep->finish.list, keep->environment.list ? keep->environment.list : empty);
  _exit(127);
}

static void finish(const struct keep *keep) {
  if (keep->finish.count == 0) return;
  if (fork() == 0) become_finisher(keep);
}

/* The one with which the box ends: what follows it comes after that. */
static struct keep *last;

void keep_end(struct slot *slot, struct record record) {
  struct keep *keep = slot->keep;
  tell_lost(keep);
  if (keep->file >= 0) fdatasync(keep->file);
  record_number(&record, 'e', clock_ms());
  if (keep->lost > 0) record_number(&record, 'l', keep->lost);
  write_end(keep, &record);
  /* Whoever asked for it and still listens does itself what is to be done now. */
  if (slot->client) keep->finish.count = 0;
  slot->keep = NULL;
  if (keep->ends_box) {
    box.over = true;
    keep_free(last);
    last = keep;
  } else {
    finish(keep);
    keep_free(keep);
  }
}

void keep_finish_all(void) {
  if (last) finish(last);
  for (uint32_t at = 0; at < box.slots_used; at++) {
    struct keep *keep = box.slots[at].keep;
    if (keep && !box.slots[at].client) finish(keep);
  }
}
