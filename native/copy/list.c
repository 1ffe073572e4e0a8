#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "copy.h"

#define FIELDS 11
#define HASH_DIGITS 64
#define SECOND 1000000000u

/* All of it, with a zero behind it; NULL if it cannot be read. */
static char *read_all(int from, size_t *length) {
  size_t room = 1 << 20;
  char *text = malloc(room);
  for (*length = 0; text;) {
    ssize_t got = read(from, text + *length, room - *length - 1);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return NULL;
    if (got == 0) break;
    *length += (size_t)got;
    if (room - *length == 1) text = realloc(text, room *= 2);
  }
  if (text) text[*length] = 0;
  return text;
}

static bool split(char *line, char *fields[FIELDS]) {
  for (int at = 0; at < FIELDS; at++) {
    fields[at] = line;
    line = strchr(line, ' ');
    if ((line == NULL) != (at == FIELDS - 1)) return false;
    if (line) *line++ = 0;
  }
  return true;
}

/* %xx stands for a byte, never for the one that ends a name. */
static bool unescape(char *text) {
  char *to = text;
  for (; *text; text++) {
    if (*text != '%') {
      *to++ = *text;
      continue;
    }
    char digits[3] = {text[1], text[1] ? text[2] : 0, 0}, *end;
    *to = (char)strtoul(digits, &end, 16);
    if (end != digits + 2 || *to++ == 0) return false;
    text += 2;
  }
  *to = 0;
  return true;
}

/* Nanoseconds since 1970, or before. */
static bool parse_time(const char *text, struct timespec *time) {
  uint64_t value;
  bool is_before = *text == '-';
  if (!parse_number(text + is_before, 10, UINT64_MAX, &value)) return false;
  *time = (struct timespec){.tv_sec = (time_t)(value / SECOND), .tv_nsec = (long)(value % SECOND)};
  if (!is_before) return true;
  time->tv_sec = -time->tv_sec;
  if (time->tv_nsec > 0) time->tv_sec--, time->tv_nsec = SECOND - time->tv_nsec;
  return true;
}

static bool is_name(const char *name) {
  return *name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* What takes a decision is for others to make. */
static bool is_plain(const struct item *item, uint64_t links, const char *attributes) {
  if (strcmp(attributes, "-") != 0) return false;
  if (item->kind == 'd') return true;
  if (links != 1) return false;
  if (item->kind == 'l') return *item->content;
  if (item->kind != 'f' || item->size > LARGEST_CONTENT) return false;
  return item->size == 0 || (strlen(item->content) == HASH_DIGITS && *item->content != 's');
}

static bool parse_item(char *line, struct item *item) {
  char *fields[FIELDS];
  uint64_t mode, uid, gid, links;
  if (!split(line, fields) || !unescape(fields[0])) return false;
  if (!parse_number(fields[2], 8, 07777, &mode)) return false;
  if (!parse_number(fields[3], 10, UINT32_MAX, &uid) || !parse_number(fields[4], 10, UINT32_MAX, &gid)) return false;
  if (!parse_time(fields[5], &item->mtime) || !parse_number(fields[7], 10, UINT32_MAX, &links)) return false;
  if (!parse_number(fields[8], 10, UINT64_MAX, &item->size)) return false;
  item->mode = (mode_t)mode, item->uid = (uid_t)uid, item->gid = (gid_t)gid;
  item->path = fields[0], item->content = fields[9];
  char *slash = strrchr(item->path, '/');
  item->name = slash ? slash + 1 : item->path;
  item->kind = *fields[1];
  if (item->kind == 'l' && !unescape(item->content)) return false;
  item->is_plain = is_plain(item, links, fields[10]);
  return true;
}

/* Where the directory is that holds an item, among those before it; 0 if it is the top, or is not there. */
static uint32_t find_parent(const struct list *list, uint32_t of) {
  const struct item *item = &list->items[of];
  if (item->name == item->path) return 0;
  size_t length = (size_t)(item->name - item->path) - 1;
  for (uint32_t low = 1, high = of; low < high;) {
    uint32_t middle = low + (high - low) / 2;
    const char *path = list->items[middle].path;
    int order = strncmp(path, item->path, length);
    if (order == 0 && path[length] == 0) return middle;
    // One that begins like it comes behind it.
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  return 0;
}

static void place(struct list *list, uint32_t at) {
  struct item *item = &list->items[at], *before = &list->items[at - 1];
  size_t length = (size_t)(item->name - item->path);
  bool is_beside = at > 1 && before->kind && (size_t)(before->name - before->path) == length &&
                   strncmp(before->path, item->path, length) == 0;
  item->parent = is_beside ? before->parent : find_parent(list, at);
  bool is_held = item->parent != 0 || length == 0;
  if (!is_held || !is_name(item->name) || list->items[item->parent].kind != 'd') item->kind = 0;
}

bool read_list(int from, struct list *list) {
  size_t length;
  char *text = read_all(from, &length);
  if (text == NULL || length == 0) return false;
  uint32_t count = 0;
  for (char *at = text; at; at = strchr(at, '\n')) at += count++ > 0;
  struct item *items = list->items = calloc(count, sizeof *items);
  if (items == NULL) abort();
  char *line = text;
  for (list->count = 0; list->count < count; list->count++) {
    char *end = strchr(line, '\n');
    if (end) *end = 0;
    if (!parse_item(line, &items[list->count])) return false;
    if (list->count > 0) place(list, list->count);
    line = end ? end + 1 : NULL;
  }
  for (uint32_t at = count - 1; at > 0; at--) {
    struct item *parent = &items[items[at].parent];
    items[at].next = parent->first;
    parent->first = at;
  }
  return items[0].kind == 'd' && strcmp(items[0].path, ".") == 0;
}
