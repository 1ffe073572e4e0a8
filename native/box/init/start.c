/* From an EXEC to a process. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "init.h"
#include "../common/tags.h"

static const struct {
  const char *name;
  int resource;
} limit_names[] = {
    {"nofile", RLIMIT_NOFILE}, {"fsize", RLIMIT_FSIZE}, {"data", RLIMIT_DATA},
    {"nproc", RLIMIT_NPROC},   {"core", RLIMIT_CORE},   {"cpu", RLIMIT_CPU},
};

static bool parse_limit(struct command *command, const char *text) {
  const char *equals = strchr(text, '=');
  if (!equals || command->limit_count == sizeof command->limits / sizeof *command->limits) return false;
  for (size_t at = 0; at < sizeof limit_names / sizeof *limit_names; at++) {
    size_t length = strlen(limit_names[at].name);
    if (length != (size_t)(equals - text) || memcmp(limit_names[at].name, text, length) != 0) continue;
    command->limits[command->limit_count].resource = limit_names[at].resource;
    return parse_number(equals + 1, INT64_MAX, &command->limits[command->limit_count++].value);
  }
  return false;
}

static bool parse_terminal(struct command *command, const char *text) {
  char columns[8];
  uint64_t width, height;
  const char *comma = strchr(text, ',');
  if (!comma || (size_t)(comma - text) >= sizeof columns) return false;
  memcpy(columns, text, (size_t)(comma - text));
  columns[comma - text] = 0;
  if (!parse_number(columns, UINT16_MAX, &width) || !parse_number(comma + 1, UINT16_MAX, &height)) return false;
  command->columns = (unsigned)width;
  command->rows = (unsigned)height;
  return command->terminal = true;
}

static char *text_of(const char *value) {
  return (char *)(uintptr_t)value;
}

static bool take(struct command *command, const struct tag *tag, size_t *arguments, size_t *variables) {
  switch (tag->name) {
    case 'a': command->arguments[(*arguments)++] = text_of(tag->value); return true;
    case 'e':
      command->environment[(*variables)++] = text_of(tag->value);
      if (strncmp(tag->value, "PATH=", 5) == 0) command->path = tag->value + 5;
      return strchr(tag->value, '=') != NULL;
    case 'd': command->directory = tag->value; return *tag->value == '/';
    case 'l': return parse_limit(command, tag->value);
    case 'p': return parse_terminal(command, tag->value);
    case 'i': return command->has_input = !*tag->value;
    default: return false;
  }
}

static void forget(struct command *command) {
  free(command->arguments);
  free(command->environment);
}

/* 0, or what is wrong. Strings stay in the frame. */
static int parse_command(const struct frame *frame, struct command *command) {
  size_t count = 0, arguments = 0, variables = 0;
  for (size_t at = 0; at < frame->length; at++) count += frame->data[at] == 0;
  *command = (struct command){
      .arguments = calloc(count + 1, sizeof(char *)),
      .environment = calloc(count + 1, sizeof(char *)),
      .path = "/usr/local/bin:/usr/bin:/bin",
  };
  if (!command->arguments || !command->environment) return ENOMEM;
  struct tags tags = tags_of(frame->data, frame->length);
  struct tag tag;
  int more;
  while ((more = tags_next(&tags, &tag)) > 0)
    if (!take(command, &tag, &arguments, &variables)) return EINVAL;
  return more < 0 || arguments == 0 || !command->directory ? EINVAL : 0;
}

static bool open_pipe(int *ours, int *theirs, bool we_write) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return false;
  *ours = ends[we_write];
  *theirs = ends[!we_write];
  return set_nonblocking(*ours);
}

static bool open_terminal(struct job *job, const struct command *command, int ends[3]) {
  struct winsize size = {.ws_col = (unsigned short)command->columns, .ws_row = (unsigned short)command->rows};
  int unlock = 0;
  job->out.fd = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
  if (job->out.fd < 0 || ioctl(job->out.fd, TIOCSPTLCK, &unlock) < 0) return false;
  job->in = job->out.fd;
  job->terminal = true;
  ends[0] = ioctl(job->out.fd, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
  return ends[0] >= 0 && ioctl(job->out.fd, TIOCSWINSZ, &size) == 0;
}

static bool open_ends(struct job *job, const struct command *command, int ends[3]) {
  if (command->terminal) return open_terminal(job, command, ends);
  if (command->has_input) {
    if (!open_pipe(&job->in, &ends[0], true)) return false;
  } else {
    ends[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (ends[0] < 0) return false;
  }
  return open_pipe(&job->out.fd, &ends[1], false) && open_pipe(&job->err.fd, &ends[2], false);
}

/* 0 or an errno. */
static int open_files(struct job *job, const struct command *command, int ends[3], int *report) {
  if (open_ends(job, command, ends) && open_pipe(&job->report, report, false)) return 0;
  int error = errno;
  job_close(job);
  for (int at = 0; at < 3; at++) close_fd(&ends[at]);
  return error;
}

/* 0 or an errno. */
static int fork_command(struct job *job, const struct command *command) {
  int ends[3] = {-1, -1, -1}, report = -1, error;
  reserve_files(true);
  // What earlier commands have left running may hold all there are: some of it then finds nobody who reads.
  do error = open_files(job, command, ends, &report);
  while (error == EMFILE && drain_drop());
  reserve_files(false);
  if (error == 0) {
    job->pid = fork();
    if (job->pid == 0) run_command(command, ends, report);
    if (job->pid < 0) error = errno;
  }
  for (int at = 0; at < 3; at++) close_fd(&ends[at]);
  close_fd(&report);
  return error;
}

void job_start(const struct frame *frame) {
  struct command command;
  int error = parse_command(frame, &command);
  struct job *job = error ? NULL : job_new(frame->id);
  if (!error) error = job ? fork_command(job, &command) : EAGAIN;
  forget(&command);
  if (!error) return;
  wire_error(&init.wire, frame->id, error, "start");
  if (job) job_free(job);
}
