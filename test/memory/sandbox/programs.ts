import { setTimeout as sleep } from 'node:timers/promises'
import { AwError } from '../../../src/domain/errors.ts'
import type { Command, CommandInput, OutputChunk } from '../../../src/ports/sandbox-driver.ts'
import type { Disk } from '../disk.ts'

/** What a command of a box in memory has around it. */
export interface Surroundings {
  readonly disk: Disk
  /** The tree, and the directory in it where the command begins, as paths of the disk. */
  readonly tree: string
  readonly cwd: string
  /** Where commands see the tree. */
  readonly mount: string
  readonly env: Readonly<Record<string, string>>
  readonly files: ReadonlyMap<string, Uint8Array>
  /** Fires when the command is ended by a signal. */
  readonly ended: AbortSignal
  /** Waits while the box is frozen. */
  readonly thawed: () => Promise<void>
  /** Writes, and waits while too much is unread. */
  readonly say: (what: string | Uint8Array, stream?: OutputChunk['stream']) => Promise<void>
}

type Program = (words: readonly string[], around: Surroundings, command: Command) => Promise<number>

/**
 * The few programs that such a box knows, named like the ones they behave like: each answers its exit code. `complain`,
 * `exit`, `write` and `flood` are what a shell would have to be started for.
 */
const programs: Readonly<Record<string, Program>> = {
  true: async () => 0,
  false: async () => 1,
  exit: async ([code = '0']) => Number(code),
  async echo(words, { say }) {
    await say(`${words.join(' ')}\n`)
    return 0
  },
  async complain(words, { say }) {
    await say(`${words.join(' ')}\n`, 'stderr')
    return 0
  },
  async pwd(_, { cwd, tree, mount, say }) {
    await say(`${mount}${cwd.slice(tree.length)}\n`)
    return 0
  },
  async env(_, { env, say }) {
    for (const [name, value] of Object.entries(env)) await say(`${name}=${value}\n`)
    return 0
  },
  async printenv([name = ''], { env, say }) {
    if (!Object.hasOwn(env, name)) return 1
    await say(`${env[name]}\n`)
    return 0
  },
  async sleep([seconds = '0'], around) {
    await sleep(Number(seconds) * 1000, undefined, { signal: around.ended }).catch(() => undefined)
    await around.thawed()
    return 0
  },
  async write([path = '', ...text], around) {
    await put(path, Buffer.from(text.join(' ')), around)
    return 0
  },
  async touch(paths, around) {
    for (const path of paths) await put(path, Buffer.from(contentOf(path, around) ?? []), around)
    return 0
  },
  async rm(words, around) {
    await around.thawed()
    const paths = words.filter((word) => !word.startsWith('-'))
    const missing = paths.filter((path) => !around.disk.remove(placeOf(path, around)))
    return missing.length === 0 || words.some((word) => /^-[a-z]*f/.test(word)) ? 0 : 1
  },
  async tee([path = 'out'], around, { input }) {
    const parts: Uint8Array[] = []
    for await (const data of dataOf(input, around.ended)) {
      parts.push(data)
      await around.say(data)
    }
    await put(path, Buffer.concat(parts), around)
    return 0
  },
  async cat(paths, around, { input }) {
    for (const path of paths) {
      const content = contentOf(path, around)
      await (content === undefined
        ? around.say(`cat: ${path}: No such file or directory\n`, 'stderr')
        : around.say(content))
      if (content === undefined) return 1
    }
    if (paths.length > 0) return 0
    for await (const data of dataOf(input, around.ended)) {
      await around.thawed()
      await around.say(data)
    }
    return 0
  },
  /** As many bytes as it is told, a little at a time: it waits when nobody reads. */
  async flood([bytes = '0'], { ended, say }) {
    for (let left = Number(bytes); left > 0 && !ended.aborted; left -= 65_536)
      await say(new Uint8Array(Math.min(left, 65_536)).fill(120))
    return 0
  },
}

/** `file_not_found` if there is no such program. */
export function programOf([name = '', ...words]: readonly string[]): (
  around: Surroundings,
  command: Command,
) => Promise<number> {
  const program = Object.hasOwn(programs, name) ? programs[name] : undefined
  if (program !== undefined) return (around, command) => program(words, around, command)
  throw new AwError('file_not_found', `The command could not be started: ${name}`, { data: { program: name } })
}

async function put(path: string, bytes: Buffer, around: Surroundings): Promise<void> {
  await around.thawed()
  around.disk.put(placeOf(path, around), { kind: 'file', bytes, mode: 0o644, mtime: around.disk.now() })
}

function placeOf(path: string, { cwd, tree, mount }: Surroundings): string {
  if (path.startsWith(`${mount}/`)) return `${tree}${path.slice(mount.length)}`
  return path.startsWith('/') ? path : `${cwd}/${path}`
}

function contentOf(path: string, around: Surroundings): Uint8Array | undefined {
  const file = around.files.get(path)
  if (file !== undefined) return file
  const node = around.disk.at(placeOf(path, around))
  return node?.kind === 'file' ? node.bytes : undefined
}

async function* dataOf(
  input: AsyncIterable<CommandInput> | undefined,
  ended: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  if (input === undefined) return
  const over = new Promise<undefined>((resolve) =>
    ended.addEventListener('abort', () => resolve(undefined), { once: true }),
  )
  const iterator = input[Symbol.asyncIterator]()
  for (;;) {
    const next = await Promise.race([iterator.next(), over])
    if (next === undefined || next.done === true || next.value.kind === 'end') return
    if (next.value.kind === 'data') yield next.value.data
  }
}
