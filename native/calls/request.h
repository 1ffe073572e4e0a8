#ifndef AW_CALLS_REQUEST_H
#define AW_CALLS_REQUEST_H

#include <node_api.h>

enum { MOST_ARGUMENTS = 6, LONGEST_TEXT = 4095 };

/* A system call to be made: its number, its arguments, and the texts that some of them point to. */
struct request {
  long number;
  long arguments[MOST_ARGUMENTS];
  /* If not 0, the call is not made, and this is its result. */
  long refused;
  /* With room for the zero behind it, and for what tells that a text was cut. */
  char texts[MOST_ARGUMENTS][LONGEST_TEXT + 5];
};

/* Takes the number and the arguments of a call from JavaScript; false if something was thrown. */
bool take_request(napi_env env, size_t count, const napi_value *values, struct request *request);

/* Makes the call. Touches nothing of JavaScript's, so any thread may. */
long make_request(const struct request *request);

#endif
