/** What tells whether a file is still the one that was read; `none` if there is none. */
export const stampOfFile = (found: { ino: number; size: number; mtimeMs: number } | undefined): string =>
  found === undefined ? 'none' : `${found.ino}-${found.size}-${found.mtimeMs}`
