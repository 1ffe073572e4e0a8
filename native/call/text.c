#include "call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void put(struct text *text, const char *more, size_t length) {
  if (text->room - text->length < length) {
    size_t room = (text->length + length) * 2;
    char *bytes = realloc(text->bytes, room);

    if (bytes == NULL) {
      fputs("aw: there is no memory left\n", stderr);
      exit(1);
    }
    text->bytes = bytes;
    text->room = room;
  }
  memcpy(text->bytes + text->length, more, length);
  text->length += length;
}

void put_word(struct text *text, const char *word) {
  put(text, word, strlen(word));
}

/* How many bytes the character has that begins here; 0 if it is none. */
static size_t character(const unsigned char *at) {
  size_t length = at[0] < 0x80 ? 1 : at[0] < 0xc2 ? 0 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : at[0] < 0xf5 ? 4 : 0;

  for (size_t i = 1; i < length; i++)
    if ((at[i] & 0xc0) != 0x80)
      return 0;
  /* Longer than it has to be, half of a pair, or beyond the last one. */
  if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] >= 0xa0))
    return 0;
  if ((at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] >= 0x90))
    return 0;
  return length;
}

int put_json(struct text *text, const char *word) {
  const unsigned char *at = (const unsigned char *)word;

  put(text, "\"", 1);
  while (*at != '\0') {
    size_t length = character(at);
    char code[8];

    if (length == 0)
      return 0;
    if (*at < 0x20 || *at == '"' || *at == '\\' || *at == 0x7f) {
      snprintf(code, sizeof code, "\\u%04x", *at);
      put_word(text, code);
    } else {
      put(text, (const char *)at, length);
    }
    at += length;
  }
  put(text, "\"", 1);
  return 1;
}
