/* The state of init: what runs inside a box, for its supervisor. */
#ifndef AW_INIT_H
#define AW_INIT_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "../common/common.h"
#include "../common/kernel.h"
#include "../common/wire.h"

#define JOBS_MOST 1024
#define DRAINS_MOST 256
#define FILES_OF_COMMAND 8

/* One end of a pipe that is read. `left`: how much of it still belongs to the command. */
struct source {
  int fd;
  uint64_t left;
};

struct job {
  bool used, is_stream, terminal, started, exited, told_end;
  uint32_t id;
  pid_t pid;
  /* Tells whether the program could be run; closed after that. */
  int report;
  /* With a terminal, or a connection, the same descriptor as `out`. */
  int in;
  struct source out, err;
  uint64_t credit;
  uint8_t *input;
  size_t input_length, input_sent;
  bool input_ends;
  int status;
  struct rusage usage;
  int64_t began_us, ended_us;
  /* When output of others is not waited for any more, or a connection must be there. */
  int64_t deadline;
};

struct init {
  struct wire wire;
  enum level level;
  int signals, landlock;
  struct filter_program filter;
  struct job jobs[JOBS_MOST];
  uint32_t jobs_used;
  struct source drains[DRAINS_MOST];
  bool stopping, childless, over;
};

extern struct init init;

int run_init(void);

/* job.c */
struct job *job_new(uint32_t id);
struct job *job_of(uint32_t id);
void job_close(struct job *job);
void job_free(struct job *job);
void job_exited(struct job *job, int status, const struct rusage *usage);
/* Sends what is due, ends what has ended; answers when to look again. */
int64_t job_check_time(struct job *job, int64_t now);
void job_signal(struct job *job, int signal);
void job_resize(struct job *job, unsigned columns, unsigned rows);
void job_read_report(struct job *job);

/* start.c */
void job_start(const struct frame *frame);

/* flow.c */
void job_input(struct job *job, const uint8_t *data, size_t length);
void job_input_end(struct job *job);
void job_write(struct job *job);
void job_read(struct job *job, struct source *source, uint8_t type);
void drain_add(struct source *source);
bool drain_drop(void);
void drain_read(struct source *drain);

/* connect.c */
void stream_start(const struct frame *frame);
void stream_connected(struct job *job);
void stream_end(struct job *job, int error);
void stream_half_close(struct job *job);
int listen_inside(uint16_t port);

/* put.c */
void put(const struct frame *frame);
void take_back(const struct frame *frame);

/* freeze.c */
void freeze(uint32_t id);
void thaw(uint32_t id);
void status(uint32_t id);
void freeze_cancel(void);
/* In a child: waits until it may run. */
void wait_for_thaw(void);
int64_t freeze_check_time(int64_t now);
/* To everything in the box but init. */
void signal_all(int signal);

/* child.c: what runs between fork and exec. */
struct command {
  char **arguments, **environment;
  const char *directory, *path;
  struct {
    int resource;
    uint64_t value;
  } limits[8];
  size_t limit_count;
  bool has_input, terminal;
  unsigned columns, rows;
};
_Noreturn void run_command(const struct command *command, const int ends[3], int report);

/* What the child tells when it could not run the program. */
struct refusal {
  int error;
  char step[28];
};

#endif
