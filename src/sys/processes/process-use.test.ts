import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { standing } from '../../../test/support/background-process.ts'
import { processesUsing, type ProcessUse } from './process-use.ts'

const ordinary = 65534
const isRoot = process.getuid?.() === 0
const become = isRoot ? ['setpriv', '--reuid', `${ordinary}`, '--regid', `${ordinary}`, '--clear-groups'] : []

/** A directory, and which processes do not count. */
type Question = readonly [directory: string, except?: readonly number[]]

interface Kind {
  readonly as: string
  /** Who makes a mount namespace of their own, and who looks. */
  readonly unshare: readonly string[]
  readonly look: (...questions: readonly Question[]) => ProcessUse[][]
}

const asUser: Kind = {
  as: 'an ordinary user',
  unshare: [...become, 'unshare', '--user', '--map-root-user', '--mount'],
  look(...questions) {
    const module = fileURLToPath(new URL('process-use.ts', import.meta.url))
    const script = `const { processesUsing } = await import(${JSON.stringify(module)})
      const all = ${JSON.stringify(questions)}.map(([directory, except]) => processesUsing(directory, { except }))
      console.log(JSON.stringify(all))`
    const words = [...become, process.execPath, '--input-type=module', '-e', script]
    return JSON.parse(execFileSync('env', words, { encoding: 'utf8' })) as ProcessUse[][]
  },
}
const asRoot: Kind = {
  as: 'root',
  unshare: ['unshare', '--mount'],
  look: (...questions) => questions.map(([directory, except]) => processesUsing(directory, { except })),
}

/** A tree with a file in it, and an empty directory to mount it at. */
function ground(): { tree: string; other: string } {
  const base = mkdtempSync(join(tmpdir(), 'aw-use-'))
  onTestFinished(() => rmSync(base, { recursive: true, force: true }))
  const [tree, other] = [join(base, 'a tree'), join(base, 'other')]
  mkdirSync(join(tree, 'work'), { recursive: true })
  mkdirSync(other)
  writeFileSync(join(tree, 'work/file'), '')
  chmodSync(base, 0o755)
  if (isRoot) for (const path of [base, tree, other, join(tree, 'work')]) chownSync(path, ordinary, ordinary)
  return { tree, other }
}

/** A process in a mount namespace of its own, until the test is over. @param script ends as `sleep` */
async function apart({ unshare }: Kind, script: string, ...words: string[]): Promise<number> {
  const { pid } = await standing([...unshare, 'sh', '-ec', script, 'sh', ...words])
  // It says that it is there just before it becomes what it stays.
  await expect.poll(() => readFileSync(`/proc/${pid}/comm`, 'utf8')).toBe('sleep\n')
  return pid
}

const stay = 'echo there; exec sleep 600'

describe.each(isRoot ? [asRoot, asUser] : [asUser])('in another mount namespace, as $as', (kind) => {
  it.each([
    ['its working directory', 'mount --bind "$1" "$2"; cd "$2/work"', 'cwd'],
    ['its working directory, in a part of it', 'mount --bind "$1/work" "$2"; cd "$2"', 'cwd'],
    ['its working directory, as it is seen there too', 'cd "$1"', 'cwd'],
    ['an open file', 'mount --bind "$1" "$2"; exec 9<"$2/work/file"', 'file'],
    ['an open file that was removed', 'mount --bind "$1" "$2"; exec 9>"$2/new"; rm "$2/new"', 'file'],
  ] as const)('a process with %s is seen', async (_, script, uses) => {
    const { tree, other } = ground()
    const pid = await apart(kind, `${script}; ${stay}`, tree, other)
    const found = [{ pid, command: 'sleep', uses }]
    expect(kind.look([tree], [tree, [pid]], [tree, [process.pid]], [other])).toEqual([found, [], [], []])
  })

  it('a process that has another root is seen', async () => {
    const { tree, other } = ground()
    const make = 'mount --rbind / "$2"; mount --bind "$1" "$2/mnt"; exec chroot "$2"'
    await apart(kind, `${make} sh -c 'cd /; ${stay}'`, tree, other)
    const pid = await apart(kind, `${make} sh -c 'cd /mnt/work; ${stay}'`, tree, other)
    expect(kind.look([tree])).toEqual([[{ pid, command: 'sleep', uses: 'cwd' }]])
  })

  it('a process that only has it mounted is seen by who asks for that', async () => {
    const { tree, other } = ground()
    const pid = await apart(kind, `mount --bind "$1" "$2"; ${stay}`, tree, other)
    await apart(kind, stay)
    expect(kind.look([tree])).toEqual([[]])
    const asked = processesUsing(tree, { mounted: true })
    expect(asked).toEqual([{ pid, command: 'sleep', uses: 'mount' }])
    expect(processesUsing(other, { mounted: true })).toEqual([])
  })

  it('a directory of the same path that is another one there does not count', async () => {
    const { tree, other } = ground()
    await apart(kind, `mkdir -p "$2/work"; mount --bind "$2" "$1"; cd "$1/work"; ${stay}`, tree, other)
    expect(kind.look([tree], [other])).toMatchObject([[], [{ command: 'sleep', uses: 'cwd' }]])
  })
})
