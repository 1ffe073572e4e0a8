/* What a supervisor is to do: the record it reads when it starts. */
#ifndef AW_SPEC_H
#define AW_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../common/common.h"
#include "../common/tags.h"

#define SPEC_MOST (1u << 20)

struct spec {
  int directory;
  struct strings walls, environment, join, cgroups, binds, lowers, proxy, sized;
  int handles[64];
  size_t handle_count;
  bool changes_user;
  uid_t uid;
  gid_t gid;
  const char *stage, *overlay, *upper, *work, *proxy_log;
  bool own_user_namespace, ends_with_clients;
  uint16_t port;
  int landlock, filter, settings;
  uint64_t wall_ms, size_most, size_every_ms;
  enum level level;
};

/* False with errno, and what is wrong in `*problem`. The strings live as long as the text. */
bool spec_parse(struct spec *spec, char *text, size_t length, const char **problem);

#endif
