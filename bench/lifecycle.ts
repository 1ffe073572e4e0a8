/** A workspace from create to destroy by the library, against what one would do by hand. `node bench/lifecycle.ts` */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openAw } from '../src/index.ts'
import { fsyncNote, fsyncsOf } from './fsyncs.ts'
import { compete, row, type Row } from './row.ts'

export interface Size {
  readonly rounds: number
  readonly files: number
}

export async function benchLifecycle(size: Size): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'aw-bench-lifecycle-'))
  try {
    return [...(await emptyRows(folder, size)), ...(await importRows(folder, size))]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function emptyRows(folder: string, { rounds }: Size): Promise<Row[]> {
  await using aw = await openAw({ home: join(folder, 'home') })
  const worktree = await worktrees(folder)
  const tree = join(folder, 'by-hand')
  const trash = join(folder, 'by-hand-trash')
  const made = `mkdir -p '${tree}/work' '${tree}/output' '${tree}/tmp'`
  const times = await compete(rounds, {
    ours: async (round) => {
      await aw.create({ id: `task-${round}` })
      await aw.destroy(`task-${round}`)
    },
    shell: () => shell(`${made} && rm -rf '${tree}'`),
    git: () => {
      shell(worktree.add)
      shell(worktree.remove)
    },
    undelete: async (round) => {
      await aw.create({ id: `back-${round}` })
      await aw.destroy(`back-${round}`)
      await aw.undelete(`back-${round}`)
    },
    moves: () => shell(`${made} && mv '${tree}' '${trash}' && mv '${trash}' '${tree}' && rm -rf '${tree}'`),
  })
  const note = `durable, with ${cycleFsyncs(folder)}; git and sh wait for no disk`
  const about = { goal: null, note }
  return [
    row('create + destroy, empty; git worktree add + remove', times.ours, times.git, about),
    row('create + destroy, empty; sh: mkdir -p + rm -rf', times.ours, times.shell, about),
    row('create + destroy + undelete, empty; sh: mkdir -p + mv + mv + rm -rf', times.undelete, times.moves, {
      goal: null,
      note: 'durable; sh waits for no disk',
    }),
  ]
}

async function importRows(folder: string, { rounds, files }: Size): Promise<Row[]> {
  const source = join(folder, 'source')
  fill(source, files)
  await using aw = await openAw({ home: join(folder, 'home-import') })
  const copy = (round: number, way: string): string => join(folder, `${way}-${round}`)
  const times = await compete(Math.max(3, Math.ceil(rounds / 2)), {
    ours: (round) => aw.create({ id: `import-${round}`, from: { folder: source } }),
    durable: (round) => {
      execFileSync('cp', ['-a', source, copy(round, 'durable')])
      execFileSync('sync', ['-f', copy(round, 'durable')])
    },
    plain: (round) => execFileSync('cp', ['-a', source, copy(round, 'plain')]),
  })
  const name = `create from a folder of ${files} files`
  return [
    row(`${name}; cp -a + sync -f`, times.ours, times.durable, { goal: null, note: 'both durable' }),
    row(`${name}; cp -a`, times.ours, times.plain, { goal: null, note: 'cp waits for no disk' }),
  ]
}

const shell = (script: string): void => void execFileSync('sh', ['-c', script], { stdio: 'ignore' })

async function worktrees(folder: string): Promise<{ add: string; remove: string }> {
  const repository = join(folder, 'repository')
  mkdirSync(repository)
  const git = (...args: readonly string[]): void =>
    void execFileSync('git', ['-C', repository, '-c', 'user.name=b', '-c', 'user.email=b@localhost', ...args], {
      stdio: 'ignore',
    })
  git('init')
  writeFileSync(join(repository, 'file'), 'text\n')
  git('add', '.')
  git('commit', '-m', 'one file')
  const tree = join(folder, 'worktree')
  return {
    add: `git -C '${repository}' worktree add --detach '${tree}'`,
    remove: `git -C '${repository}' worktree remove --force '${tree}'`,
  }
}

function fill(folder: string, files: number): void {
  for (let n = 0; n < files; n++) {
    const part = join(folder, `part-${Math.floor(n / 50)}`)
    if (n % 50 === 0) mkdirSync(part, { recursive: true })
    writeFileSync(join(part, `file-${n}.ts`), `export const value = ${n}\n`.repeat(1 + (n % 40)))
  }
}

/** Of one create and one destroy: what eleven of them cost more than one. */
function cycleFsyncs(folder: string): string {
  const count = (cycles: number): number | undefined =>
    fsyncsOf([process.execPath, fileURLToPath(import.meta.url), 'cycle', join(folder, `traced-${cycles}`), `${cycles}`])
  const [few, many] = [count(1), count(11)]
  return fsyncNote(few === undefined || many === undefined ? undefined : (many - few) / 10)
}

async function cycle(home: string, cycles: number): Promise<void> {
  await using aw = await openAw({ home })
  for (let n = 0; n < cycles; n++) {
    await aw.create({ id: `task-${n}` })
    await aw.destroy(`task-${n}`)
  }
}

if (import.meta.main) {
  const [mode, home = '', cycles] = process.argv.slice(2)
  if (mode === 'cycle') await cycle(home, Number(cycles))
  else console.table(await benchLifecycle({ rounds: 25, files: 1000 }))
}
