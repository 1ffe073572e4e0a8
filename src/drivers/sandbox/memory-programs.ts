import { splitPath } from '../../domain/paths.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Command, OutputChunk } from '../../ports/sandbox-driver.ts'
import type { Disk } from '../files/memory-disk.ts'

/** What a program of the machine in memory can use. */
export interface Surroundings {
  readonly disk: Disk
  /** The directory that it starts in. */
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly input: Command['input']
  readonly signal: AbortSignal
  readonly write: (stream: OutputChunk['stream'], text: string | Uint8Array) => void
}

type Program = (args: readonly string[], around: Surroundings) => Promise<number> | number

/** A few programs, named like the ones they behave like, as far as tests of the core need them. */
export const programs: Readonly<Record<string, Program>> = {
  true: () => 0,
  false: () => 1,
  echo(args, { write }) {
    write('stdout', `${args.join(' ')}\n`)
    return 0
  },
  env(_, { env, write }) {
    for (const [name, value] of Object.entries(env)) write('stdout', `${name}=${value}\n`)
    return 0
  },
  async cat([file], around) {
    if (file !== undefined) return show(file, around)
    for await (const item of around.input ?? []) {
      if (item.kind === 'end') break
      if (item.kind === 'data') around.write('stdout', item.data)
    }
    return 0
  },
  async tee([file = 'out'], around) {
    const parts: Uint8Array[] = []
    for await (const item of around.input ?? []) {
      if (item.kind === 'end') break
      if (item.kind === 'data') parts.push(item.data)
    }
    const bytes = Buffer.concat(parts)
    around.disk.put(below(around, file), { kind: 'file', bytes, mode: 0o644, mtime: around.disk.now() })
    around.write('stdout', bytes)
    return 0
  },
  touch(files, around) {
    const node = { kind: 'file', bytes: Buffer.alloc(0), mode: 0o644, mtime: around.disk.now() } as const
    for (const file of files) around.disk.put(below(around, file), node)
    return 0
  },
  rm(args, around) {
    for (const file of args.filter((arg) => !arg.startsWith('-'))) around.disk.remove(below(around, file))
    return 0
  },
  async sleep([seconds = '0'], { signal }) {
    await sleep(Number(seconds) * 1000, undefined, { signal }).catch(() => undefined)
    return 0
  },
}

const below = ({ cwd }: Surroundings, file: string): string => `/${splitPath(`${cwd}/${file}`).join('/')}`

function show(file: string, around: Surroundings): number {
  const node = around.disk.at(file.startsWith('/') ? file : below(around, file))
  if (node?.kind === 'file') around.write('stdout', node.bytes)
  else around.write('stderr', `cat: ${file}: No such file or directory\n`)
  return node?.kind === 'file' ? 0 : 1
}
