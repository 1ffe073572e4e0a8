import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Sandbox } from '../src/ports/sandbox-driver.ts'
import { output } from './sandbox-place.ts'

/**
 * A build that is heavy on files: makes many small ones, looks at each, makes a result of each by a program of its own
 * for some of them, and packs all. The same script inside and outside; what it made is gone before the next.
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

export interface Build {
  readonly inside: (box: Sandbox) => Promise<unknown>
  readonly outside: () => Promise<unknown>
}

/** Run in the tree, as whoever owns it. */
export function fileBuild(tree: string, files: number, user: { readonly uid?: number; readonly gid?: number }): Build {
  writeFileSync(join(tree, 'build.sh'), script(files))
  const env = { PATH: '/usr/bin:/bin', LANG: 'C.UTF-8' }
  return {
    inside: (box) => output(box, 'sh', 'build.sh'),
    outside: () =>
      new Promise<void>((resolve, reject) => {
        const child = spawn('sh', ['build.sh'], { cwd: tree, env, stdio: ['ignore', 'ignore', 'inherit'], ...user })
        child
          .on('error', reject)
          .on('close', (code) => (code === 0 ? resolve() : reject(new Error(`The build ended with ${code}`))))
      }),
  }
}
