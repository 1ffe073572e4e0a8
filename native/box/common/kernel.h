/* What the kernel has and the C library does not declare. Numbers of calls since 5.1 are the same on every machine. */
#ifndef AW_KERNEL_H
#define AW_KERNEL_H

#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC 4
#endif
#ifndef AT_EMPTY_PATH
#define AT_EMPTY_PATH 0x1000
#endif
#define CLONE_INTO_CGROUP 0x200000000ULL
#define CGROUP2_SUPER_MAGIC 0x63677270
#define OPEN_TREE_CLONE 1
#define OPEN_TREE_CLOEXEC 02000000
#define MOVE_MOUNT_F_EMPTY_PATH 4
#define MOVE_MOUNT_T_EMPTY_PATH 0x40
#define FSOPEN_CLOEXEC 1
#define FSMOUNT_CLOEXEC 1
#define FSCONFIG_SET_FLAG 0
#define FSCONFIG_SET_STRING 1
#define FSCONFIG_CMD_CREATE 6
/* RESOLVE_NO_XDEV and RESOLVE_NO_SYMLINKS. */
#define RESOLVE_ON_MOUNT 5
#define RENAME_SWAPS 2
#define MOUNT_ATTR_RDONLY 1
#define MOUNT_ATTR_NOSUID 2
#define MOUNT_ATTR_NODEV 4
#define MOUNT_ATTR_IDMAP 0x100000

struct clone_arguments {
  uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size, cgroup;
};

struct mount_attributes {
  uint64_t set, clear, propagation, userns_fd;
};

struct filter_instruction {
  uint16_t code;
  uint8_t jt, jf;
  uint32_t k;
};

struct filter_program {
  unsigned short length;
  struct filter_instruction *instructions;
};

static inline pid_t sys_clone3(struct clone_arguments *how) {
  return (pid_t)syscall(SYS_clone3, how, sizeof *how);
}
static inline int sys_close_range(unsigned first, unsigned last, unsigned flags) {
  return (int)syscall(SYS_close_range, first, last, flags);
}
/* Follows no link and stays on the mount of the directory. */
static inline int sys_open_on_mount(int dir, const char *name, int flags) {
  uint64_t how[3] = {(uint64_t)flags, 0, RESOLVE_ON_MOUNT};
  return (int)syscall(SYS_openat2, dir, name, how, sizeof how);
}
static inline int sys_open_tree(int dir, const char *path, unsigned flags) {
  return (int)syscall(SYS_open_tree, dir, path, flags);
}
static inline int sys_move_mount(int from, const char *from_path, int to, const char *to_path, unsigned flags) {
  return (int)syscall(SYS_move_mount, from, from_path, to, to_path, flags);
}
static inline int sys_fsopen(const char *type, unsigned flags) {
  return (int)syscall(SYS_fsopen, type, flags);
}
static inline int sys_fsconfig(int fd, unsigned command, const char *key, const void *value, int aux) {
  return (int)syscall(SYS_fsconfig, fd, command, key, value, aux);
}
static inline int sys_fsmount(int fd, unsigned flags, unsigned attributes) {
  return (int)syscall(SYS_fsmount, fd, flags, attributes);
}
static inline int sys_mount_setattr(int fd, const char *path, unsigned flags, struct mount_attributes *attributes) {
  return (int)syscall(SYS_mount_setattr, fd, path, flags, attributes, sizeof *attributes);
}
static inline int sys_landlock_restrict_self(int ruleset) {
  return (int)syscall(SYS_landlock_restrict_self, ruleset, 0);
}
static inline int sys_renameat2(int from, const char *from_path, int to, const char *to_path, unsigned flags) {
  return (int)syscall(SYS_renameat2, from, from_path, to, to_path, flags);
}
static inline int sys_pidfd_open(pid_t pid) {
  return (int)syscall(SYS_pidfd_open, pid, 0);
}
static inline int sys_pidfd_send_signal(int fd, int signal) {
  return (int)syscall(SYS_pidfd_send_signal, fd, signal, (void *)0, 0);
}

#endif
