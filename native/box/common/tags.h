/* Records as tagged strings: one character, the value, a NUL byte; again and again. */
#ifndef AW_TAGS_H
#define AW_TAGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tags {
  const char *at, *end;
};

struct tag {
  char name;
  const char *value;
};

struct tags tags_of(const void *data, size_t length);
/* 1: there is one; 0: the end; -1: the rest is no tagged string. The value lives as long as the data. */
int tags_next(struct tags *tags, struct tag *tag);

/* A record being written; `failed` if it did not fit. */
struct record {
  char bytes[512];
  size_t length;
  bool failed;
};

void record_text(struct record *record, char name, const char *value);
void record_number(struct record *record, char name, uint64_t value);

/* Strings of one tag, in order, with a NULL behind them. */
struct strings {
  char **list;
  size_t count;
};

bool strings_add(struct strings *strings, const char *value);

#endif
