#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "copy.h"

/* After so many files, or so many bytes, there is enough to write out. */
#define ENOUGH_FILES 3000
#define ENOUGH_BYTES (64u << 20)

static atomic_uint files;
static _Atomic uint64_t bytes;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool is_wanted, is_over, is_started;
static int target, failure;
static pthread_t thread;

static void *flush(void *unused) {
  pthread_mutex_lock(&lock);
  while (!is_over && failure == 0) {
    if (!is_wanted) {
      pthread_cond_wait(&changed, &lock);
      continue;
    }
    is_wanted = false;
    pthread_mutex_unlock(&lock);
    int failed = syncfs(target) < 0 ? -errno : 0;
    pthread_mutex_lock(&lock);
    failure = failed;
  }
  pthread_mutex_unlock(&lock);
  return unused;
}

void start_early(int to) {
  target = to;
  is_started = pthread_create(&thread, NULL, flush, NULL) == 0;
}

static void tell_flush(bool *what) {
  pthread_mutex_lock(&lock);
  *what = true;
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&lock);
}

void note_early(unsigned more_files, uint64_t more_bytes) {
  if (!is_started) return;
  bool is_enough = atomic_fetch_add(&files, more_files) + more_files >= ENOUGH_FILES;
  is_enough |= atomic_fetch_add(&bytes, more_bytes) + more_bytes >= ENOUGH_BYTES;
  if (!is_enough) return;
  atomic_store(&files, 0);
  atomic_store(&bytes, 0);
  tell_flush(&is_wanted);
}

int end_early(void) {
  if (!is_started) return 0;
  tell_flush(&is_over);
  pthread_join(thread, NULL);
  is_started = false;
  return failure;
}
