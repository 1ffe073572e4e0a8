/* Attacks on the walls of a sandbox, by system calls. Each is one function; test/sandbox/escape/attacks/ says what it is for. */
#ifndef AW_ATTACK_H
#define AW_ATTACK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Arguments of an attack, after its name and its marker. */
struct arguments {
  int count;
  char **list;
};

typedef void attack_fn(const struct arguments *given);

struct attack {
  const char *name;
  attack_fn *run;
};

extern const struct attack process_attacks[], kernel_attacks[], network_attacks[], bomb_attacks[];

const char *text_of(const struct arguments *given, int at);
long number_of(const struct arguments *given, int at);

/* Says that it has tried, by a file `done` in the directory that it began in, and stays to be looked at. */
_Noreturn void stay(void);
void say_done(void);

/* What an attack got hold of goes into the file `loot`, where it is compared with what only the other side knows. */
void keep(const void *data, size_t length);

/* Whether the process is to be seen; if not, every one that is tried instead, so that no number leads past the walls. */
typedef bool on_process(pid_t pid, const struct arguments *given);
void try_processes(const struct arguments *given, on_process *act);

#endif
