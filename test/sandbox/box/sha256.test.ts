/** The hash in aw-copy, both ways: the one that this machine would take, and the one that works on any. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { inRoot } from '../../../tools/root.ts'
import { testFolder } from './harness.ts'

const lengths = [...Array(300).keys(), 4095, 4096, 65_535, 65_536, 65_537, 1_048_575, 1_048_576]

/** Prints the hash of the bytes 0, 7, 14 … for each length. */
const program = `
#include <stdio.h>
#include <stdlib.h>
#include "sha256.h"
int main(int count, char **lengths) {
  static uint8_t data[1 << 20], digest[SHA256_BYTES];
  for (size_t at = 0; at < sizeof data; at++) data[at] = (uint8_t)(at * 7);
  for (int at = 1; at < count; at++) {
    sha256(data, strtoul(lengths[at], NULL, 10), digest);
    for (int byte = 0; byte < SHA256_BYTES; byte++) printf("%02x", digest[byte]);
    puts("");
  }
}`

test.each([
  ['as it is built', []],
  ['portably', ['-DAW_PORTABLE']],
])('the hash is SHA-256, %s', (_, flags) => {
  const folder = testFolder()
  writeFileSync(join(folder, 'main.c'), program)
  const sources = ['-I', inRoot('native/copy'), join(folder, 'main.c'), inRoot('native/copy/sha256.c')]
  execFileSync('musl-gcc', ['-std=c11', '-O2', '-static', ...flags, '-o', join(folder, 'hash'), ...sources])
  const told = execFileSync(join(folder, 'hash'), lengths.map(String), { encoding: 'utf8' }).trim().split('\n')
  const data = Buffer.from(Array.from({ length: 1 << 20 }, (__, n) => n * 7))
  expect(told).toEqual(lengths.map((length) => createHash('sha256').update(data.subarray(0, length)).digest('hex')))
})
