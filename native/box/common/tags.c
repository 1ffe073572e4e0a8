#include "tags.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tags tags_of(const void *data, size_t length) {
  return (struct tags){.at = data, .end = (const char *)data + length};
}

int tags_next(struct tags *tags, struct tag *tag) {
  size_t left = (size_t)(tags->end - tags->at);
  if (left == 0) return 0;
  const char *stop = memchr(tags->at, 0, left);
  if (!stop || stop == tags->at) return -1;
  *tag = (struct tag){.name = *tags->at, .value = tags->at + 1};
  tags->at = stop + 1;
  return 1;
}

void record_text(struct record *record, char name, const char *value) {
  size_t size = strlen(value) + 2;
  if (size > sizeof record->bytes - record->length) {
    record->failed = true;
    return;
  }
  record->bytes[record->length] = name;
  memcpy(record->bytes + record->length + 1, value, size - 1);
  record->length += size;
}

void record_number(struct record *record, char name, uint64_t value) {
  char text[24];
  snprintf(text, sizeof text, "%llu", (unsigned long long)value);
  record_text(record, name, text);
}

bool strings_add(struct strings *strings, const char *value) {
  char **list = realloc(strings->list, (strings->count + 2) * sizeof *list);
  if (!list) return false;
  strings->list = list;
  list[strings->count++] = (char *)(uintptr_t)value;
  list[strings->count] = NULL;
  return true;
}
