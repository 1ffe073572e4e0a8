/*
 * Starts a program without a copy of what this process has in memory, which for a large one takes many milliseconds: the
 * new process uses our memory, on a stack of its own, and this thread sleeps until it has run the program or has ended.
 */
#include "start.h"

#include "kernel.h"

#if defined(__x86_64__)
enum {
  SYS_SIGACTION = 13,
  SYS_SIGPROCMASK = 14,
  SYS_CLONE = 56,
  SYS_EXECVE = 59,
  SYS_WAIT4 = 61,
  SYS_FCNTL = 72,
  SYS_CHDIR = 80,
  SYS_SETSID = 112,
  SYS_EXIT_GROUP = 231,
  SYS_DUP3 = 292,
  SYS_CLOSE_RANGE = 436,
};
#elif defined(__aarch64__)
enum {
  SYS_DUP3 = 24,
  SYS_FCNTL = 25,
  SYS_CHDIR = 49,
  SYS_EXIT_GROUP = 94,
  SYS_SIGACTION = 134,
  SYS_SIGPROCMASK = 135,
  SYS_SETSID = 157,
  SYS_CLONE = 220,
  SYS_EXECVE = 221,
  SYS_WAIT4 = 260,
  SYS_CLOSE_RANGE = 436,
};
#endif

enum { EINTR = 4, LAST_SIGNAL = 64, SIGCHLD = 17, SIG_SETMASK = 2, MASK_SIZE = 8 };
enum { CLONE_VM = 0x100, CLONE_VFORK = 0x4000, F_DUPFD_CLOEXEC = 1030, CLOSE_RANGE_CLOEXEC = 4, STACK_SIZE = 16384 };

static long make(long number, long first, long second, long third, long fourth) {
  const long given[] = {first, second, third, fourth, 0, 0};
  return kernel(number, given);
}

/* The thread that asked for it sleeps and sees what is written here. */
struct child {
  struct start start;
  long error;
};

static long set_mask(const uint64_t *mask, uint64_t *before) {
  return make(SYS_SIGPROCMASK, SIG_SETMASK, (long)mask, (long)before, MASK_SIZE);
}

/* None may run a handler of this process in the other one. SIGKILL and SIGSTOP have none. */
static void forget_handlers(void) {
  const uint64_t as_always[4] = {0};
  for (long signal = 1; signal <= LAST_SIGNAL; signal++) make(SYS_SIGACTION, signal, (long)as_always, 0, MASK_SIZE);
}

/*
 * First all are moved out of the way of the numbers that they get. All others are closed; a kernel before 5.11 closes only
 * those that are marked so, as Node's all are.
 */
static long arrange_descriptors(const struct start *start) {
  long result = 0;
  for (size_t at = 0; at < start->descriptor_count && result >= 0; at++) {
    result = make(SYS_FCNTL, start->descriptors[at], F_DUPFD_CLOEXEC, (long)start->descriptor_count, 0);
    start->descriptors[at] = (int32_t)result;
  }
  for (size_t at = 0; at < start->descriptor_count && result >= 0; at++)
    result = make(SYS_DUP3, start->descriptors[at], (long)at, 0, 0);
  make(SYS_CLOSE_RANGE, (long)start->descriptor_count, ~0u, CLOSE_RANGE_CLOEXEC, 0);
  return result;
}

static void become(struct child *child) {
  const uint64_t none = 0;
  static char *const empty[] = {NULL};
  forget_handlers();
  set_mask(&none, NULL);
  child->error = make(SYS_SETSID, 0, 0, 0, 0);
  if (child->error >= 0) child->error = make(SYS_CHDIR, (long)"/", 0, 0, 0);
  if (child->error >= 0) child->error = arrange_descriptors(&child->start);
  if (child->error >= 0)
    child->error = make(SYS_EXECVE, (long)child->start.words[0], (long)child->start.words, (long)empty, 0);
  for (;;) make(SYS_EXIT_GROUP, 127, 0, 0, 0);
}

/* The new process comes out of the call with the same registers, and only its stack is another one. */
static long clone_on(char *top, struct child *child) {
  const long flags = CLONE_VM | CLONE_VFORK | SIGCHLD;
#if defined(__x86_64__)
  register void (*run)(struct child *) __asm__("r12") = become;
  register struct child *with __asm__("r13") = child;
  register long fourth __asm__("r10") = 0;
  register long fifth __asm__("r8") = 0;
  long result;
  __asm__ volatile("syscall\n\t"
                   "testq %%rax, %%rax\n\t"
                   "jnz 1f\n\t"
                   "xorl %%ebp, %%ebp\n\t"
                   "movq %%r13, %%rdi\n\t"
                   "callq *%%r12\n\t"
                   "ud2\n"
                   "1:"
                   : "=a"(result)
                   : "a"((long)SYS_CLONE), "D"(flags), "S"(top), "d"(0L), "r"(fourth), "r"(fifth), "r"(run), "r"(with)
                   : "rcx", "r11", "memory", "cc");
  return result;
#else
  register long which __asm__("x8") = SYS_CLONE;
  register long first __asm__("x0") = flags;
  register char *second __asm__("x1") = top;
  register long third __asm__("x2") = 0;
  register long fourth __asm__("x3") = 0;
  register long fifth __asm__("x4") = 0;
  register void (*run)(struct child *) __asm__("x20") = become;
  register struct child *with __asm__("x21") = child;
  __asm__ volatile("svc 0\n\t"
                   "cbnz x0, 1f\n\t"
                   "mov x29, xzr\n\t"
                   "mov x0, x21\n\t"
                   "blr x20\n\t"
                   "brk 0\n"
                   "1:"
                   : "+r"(first)
                   : "r"(which), "r"(second), "r"(third), "r"(fourth), "r"(fifth), "r"(run), "r"(with)
                   : "memory", "cc");
  return first;
#endif
}

long start_program(const struct start *start) {
  const uint64_t all = ~(uint64_t)0;
  uint64_t before;
  char stack[STACK_SIZE] __attribute__((aligned(16)));
  struct child child = {.start = *start, .error = 0};
  long problem = set_mask(&all, &before);
  if (problem < 0) return problem;
  long pid = clone_on(stack + sizeof stack, &child);
  set_mask(&before, NULL);
  if (pid < 0 || child.error >= 0) return pid;
  while (make(SYS_WAIT4, pid, 0, 0, 0) == -EINTR) continue;
  return child.error;
}
