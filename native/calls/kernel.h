#ifndef AW_CALLS_KERNEL_H
#define AW_CALLS_KERNEL_H

/* One system call, without the C library: its result, or the negative number of its error. */
#if defined(__x86_64__)

static inline long kernel(long number, const long *given) {
  register long fourth __asm__("r10") = given[3];
  register long fifth __asm__("r8") = given[4];
  register long sixth __asm__("r9") = given[5];
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(given[0]), "S"(given[1]), "d"(given[2]), "r"(fourth), "r"(fifth), "r"(sixth)
                   : "rcx", "r11", "memory");
  return result;
}

#elif defined(__aarch64__)

static inline long kernel(long number, const long *given) {
  register long which __asm__("x8") = number;
  register long first __asm__("x0") = given[0];
  register long second __asm__("x1") = given[1];
  register long third __asm__("x2") = given[2];
  register long fourth __asm__("x3") = given[3];
  register long fifth __asm__("x4") = given[4];
  register long sixth __asm__("x5") = given[5];
  __asm__ volatile("svc 0"
                   : "+r"(first)
                   : "r"(which), "r"(second), "r"(third), "r"(fourth), "r"(fifth), "r"(sixth)
                   : "memory");
  return first;
}

#else
#error "System calls are not known for this processor"
#endif

#endif
