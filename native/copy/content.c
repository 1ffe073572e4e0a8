#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "copy.h"

#define CLONE_WHOLE_FILE 0x40049409
#define WRITE_OUT_AND_WAIT 7

/* The first refusal settles it. */
static atomic_bool shares = true;

static bool cannot_share(int error) {
  switch (error) {
    case EOPNOTSUPP:
    case EXDEV:
    case EINVAL:
    case ENOTTY:
    case ENOSYS:
    case EACCES: return true;
    default: return false;
  }
}

int write_at(int to, const char *data, size_t length, off_t at) {
  while (length > 0) {
    ssize_t count = pwrite(to, data, length, at);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return -errno;
    data += count, length -= (size_t)count, at += count;
  }
  return 0;
}

static bool is_zero(const char *data, size_t length) {
  return length == 0 || (data[0] == 0 && memcmp(data, data + 1, length - 1) == 0);
}

/* One stretch of it. Answers where it ended, which is early if the file was cut short meanwhile; or an error. */
static off_t copy_range(int from, int to, off_t start, off_t end, bool sparse, char *scratch) {
  off_t done = start;
  while (done < end) {
    size_t wanted = end - done < SCRATCH_BYTES ? (size_t)(end - done) : SCRATCH_BYTES;
    ssize_t got = pread(from, scratch, wanted, done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -errno;
    if (got == 0) return done;
    int failed = sparse && is_zero(scratch, (size_t)got) ? 0 : write_at(to, scratch, (size_t)got, done);
    if (failed) return failed;
    done += got;
    count_bytes((uint64_t)got);
  }
  return done;
}

static int copy_sparse(int from, int to, off_t size, char *scratch) {
  for (off_t done = 0; done < size;) {
    off_t start = lseek(from, done, SEEK_DATA);
    if (start < 0 && errno == ENXIO) break;
    off_t end = start < 0 ? -1 : lseek(from, start, SEEK_HOLE);
    // It was cut short meanwhile.
    if (end < 0 && errno == ENXIO) break;
    if (end < 0) return -errno;
    done = copy_range(from, to, start, end < size ? end : size, true, scratch);
    if (done < 0) return (int)done;
    if (done < end && done < size) break;
  }
  return ftruncate(to, size) < 0 ? -errno : 0;
}

int copy_content(int from, int to, const struct told *told, char *scratch) {
  if (atomic_load(&shares)) {
    if (ioctl(to, CLONE_WHOLE_FILE, from) == 0) {
      count_file(told->size, true);
      count_bytes(told->size);
      return 0;
    }
    if (!cannot_share(errno)) return -errno;
    atomic_store(&shares, false);
  }
  count_file(told->size, false);
  if (told->blocks * 512 < told->size) return copy_sparse(from, to, (off_t)told->size, scratch);
  off_t end = copy_range(from, to, 0, (off_t)told->size, false, scratch);
  return end < 0 ? (int)end : 0;
}

#define RECENT_MS 60000
#define TICK_MS 20
#define MOST_ALONE 64

/* What was changed before is written out. */
static _Atomic int64_t settled_ms = INT64_MIN;
static atomic_int alone;
static pthread_mutex_t flushing = PTHREAD_MUTEX_INITIALIZER;

static int64_t clock_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int flush(int from) {
  pthread_mutex_lock(&flushing);
  int failed = 0;
  if (atomic_load(&settled_ms) == INT64_MIN) {
    int64_t began = clock_ms();
    failed = syncfs(from) < 0 ? -errno : 0;
    if (!failed) atomic_store(&settled_ms, began - TICK_MS);
  }
  pthread_mutex_unlock(&flushing);
  return failed;
}

int settle(int from, const struct told *told) {
  if (!wish.remembered) return 0;
  int64_t changed = told->ctime.seconds * 1000 + told->ctime.nanoseconds / 1000000;
  if (changed < atomic_load(&settled_ms)) return 0;
  bool is_recent = changed >= clock_ms() - RECENT_MS;
  if (is_recent && atomic_fetch_add(&alone, 1) >= MOST_ALONE) {
    int failed = flush(from);
    if (failed) return failed;
    if (changed < atomic_load(&settled_ms)) return 0;
  }
  return sync_file_range(from, 0, 0, WRITE_OUT_AND_WAIT) < 0 ? -errno : 0;
}
