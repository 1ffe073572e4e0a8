#ifndef AW_SHA256_H
#define AW_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_BYTES 32

/* SHA-256 (FIPS 180-4) of bytes that are all there; by the processor's own instructions for it, if it has them. */
void sha256(const void *data, size_t length, uint8_t digest[SHA256_BYTES]);

#endif
