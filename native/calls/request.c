/* What a system call is given: numbers as they are, bytes and texts by where they are. */
#include "request.h"

#include "kernel.h"

enum { ENAMETOOLONG = 36 };

static bool refuse(napi_env env, const char *code, const char *message) {
  napi_throw_type_error(env, code, message);
  return false;
}

static bool take_number(napi_env env, napi_value value, long *to) {
  const double most = 9007199254740991.0;
  double number;
  if (napi_get_value_double(env, value, &number) != napi_ok) return false;
  // What is no number at all is in no range.
  if (!(number >= -most && number <= most) || (double)(long)number != number)
    return refuse(env, "ERR_OUT_OF_RANGE", "A number for a system call is not a safe integer");
  *to = (long)number;
  return true;
}

static bool take_bigint(napi_env env, napi_value value, long *to) {
  int64_t with_sign;
  uint64_t without;
  bool fits;
  if (napi_get_value_bigint_int64(env, value, &with_sign, &fits) != napi_ok) return false;
  *to = with_sign;
  if (fits) return true;
  if (napi_get_value_bigint_uint64(env, value, &without, &fits) != napi_ok) return false;
  *to = (long)without;
  return fits || refuse(env, "ERR_OUT_OF_RANGE", "A BigInt for a system call has more than 64 bits");
}

/* A text that is too long is answered for as the kernel does: none of its own may be longer. */
static bool take_text(napi_env env, napi_value value, struct request *request, size_t place) {
  char *text = request->texts[place];
  size_t length;
  if (napi_get_value_string_utf8(env, value, text, sizeof request->texts[place], &length) != napi_ok) return false;
  for (size_t at = 0; at < length; at++) {
    if (text[at] == 0) return refuse(env, "ERR_INVALID_ARG_VALUE", "A text for a system call contains a NUL byte");
  }
  if (length > LONGEST_TEXT) request->refused = -ENAMETOOLONG;
  request->arguments[place] = (long)text;
  return true;
}

static bool take_bytes(napi_env env, napi_value value, long *to) {
  bool is_bytes;
  void *bytes;
  if (napi_is_typedarray(env, value, &is_bytes) != napi_ok) return false;
  if (!is_bytes) return refuse(env, "ERR_INVALID_ARG_TYPE", "An object for a system call is not a typed array");
  if (napi_get_typedarray_info(env, value, NULL, NULL, &bytes, NULL, NULL) != napi_ok) return false;
  *to = (long)bytes;
  return true;
}

static bool take_argument(napi_env env, napi_value value, struct request *request, size_t place) {
  napi_valuetype type;
  if (napi_typeof(env, value, &type) != napi_ok) return false;
  switch (type) {
    case napi_number: return take_number(env, value, &request->arguments[place]);
    case napi_bigint: return take_bigint(env, value, &request->arguments[place]);
    case napi_string: return take_text(env, value, request, place);
    case napi_object: return take_bytes(env, value, &request->arguments[place]);
    case napi_null: return true;
    default: return refuse(env, "ERR_INVALID_ARG_TYPE", "A system call takes numbers, texts, bytes and null");
  }
}

bool take_request(napi_env env, size_t count, const napi_value *values, struct request *request) {
  if (count == 0 || count > MOST_ARGUMENTS + 1)
    return refuse(env, "ERR_INVALID_ARG_VALUE", "A system call has a number and at most six arguments");
  napi_valuetype type;
  if (napi_typeof(env, values[0], &type) != napi_ok) return false;
  if (type != napi_number) return refuse(env, "ERR_INVALID_ARG_TYPE", "A system call is named by its number");
  if (!take_number(env, values[0], &request->number)) return false;
  request->refused = 0;
  for (size_t place = 0; place < MOST_ARGUMENTS; place++) {
    request->arguments[place] = 0;
    if (place + 1 < count && !take_argument(env, values[place + 1], request, place)) return false;
  }
  return true;
}

long make_request(const struct request *request) {
  return request->refused != 0 ? request->refused : kernel(request->number, request->arguments);
}
