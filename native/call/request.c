#include "call.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

extern char **environ;

static const char *const told[] = { "AW_LEASE", "AW_DEBUG", "NO_COLOR", "FORCE_COLOR", "TERM" };

static int is_told(const char *variable, size_t length) {
  for (size_t i = 0; i < sizeof told / sizeof *told; i++)
    if (strlen(told[i]) == length && memcmp(told[i], variable, length) == 0)
      return 1;
  return 0;
}

/* Of the others that are for aw only the names: a value may be a secret. */
static int put_variables(struct text *text) {
  const char *before = "";

  for (char **one = environ; *one != NULL; one++) {
    const char *equals = strchr(*one, '=');
    size_t length = equals == NULL ? 0 : (size_t)(equals - *one);
    char name[64];

    if (length == 0 || (!is_told(*one, length) && strncmp(*one, "AW_", 3) != 0))
      continue;
    if (length >= sizeof name)
      return 0;
    memcpy(name, *one, length);
    name[length] = '\0';
    put_word(text, before);
    before = ",";
    if (!put_json(text, name))
      return 0;
    put_word(text, ":");
    if (!put_json(text, is_told(*one, length) ? equals + 1 : ""))
      return 0;
  }
  return 1;
}

static int is_terminal(int fd) {
  struct winsize size;

  return ioctl(fd, TIOCGWINSZ, &size) == 0;
}

static void put_terminal(struct text *text) {
  struct winsize size = { 0 };
  char line[160];

  if (ioctl(1, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0)
    if (ioctl(2, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0)
      size = (struct winsize){ .ws_col = 80, .ws_row = 24 };
  snprintf(line, sizeof line, ",\"stdout\":%s,\"stderr\":%s,\"columns\":%d,\"rows\":%d",
     is_terminal(1) ? "true" : "false", is_terminal(2) ? "true" : "false", size.ws_col, size.ws_row);
  put_word(text, line);
}

static int put_body(struct text *body, const char *directory, int count, char **words) {
  put_word(body, "{\"args\":[");
  for (int i = 0; i < count; i++) {
    put_word(body, i == 0 ? "" : ",");
    if (!put_json(body, words[i]))
      return 0;
  }
  put_word(body, "],\"cwd\":");
  if (!put_json(body, directory))
    return 0;
  put_word(body, ",\"env\":{");
  if (!put_variables(body))
    return 0;
  put_word(body, "}");
  put_terminal(body);
  put_word(body, "}");
  return 1;
}

int put_request(struct text *request, const char *version, const char *directory, int count, char **words) {
  struct text body = { 0 };
  char line[64];

  if (!put_body(&body, directory, count, words))
    return 0;
  put_word(request, "POST /api/daemon/command HTTP/1.0\r\nHost: aw\r\nContent-Type: application/json\r\nAw-Version: ");
  put_word(request, version);
  snprintf(line, sizeof line, "\r\nContent-Length: %zu\r\n\r\n", body.length);
  put_word(request, line);
  put(request, body.bytes, body.length);
  return 1;
}
