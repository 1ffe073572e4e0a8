/*
 * aw-call: asks the daemon of a home to run a command line, and shows what comes back. It stands where Node would otherwise
 * be started, which takes longer than most of what is asked for. Whatever the daemon leaves to the caller is done by Node.
 */
#ifndef AW_CALL_H
#define AW_CALL_H

#include <stddef.h>
#include <stdint.h>

/* What is put together piece by piece. It ends the program when there is no memory, before anything was sent. */
struct text {
  char *bytes;
  size_t length;
  size_t room;
};

void put(struct text *text, const char *more, size_t length);
void put_word(struct text *text, const char *word);

/* As a string of JSON. 0 if it is not UTF-8. */
int put_json(struct text *text, const char *word);

/* The whole request; 0 if it cannot be asked. */
int put_request(struct text *request, const char *version, const char *directory, int count, char **words);

/* Nobody waits for ever for a daemon that is stopped or stuck. What it has begun may take as long as it takes. */
enum { SILENCE_MS = 30 * 1000 };

/* A connection to the socket of this user's own daemon, or -1. */
int reach(const char *socket_path);

/* 1 if everything was sent. */
int send_all(int fd, const char *bytes, size_t length);

/* Whether it begins to run it; else nothing was done, or, if it said nothing for long, may still be. */
enum taken { TAKEN, LEFT, SILENT };
enum taken is_taken(int fd);

/* Says that, and answers with the exit code. */
int tell_of_silence(int json);

/* Shows what comes, and answers with the exit code. */
int show(int fd, int json);

#endif
