/* What both roles need: numbers, times, descriptors. */
#ifndef AW_COMMON_H
#define AW_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROTOCOL_VERSION "1"

enum level { LEVEL_NONE, LEVEL_GUARDED, LEVEL_NAMESPACE };

/* Monotonic; they never go back and do not count from any known instant. */
int64_t now_ms(void);
int64_t now_us(void);

/* A decimal number with nothing around it, at most `most`. */
bool parse_number(const char *text, uint64_t most, uint64_t *value);
bool parse_level(const char *text, enum level *level);

uint32_t read_u32(const uint8_t *bytes);
void write_u32(uint8_t *bytes, uint32_t value);

bool set_nonblocking(int fd);
bool set_cloexec(int fd, bool on);
void close_fd(int *fd);
/* The least of them that is greater; -1 if none is. */
int next_above(const int *fds, size_t count, int above);
/* All of it, to something that may block. */
bool write_all(int fd, const void *data, size_t length);
/* A whole small file, as those of /proc; with a NUL behind it. The length, or -1. */
int read_small(int dir, const char *path, char *buffer, size_t size);

/* This process may have as many files open as it may allow itself. False with errno. */
bool raise_file_limit(void);
/* In a child of it: the limit that was found, again. */
bool restore_file_limit(void);
/* While it is on, a few of them are not to be had: who ends or stops what was started must still be able to look. */
void reserve_files(bool on);
/* As strerror; of a limit that was reached it says which one. */
const char *error_text(int error);

/* For a child between fork and exec: no blocked signal, no handler, none ignored. */
void reset_signals(void);

#endif
