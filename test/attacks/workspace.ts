import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach } from 'vitest'
import { toAwError } from '../../src/domain/errors.ts'
import type { FileHandle, RootOptions } from '../../src/ports/files.ts'
import { openRoot } from '../../src/sys/safe-fs/index.ts'

/** A workspace `ws` in a fresh directory for each test, and a handle on it that is made when first asked for. */
export function useWorkspace(options: RootOptions = {}) {
  let base = ''
  let handle: FileHandle | undefined
  beforeEach(() => {
    base = fs.mkdtempSync(join(tmpdir(), 'aw-files-'))
    fs.mkdirSync(join(base, 'ws'))
  })
  afterEach(() => {
    handle?.[Symbol.dispose]()
    handle = undefined
    fs.rmSync(base, { recursive: true, force: true })
  })
  return {
    get base() {
      return base
    },
    get files() {
      return (handle ??= openRoot(join(base, 'ws'), options))
    },
    /** On the host, below the workspace. */
    path: (...names: string[]) => join(base, 'ws', ...names),
    /** Beside the workspace. */
    outside: (...names: string[]) => join(base, ...names),
    put(path: string, content = '') {
      fs.mkdirSync(join(base, 'ws', path, '..'), { recursive: true })
      fs.writeFileSync(join(base, 'ws', path), content)
    },
    get: (path: string) => fs.readFileSync(join(base, 'ws', path), 'utf8'),
  }
}

/** The code that a call is refused with; 'ok' if it is not. */
export function codeOf(call: () => unknown): string {
  try {
    call()
    return 'ok'
  } catch (error) {
    return toAwError(error).code
  }
}

export async function codeLater(call: () => unknown): Promise<string> {
  try {
    await call()
    return 'ok'
  } catch (error) {
    return toAwError(error).code
  }
}

export const openDescriptors = (): number => fs.readdirSync('/proc/self/fd').length
