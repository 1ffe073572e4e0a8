import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { deinitHome, initHome, type InitOptions, type InitResult } from '../../../src/init.ts'
import { inRoot } from '../../../tools/root.ts'

/** For tests in a mount namespace of their own. Loop devices are of the whole machine: they are given back by hand. */
export interface PoolPlace {
  readonly folder: string
  readonly home: string
  readonly root: string
  readonly image: string
  readonly init: (options?: InitOptions) => Promise<InitResult>
  /** What a reboot does to it. */
  readonly reboot: () => void
  /** A process of its own that calls one of the functions of `pool-user.ts`. */
  readonly run: (...args: string[]) => Ran
  readonly runWith: (env: Record<string, string>, ...args: string[]) => Ran
  readonly start: (...args: string[]) => Promise<Ran>
  readonly loops: () => string[]
  readonly isMounted: () => boolean
}

export interface Ran {
  readonly signal: string | null
  readonly answer: { readonly result?: unknown; readonly error?: { code: string; message: string; hint: string } }
}

export const ordinary = 65534
const become = ['--reuid', `${ordinary}`, '--regid', `${ordinary}`, '--clear-groups']
const program = inRoot('test/support/programs/pool-user.ts')
const env = { PATH: process.env['PATH'] ?? '' }

export function poolPlace(owner = 0): PoolPlace {
  const folder = fs.mkdtempSync(join(tmpdir(), 'pool-'))
  fs.chmodSync(folder, 0o755)
  const home = join(folder, 'home')
  fs.mkdirSync(home, { mode: 0o700 })
  fs.chownSync(home, owner, owner)
  const root = join(home, 'storage')
  const image = join(home, 'pool.img')
  const backingFile = (name: string): string => {
    const file = `/sys/block/${name}/loop/backing_file`
    return fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : ''
  }
  const loops = (): string[] =>
    fs
      .readdirSync('/sys/block')
      .filter((name) => backingFile(name).includes(`/${basename(folder)}/`))
      .map((name) => `/dev/${name}`)
  const isMounted = (): boolean => fs.readFileSync('/proc/self/mountinfo', 'utf8').includes(` ${root} `)
  const reboot = (): void => {
    while (isMounted()) execFileSync('umount', [root])
    // It may go by itself before.
    for (const device of loops()) spawnSync('losetup', ['--detach', device])
  }
  const command = (args: readonly string[]): [string, string[]] => {
    const plain = [program, home]
    if (args[0] !== 'ordinary') return [process.execPath, [...plain, ...args]]
    return ['setpriv', [...become, process.execPath, ...plain, ...args.slice(1)]]
  }
  onTestFinished(() => {
    reboot()
    fs.rmSync(folder, { recursive: true, force: true })
  })
  const runWith: PoolPlace['runWith'] = (more, ...args) => {
    const { stdout, stderr, signal } = spawnSync(...command(args), { encoding: 'utf8', env: { ...env, ...more } })
    if (signal === null && stdout === '') throw new Error(stderr)
    return { signal, answer: JSON.parse(stdout || '{}') as Ran['answer'] }
  }
  return {
    folder,
    home,
    root,
    image,
    init: (options = {}) => initHome({ home, env: {}, ...options }),
    reboot,
    runWith,
    run: (...args) => runWith({}, ...args),
    async start(...args) {
      const child = spawn(...command(args), { env, stdio: ['ignore', 'pipe', 'inherit'] })
      let text = ''
      child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      const [, signal] = (await once(child, 'close')) as [number | null, string | null]
      return { signal, answer: JSON.parse(text || '{}') as Ran['answer'] }
    },
    loops,
    isMounted,
  }
}

export const deinit = ({ home }: PoolPlace, keepPool = false): ReturnType<typeof deinitHome> =>
  deinitHome({ home, env: {}, keepPool })

/** For `toMatchObject`. */
export const containing = (text: string): unknown => expect.stringContaining(text)

export const small = '256M'
