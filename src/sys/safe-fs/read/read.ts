import * as fs from 'node:fs'
import { AwError } from '../../../domain/errors.ts'
import type { FileInfo, PathOptions, ReadOptions, ResolvedPath } from '../../../ports/files.ts'
import { refusal, translatingErrors } from '../errors.ts'
import { infoOf, resolvedEntryInfo, withRebased } from './info.ts'
import { openBelow, openFileBelow } from '../open.ts'
import { countOf, parseRequest } from '../request.ts'
import type { Root } from '../root.ts'
import { withResolvedEntry } from '../walk.ts'

/** What a caller gets at most if it names no limit: a file is read whole into memory. */
const defaultMaxBytes = 64 * 1024 * 1024

export function read(root: Root, path: string, options: ReadOptions = {}): Buffer {
  const parsed = parseRequest(root, path, options, { root: false })
  const maxBytes = countOf(options.maxBytes, 'maxBytes', defaultMaxBytes)
  const offset = countOf(options.offset, 'offset', 0)
  const { fd, stats } = openFileBelow(root, parsed)
  try {
    const length = Math.min(countOf(options.length, 'length', Infinity), Math.max(0, stats.size - offset))
    if (length > maxBytes) throw tooLarge(path, stats.size, maxBytes)
    return translatingErrors(path, () => readBytes(fd, offset, length))
  } finally {
    fs.closeSync(fd)
  }
}

function readBytes(fd: number, offset: number, length: number): Buffer {
  const buffer = Buffer.allocUnsafe(length)
  let done = 0
  while (done < length) {
    const got = fs.readSync(fd, buffer, done, length - done, offset + done)
    if (got === 0) break // It was cut short meanwhile.
    done += got
  }
  return done === length ? buffer : buffer.subarray(0, done)
}

function tooLarge(path: string, size: number, maxBytes: number): AwError {
  const { code, message, hint } = refusal('file_too_large', path)
  return new AwError(code, message, {
    ...(hint === undefined ? {} : { hint }),
    data: { path, size, max_bytes: maxBytes },
  })
}

export function stat(root: Root, path: string, options: PathOptions & { follow?: boolean } = {}): FileInfo {
  const parsed = parseRequest(root, path, options)
  const follow = options.follow !== false || parsed.directory
  if (!follow || parsed.names.includes('..')) {
    return withResolvedEntry(root, parsed, { follow }, (entry) => {
      if (!entry.stats) throw refusal('file_not_found', path)
      return resolvedEntryInfo(root, parsed, entry, entry.stats)
    })
  }
  const fd = openBelow(root, parsed, 'anything')
  try {
    return withRebased(parsed, infoOf(parsed.names.join('/'), fs.fstatSync(fd)))
  } finally {
    fs.closeSync(fd)
  }
}

/** Where a path leads, there or not. What is missing cannot hold links, so the rest is taken as it is written. */
export function resolve(root: Root, path: string, options: PathOptions & { follow?: boolean } = {}): ResolvedPath {
  const parsed = parseRequest(root, path, options)
  const follow = options.follow !== false || parsed.directory
  return withResolvedEntry(root, parsed, { follow, missing: 'answer' }, (entry) => ({
    path: resolveDotDot(path, [...entry.names, ...entry.rest]),
    exists: entry.stats !== undefined,
    rebased: parsed.rebased,
  }))
}

export function resolveDotDot(path: string, names: readonly string[]): string {
  const result: string[] = []
  for (const name of names) {
    if (name !== '..') result.push(name)
    else if (result.pop() === undefined) throw refusal('path_traversal_attempt', path)
  }
  return result.join('/')
}
