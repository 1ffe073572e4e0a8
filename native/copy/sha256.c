#include "sha256.h"

#include <pthread.h>
#include <string.h>

#define BLOCK_BYTES 64

static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

/* Takes whole blocks into the state. */
typedef void take_blocks(uint32_t state[8], const uint8_t *data, size_t blocks);

static uint32_t rotated(uint32_t value, unsigned by) {
  return value >> by | value << (32 - by);
}

static void take_portably(uint32_t state[8], const uint8_t *data, size_t blocks) {
  for (; blocks > 0; blocks--, data += BLOCK_BYTES) {
    uint32_t w[64];
    for (int t = 0; t < 16; t++) {
      const uint8_t *at = data + 4 * t;
      w[t] = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
    }
    for (int t = 16; t < 64; t++) {
      uint32_t near = w[t - 2], far = w[t - 15];
      w[t] = (rotated(near, 17) ^ rotated(near, 19) ^ near >> 10) + w[t - 7] +
             (rotated(far, 7) ^ rotated(far, 18) ^ far >> 3) + w[t - 16];
    }
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (int t = 0; t < 64; t++) {
      uint32_t one = h + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) + ((e & f) ^ (~e & g)) + constants[t] + w[t];
      uint32_t two = (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      h = g, g = f, f = e, e = d + one, d = c, c = b, b = a, a = one + two;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
    state[4] += e, state[5] += f, state[6] += g, state[7] += h;
  }
}

/* A test compares both ways, whatever machine it runs on. */
#if defined(__x86_64__) && !defined(AW_PORTABLE)
#define HAS_OTHER_WAY
#include <cpuid.h>
#include <immintrin.h>

static int has_instructions(void) {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_SSSE3) || !(c & bit_SSE4_1)) return 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA);
}

/* An instruction does two rounds: with the state as the words a b e f and c d g h, it makes the new a b e f, and the
 * old one is the new c d g h. The words of a block come four at a time: `w` has those of the last four times. */
__attribute__((target("sha,sse4.1,ssse3"))) static void take_by_instructions(uint32_t state[8], const uint8_t *data,
                                                                             size_t blocks) {
  const __m128i big_endian = _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
  __m128i abef = _mm_set_epi32((int)state[0], (int)state[1], (int)state[4], (int)state[5]);
  __m128i cdgh = _mm_set_epi32((int)state[2], (int)state[3], (int)state[6], (int)state[7]);
  for (; blocks > 0; blocks--, data += BLOCK_BYTES) {
    const __m128i abef_before = abef, cdgh_before = cdgh;
    __m128i w[4];
#pragma GCC unroll 16
    for (int four = 0; four < 16; four++) {
      __m128i *now = &w[four % 4], *last = &w[(four + 3) % 4];
      if (four < 4) {
        *now = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)data + four), big_endian);
      } else {
        __m128i begun = _mm_sha256msg1_epu32(*now, w[(four + 1) % 4]);
        __m128i sevenths = _mm_alignr_epi8(*last, w[(four + 2) % 4], 4);
        *now = _mm_sha256msg2_epu32(_mm_add_epi32(begun, sevenths), *last);
      }
      __m128i added = _mm_add_epi32(*now, _mm_loadu_si128((const __m128i *)constants + four));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, added);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(added, 0x0e));
    }
    abef = _mm_add_epi32(abef, abef_before), cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  uint32_t high[4], low[4];
  _mm_storeu_si128((__m128i *)high, abef), _mm_storeu_si128((__m128i *)low, cdgh);
  state[0] = high[3], state[1] = high[2], state[4] = high[1], state[5] = high[0];
  state[2] = low[3], state[3] = low[2], state[6] = low[1], state[7] = low[0];
}
#endif

static take_blocks *take = take_portably;

static void choose(void) {
#ifdef HAS_OTHER_WAY
  if (has_instructions()) take = take_by_instructions;
#endif
}

void sha256(const void *data, size_t length, uint8_t digest[SHA256_BYTES]) {
  static pthread_once_t chosen = PTHREAD_ONCE_INIT;
  pthread_once(&chosen, choose);
  uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  size_t whole = length / BLOCK_BYTES, rest = length % BLOCK_BYTES;
  take(state, data, whole);
  // What is left, a bit that is set, and at the end of a block how many bits there were.
  uint8_t last[2 * BLOCK_BYTES] = {0};
  if (rest > 0) memcpy(last, (const uint8_t *)data + whole * BLOCK_BYTES, rest);
  last[rest] = 0x80;
  size_t blocks = rest + 9 > BLOCK_BYTES ? 2 : 1;
  uint64_t bits = (uint64_t)length * 8;
  for (int at = 0; at < 8; at++) last[blocks * BLOCK_BYTES - 1 - (size_t)at] = (uint8_t)(bits >> 8 * at);
  take(state, last, blocks);
  for (int at = 0; at < 32; at++) digest[at] = (uint8_t)(state[at / 4] >> (24 - 8 * (at % 4)));
}
