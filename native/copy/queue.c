#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "copy.h"

static struct place *places;
/* Those that are waiting, and those that somebody is at. */
static unsigned unfinished;
static atomic_int failure;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

void add_place(const char *directory, const char *name) {
  size_t before = *directory ? strlen(directory) + 1 : 0, length = strlen(name) + 1;
  struct place *place = malloc(sizeof *place + before + length);
  if (place == NULL) abort();
  if (before) {
    memcpy(place->path, directory, before - 1);
    place->path[before - 1] = '/';
  }
  memcpy(place->path + before, name, length);
  pthread_mutex_lock(&lock);
  place->next = places;
  places = place;
  unfinished++;
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&lock);
}

struct place *take_place(void) {
  pthread_mutex_lock(&lock);
  while (places == NULL && unfinished > 0 && failure == 0) pthread_cond_wait(&changed, &lock);
  struct place *place = failure == 0 ? places : NULL;
  if (place) places = place->next;
  pthread_mutex_unlock(&lock);
  return place;
}

bool finish_place(int failed) {
  pthread_mutex_lock(&lock);
  bool is_first = failed && failure == 0;
  if (is_first) failure = failed;
  unfinished--;
  if (failed || unfinished == 0) pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
  return is_first;
}

int places_failed(void) {
  return failure;
}
