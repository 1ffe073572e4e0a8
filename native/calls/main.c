/*
 * aw-calls: system calls for Node, which has only some of them.
 *
 *   call(number, ...arguments)        makes one, and answers its result or the negative number of its error
 *   callLater(number, ...arguments)   makes it on another thread, and promises the same
 *   start(words, room, descriptors)   starts a program, and answers its number or the negative number of an error
 *
 * An argument is a number, a BigInt, a string (given as UTF-8 with a zero behind it), a typed array (given as the address
 * of its bytes, which the call may fill), or null. How many bytes there are is told by another argument, as in C.
 * The words of a program, its own path first, are bytes with a zero behind each; there is room for the address of each
 * and one more. start.h tells what becomes of it.
 * Nothing of a C library is used: one file serves every Linux of a processor, and every Node that has Node-API.
 */
#include "request.h"
#include "start.h"

/* One argument more than there may be shows that there are too many. */
enum { MOST_GIVEN = MOST_ARGUMENTS + 2 };

/* Nothing must look like a result. What was thrown already stays what is thrown. */
static napi_value fail(napi_env env) {
  napi_throw_error(env, "ERR_SYSTEM_CALL", "Node refused what a system call needs");
  return NULL;
}

static napi_value call(napi_env env, napi_callback_info info) {
  size_t count = MOST_GIVEN;
  napi_value given[MOST_GIVEN], result;
  struct request request;
  if (napi_get_cb_info(env, info, &count, given, NULL, NULL) != napi_ok) return fail(env);
  if (!take_request(env, count, given, &request)) return fail(env);
  return napi_create_int64(env, make_request(&request), &result) == napi_ok ? result : fail(env);
}

/* A call for another thread. Its memory is JavaScript's, and is kept together with the arguments until the call is made. */
struct later {
  struct request request;
  long result;
  napi_deferred promise;
  napi_async_work work;
  napi_ref kept;
};

static void make_later(napi_env env, void *data) {
  (void)env;
  struct later *later = data;
  later->result = make_request(&later->request);
}

/* `status` is that of a call that was not made; then nobody waits for it: the thread of JavaScript is ending. */
static void tell_later(napi_env env, napi_status status, void *data) {
  struct later *later = data;
  napi_ref kept = later->kept;
  napi_value result;
  napi_delete_async_work(env, later->work);
  if (status == napi_ok && napi_create_int64(env, later->result, &result) == napi_ok)
    napi_resolve_deferred(env, later->promise, result);
  napi_delete_reference(env, kept);
}

/* An array of the arguments and of the memory for the call, which is answered too. */
static bool keep(napi_env env, size_t count, const napi_value *given, napi_value *kept, struct later **later) {
  napi_value memory;
  if (napi_create_arraybuffer(env, sizeof **later, (void **)later, &memory) != napi_ok) return false;
  if (napi_create_array_with_length(env, count + 1, kept) != napi_ok) return false;
  for (size_t place = 0; place < count; place++) {
    if (napi_set_element(env, *kept, place, given[place]) != napi_ok) return false;
  }
  return napi_set_element(env, *kept, count, memory) == napi_ok;
}

static napi_value call_later(napi_env env, napi_callback_info info) {
  size_t count = MOST_GIVEN;
  napi_value given[MOST_GIVEN], kept, name, promise;
  struct later *later;
  if (napi_get_cb_info(env, info, &count, given, NULL, NULL) != napi_ok) return fail(env);
  if (count > MOST_GIVEN) count = MOST_GIVEN;
  if (!keep(env, count, given, &kept, &later) || !take_request(env, count, given, &later->request)) return fail(env);
  if (napi_create_string_utf8(env, "aw-calls", NAPI_AUTO_LENGTH, &name) != napi_ok) return fail(env);
  if (napi_create_reference(env, kept, 1, &later->kept) != napi_ok) return fail(env);
  if (napi_create_promise(env, &later->promise, &promise) != napi_ok) return fail(env);
  if (napi_create_async_work(env, NULL, name, make_later, tell_later, later, &later->work) != napi_ok) return fail(env);
  return napi_queue_async_work(env, later->work) == napi_ok ? promise : fail(env);
}

/* The elements of a typed array; false if it is none of the kind that is wanted. */
static bool take_array(napi_env env, napi_value value, napi_typedarray_type wanted, void **data, size_t *count) {
  bool is_array;
  napi_typedarray_type type;
  if (napi_is_typedarray(env, value, &is_array) != napi_ok || !is_array) return false;
  return napi_get_typedarray_info(env, value, &type, count, data, NULL, NULL) == napi_ok && type == wanted;
}

/* Fails if there are no words, or not as many as there is room for. */
static bool point_at_words(char *bytes, size_t length, char **words, size_t room) {
  size_t count = 0;
  if (length == 0 || bytes[length - 1] != 0) return false;
  for (size_t at = 0; at < length; at++) {
    if (at > 0 && bytes[at - 1] != 0) continue;
    if (count + 1 >= room) return false;
    words[count++] = bytes + at;
  }
  words[count] = NULL;
  return count + 1 == room;
}

static napi_value start(napi_env env, napi_callback_info info) {
  size_t count = 3, length, room;
  napi_value given[3], result;
  void *bytes, *words, *descriptors;
  struct start start;
  if (napi_get_cb_info(env, info, &count, given, NULL, NULL) != napi_ok) return fail(env);
  bool taken = count == 3 && take_array(env, given[0], napi_uint8_array, &bytes, &length) &&
               take_array(env, given[1], napi_biguint64_array, &words, &room) &&
               take_array(env, given[2], napi_int32_array, &descriptors, &start.descriptor_count) &&
               point_at_words(bytes, length, words, room);
  if (!taken) {
    napi_throw_type_error(env, "ERR_INVALID_ARG_VALUE", "A program takes words, room for them and descriptors");
    return NULL;
  }
  start.words = words;
  start.descriptors = descriptors;
  return napi_create_int64(env, start_program(&start), &result) == napi_ok ? result : fail(env);
}

static bool export_function(napi_env env, napi_value exports, const char *name, napi_callback function) {
  napi_value value;
  return napi_create_function(env, name, NAPI_AUTO_LENGTH, function, NULL, &value) == napi_ok &&
         napi_set_named_property(env, exports, name, value) == napi_ok;
}

NAPI_MODULE_INIT() {
  bool done = export_function(env, exports, "call", call) && export_function(env, exports, "callLater", call_later) &&
              export_function(env, exports, "start", start);
  return done ? exports : NULL;
}
