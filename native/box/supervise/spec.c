#include "spec.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

static bool parse_handle(const char *text, int *fd) {
  uint64_t number;
  if (!parse_number(text, 1 << 20, &number) || number < 3) return false;
  *fd = (int)number;
  return fcntl(*fd, F_GETFD) >= 0;
}

/* 3 is where init finds its socket. */
static bool add_handle(struct spec *spec, const char *text) {
  if (spec->handle_count == sizeof spec->handles / sizeof *spec->handles) return false;
  int *fd = &spec->handles[spec->handle_count];
  if (!parse_handle(text, fd) || *fd == 3) return false;
  spec->handle_count++;
  return true;
}

static bool parse_user(struct spec *spec, const char *text) {
  char uid[16];
  uint64_t number, group;
  const char *colon = strchr(text, ':');
  if (!colon || (size_t)(colon - text) >= sizeof uid) return false;
  memcpy(uid, text, (size_t)(colon - text));
  uid[colon - text] = 0;
  if (!parse_number(uid, UINT32_MAX - 1, &number) || !parse_number(colon + 1, UINT32_MAX - 1, &group)) return false;
  spec->uid = (uid_t)number;
  spec->gid = (gid_t)group;
  return spec->changes_user = true;
}

static bool parse_port(struct spec *spec, const char *text) {
  uint64_t port;
  if (!parse_number(text, 65535, &port) || port == 0) return false;
  spec->port = (uint16_t)port;
  return true;
}

static bool once(const char **place, const char *value) {
  if (*place || *value != '/') return false;
  *place = value;
  return true;
}

static bool take(struct spec *spec, const struct tag *tag) {
  const char *value = tag->value;
  switch (tag->name) {
    case 'D': return parse_handle(value, &spec->directory);
    case 'A': return strings_add(&spec->walls, value);
    case 'E': return strchr(value, '=') && strings_add(&spec->environment, value);
    case 'H': return add_handle(spec, value);
    case 'c': return *value == '/' && strings_add(&spec->join, value);
    case 'C': return *value == '/' && strings_add(&spec->cgroups, value);
    case 'u': return parse_user(spec, value);
    case 'g': return once(&spec->stage, value);
    case 'b': return strings_add(&spec->binds, value);
    case 'o': return !spec->overlay && (spec->overlay = value);
    case 'l': return *value == '/' && strings_add(&spec->lowers, value);
    case 'U': return once(&spec->upper, value);
    case 'W': return once(&spec->work, value);
    case 'n': return !*value && (spec->own_user_namespace = true);
    case 'X': return strings_add(&spec->proxy, value);
    case 'x': return once(&spec->proxy_log, value);
    case 's': return parse_handle(value, &spec->settings);
    case 'P': return parse_port(spec, value);
    case 'i': return !*value && (spec->ends_with_clients = true);
    case 'w': return parse_number(value, INT32_MAX, &spec->wall_ms) && spec->wall_ms > 0;
    case 'q': return *value == '/' && strings_add(&spec->sized, value);
    case 'Q': return parse_number(value, INT64_MAX, &spec->size_most);
    case 'I': return parse_number(value, INT32_MAX, &spec->size_every_ms) && spec->size_every_ms > 0;
    case 'k': return parse_level(value, &spec->level);
    case 'L': return add_handle(spec, value) && parse_handle(value, &spec->landlock);
    case 'F': return add_handle(spec, value) && parse_handle(value, &spec->filter);
    default: return false;
  }
}

/* What belongs together is there together. */
static const char *missing(const struct spec *spec, bool has_level) {
  if (spec->directory < 0) return "the box has no directory (D)";
  if (spec->walls.count == 0 || *spec->walls.list[0] != '/') return "no absolute program makes the walls (A)";
  if (!has_level) return "the level is missing (k)";
  if ((spec->binds.count > 0 || spec->overlay) && !spec->stage) return "there is no stage (g)";
  if (spec->overlay && !(spec->own_user_namespace && spec->lowers.count && spec->upper && spec->work))
    return "an overlay needs n, l, U and W";
  if (!spec->overlay && (spec->lowers.count || spec->upper || spec->work)) return "layers without an overlay (o)";
  if ((spec->proxy.count > 0) != (spec->port > 0) || (spec->proxy.count > 0) != !!spec->proxy_log)
    return "a proxy needs X, x and P";
  if (spec->settings >= 0 && spec->proxy.count == 0) return "settings without a proxy (X)";
  if (spec->proxy.count > 0 && *spec->proxy.list[0] != '/') return "the proxy is no absolute path (X)";
  if ((spec->sized.count > 0) != (spec->size_every_ms > 0) || (spec->size_most > 0 && spec->sized.count == 0))
    return "a size limit needs q, Q and I";
  if ((spec->landlock >= 0 || spec->filter >= 0) && spec->level != LEVEL_GUARDED) return "L and F are of guarded";
  if (spec->level == LEVEL_GUARDED && spec->landlock < 0) return "guarded needs a ruleset (L)";
  return NULL;
}

bool spec_parse(struct spec *spec, char *text, size_t length, const char **problem) {
  *spec = (struct spec){.directory = -1, .landlock = -1, .filter = -1, .settings = -1};
  struct tags tags = tags_of(text, length);
  struct tag tag;
  static char unknown[] = "the tag ?";
  bool has_level = false, has_version = false;
  int more;
  errno = EINVAL;
  *problem = "the version is not " PROTOCOL_VERSION " (V)";
  while ((more = tags_next(&tags, &tag)) > 0) {
    if (!has_version) {
      if (tag.name != 'V' || strcmp(tag.value, PROTOCOL_VERSION) != 0) return false;
      has_version = true;
      continue;
    }
    unknown[8] = tag.name;
    *problem = unknown;
    errno = 0;
    if (!take(spec, &tag)) {
      if (errno != ENOMEM) errno = EINVAL;
      return false;
    }
    has_level |= tag.name == 'k';
  }
  errno = EINVAL;
  if (!has_version) return false;
  *problem = more < 0 ? "the spec is no sequence of tagged strings" : missing(spec, has_level);
  return *problem == NULL;
}
