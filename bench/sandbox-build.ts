import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Sandbox } from '../src/ports/sandbox-driver.ts'
import { output } from './sandbox-place.ts'

/**
 * A build that is heavy on files: makes many small ones, looks at each, runs a program for some of them, copies and packs
 * all. The same script inside and outside; what it made is gone before the next.
 */
const script = (files: number): string => `set -e
rm -rf built && mkdir -p built/src built/out
awk 'BEGIN { for (n = 0; n < ${files}; n++) { f = "built/src/" n ".c"; print "int f" n "(void) { return " n "; }" > f; close(f) } }'
find built/src -type f -size -2 | wc -l > built/count
find built/src -name '*.c' -exec cat {} + | sort > built/all
for f in built/src/*50.c; do sed 's/int/long/' "$f" > "built/out/\${f##*/}"; done
cp -r built/src built/copy
tar -cf built/all.tar built/src built/copy
tar -tf built/all.tar | wc -l >> built/count
rm -rf built
`

/** Each answers the milliseconds of processor time that it took: what else the machine does changes these little. */
export interface Build {
  readonly inside: (box: Sandbox) => Promise<number>
  readonly outside: () => Promise<number>
}

/** Run in the tree, as whoever owns it. */
export function fileBuild(tree: string, files: number, user: { readonly uid?: number; readonly gid?: number }): Build {
  writeFileSync(join(tree, 'build.sh'), script(files))
  const argv = ['bash', '-c', 'sh build.sh && times > times.txt'] as const
  const env = { PATH: '/usr/bin:/bin', LANG: 'C.UTF-8' }
  const spent = (): number => processorMs(readFileSync(join(tree, 'times.txt'), 'utf8'))
  return {
    async inside(box) {
      await output(box, ...argv)
      return spent()
    },
    async outside() {
      const [program, ...args] = argv
      const child = spawn(program, args, { cwd: tree, env, stdio: ['ignore', 'ignore', 'inherit'], ...user })
      await new Promise<void>((resolve, reject) => {
        child
          .on('error', reject)
          .on('close', (code) => (code === 0 ? resolve() : reject(new Error(`The build ended with ${code}`))))
      })
      return spent()
    },
  }
}

/** The second line that bash tells: of all its children, as `0m0.123s 0m0.456s`, of the user and of the system. */
function processorMs(times: string): number {
  const words = (times.split('\n')[1] ?? '').split(' ')
  return words.reduce((sum, word) => {
    const [, minutes = Number.NaN, seconds = Number.NaN] = /^(\d+)m([\d.]+)s$/.exec(word) ?? []
    return sum + (Number(minutes) * 60 + Number(seconds)) * 1000
  }, 0)
}
