#ifndef AW_CALLS_START_H
#define AW_CALLS_START_H

#include <stddef.h>
#include <stdint.h>

/* A program to be started, in a session of its own, in the root directory, with nothing in its environment. */
struct start {
  /* The program's own path, what it is given, and a null. */
  char **words;
  /* They get the numbers from 0 on. Is changed. */
  int32_t *descriptors;
  size_t descriptor_count;
};

/* Its number, or the negative number of an error; then nothing of it is left. Somebody has to wait for it: it is a child. */
long start_program(const struct start *start);

#endif
