/** Files that are not in the tree. */
import {
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { isRoot, openPlace } from '../../fixture.ts'
import type { Attack } from '../attack.ts'
import { canaryFile, isLooted } from '../canaries.ts'
import { startPlanned } from '../../../contracts/sandbox.ts'

const sh = (script: string, ...args: readonly string[]): string[] => ['sh', '-c', script, '%marker', ...args]

const rules = { none: 'not held', guarded: 'held', namespace: 'held' } as const
/** Landlock has no rule for it. */
const notByRules = { none: 'not held', guarded: 'not held', namespace: 'held' } as const

/** Reads a secret, however the path to it is written. */
const reading = (name: string, does: string, script: string): Attack => ({
  name,
  kind: 'files',
  does,
  expected: rules,
  async attempt(stage) {
    const { path, secret } = canaryFile(stage)
    await stage.run(sh(script, path))
    return isLooted(stage, secret)
  },
})

/** Changes, or takes away, a file. */
const changing = (name: string, does: string, script: string): Attack => ({
  name,
  kind: 'files',
  does,
  expected: rules,
  async attempt(stage) {
    const { path, touched } = canaryFile(stage)
    await stage.run(sh(script, path))
    return touched()
  },
})

/** Changes something about a file that is not its content. */
const marking = (
  name: string,
  does: string,
  argv: (path: string) => string[],
  isMarked: (path: string) => boolean,
): Attack => ({
  name,
  kind: 'files',
  does,
  expected: notByRules,
  async attempt(stage) {
    const { path } = canaryFile(stage)
    await stage.run(argv(path))
    return isMarked(path)
  },
})

export const fileAttacks: readonly Attack[] = [
  reading('absolute-read', 'reads a file by its absolute path', 'cat "$1" > loot'),
  changing('absolute-write', 'writes to a file by its absolute path', 'echo x >> "$1"'),
  changing('truncate', 'cuts a file short', 'truncate -s 1 "$1"'),
  changing('delete', 'deletes a file', 'rm -f "$1"'),
  changing('rename', 'renames a file', 'mv "$1" "$1.moved"'),
  changing('rename-over', 'puts a file of its own in the place of another', 'echo x > mine; mv mine "$1"'),
  reading('dot-dot', 'climbs with .. to the root and down again', `cat "${'../'.repeat(40)}$1" > loot`),
  reading('link-read', 'makes a link to a file and reads through it', 'ln -s "$1" link; cat link > loot'),
  changing('link-write', 'makes a link to a file and writes through it', 'ln -s "$1" link; echo x >> link'),
  reading('proc-cwd', 'goes by /proc/self/cwd and /proc/self/root', 'cat "/proc/self/root$1" > loot'),
  changing(
    'hard-link',
    'makes a second name of a file, in the tree or beside it, and writes to that',
    'for name in ./second "$1.second"; do ln "$1" "$name" && echo x >> "$name"; done',
  ),
  reading(
    'bind-link',
    'makes a link in its /tmp and home to a file and reads through them',
    'for d in "$TMPDIR" "$HOME" /tmp; do ln -s "$1" "$d/$0" && cat "$d/$0" >> loot; rm -f "$d/$0"; done',
  ),
  {
    name: 'list',
    kind: 'files',
    does: 'lists a directory',
    expected: rules,
    async attempt(stage) {
      const name = randomBytes(8).toString('hex')
      writeFileSync(join(stage.outside, name), '')
      await stage.run(sh('ls "$1" > loot', stage.outside))
      return isLooted(stage, name)
    },
  },
  {
    name: 'run-program',
    kind: 'files',
    does: 'runs a program that is not in the tree',
    expected: rules,
    async attempt(stage) {
      await stage.run([join(stage.tools, 'attack'), 'make', '%marker'])
      return existsSync(join(stage.own, 'loot'))
    },
  },
  {
    name: 'make-outside',
    kind: 'files',
    does: 'makes files, directories, links and pipes outside',
    expected: rules,
    async attempt(stage) {
      await stage.run(sh('cd / ; echo x > "$1/f"; mkdir "$1/d"; ln -s / "$1/l"; mkfifo "$1/p"', stage.outside))
      return readdirSync(stage.outside).length > 0
    },
  },
  marking(
    'mode',
    'changes the mode of a file',
    (path) => ['chmod', '0666', path],
    (path) => (statSync(path).mode & 0o777) === 0o666,
  ),
  marking(
    'times',
    'changes the times of a file',
    (path) => ['touch', '-d', '2001-02-03', path],
    (path) => statSync(path).mtime.getFullYear() === 2001,
  ),
  {
    name: 'exists',
    kind: 'files',
    does: 'finds out that a file is there, and its size',
    expected: notByRules,
    async attempt(stage) {
      const size = 100_000 + (randomBytes(2).readUInt16LE() % 50_000)
      const path = join(stage.outside, 'sized')
      writeFileSync(path, Buffer.alloc(size))
      await stage.run(sh('stat -c %s "$1" > loot', path))
      return isLooted(stage, String(size))
    },
  },
  {
    name: 'watch',
    kind: 'files',
    does: 'watches a directory, and learns the names of what is made there',
    expected: notByRules,
    async attempt(stage) {
      const name = randomBytes(8).toString('hex')
      await stage.hold([stage.tool, 'watch', '%marker', stage.outside])
      writeFileSync(join(stage.outside, name), '')
      return stage.harmed(1_000, () => isLooted(stage, name))
    },
  },
  {
    name: 'read-only-bind',
    kind: 'files',
    does: 'writes to what is bound read-only: by its path, by a link, by mounting it anew',
    note: 'none refuses to start: nothing would keep it read-only',
    spec: (level, ground) => {
      canaryFile(ground, 'bound')
      return {
        binds: [
          { source: ground.outside, target: level === 'namespace' ? '/mnt/bound' : ground.outside, writable: false },
        ],
      }
    },
    expected: { none: 'refused', guarded: 'held', namespace: 'held' },
    async attempt(stage) {
      const { path, touched } = canaryFile(stage, 'bound')
      await stage.run(
        sh(
          'for d in /mnt/bound "$1"; do mount -o remount,rw,bind "$d"; umount "$d"; ln -s "$d/bound" "l$$"; ' +
            'echo x >> "l$$"; echo x >> "$d/bound"; mv "$d/bound" "$d/other"; rm -f "l$$"; done',
          stage.outside,
        ),
      )
      return touched() || !existsSync(path)
    },
  },
  {
    name: 'swapped-tree',
    kind: 'files',
    does: 'has its whole tree replaced by a link to another directory between two runs',
    alone: true,
    expected: { none: 'held', guarded: 'held', namespace: 'held' },
    note: 'the second start is refused',
    async attempt(stage) {
      const victim = join(stage.outside, 'victim')
      mkdirSync(victim)
      if (isRoot) chownSync(victim, stage.uid, stage.uid)
      const swapped = join(stage.outside, 'tree')
      symlinkSync(victim, swapped)
      const write = sh('echo x > planted')
      if (stage.box === undefined) await stage.run(['sh', '-c', 'cd "$1" && echo x > planted', '%marker', swapped])
      else {
        const { driver, spec } = stage.box
        const started = await startPlanned(driver, 'swapped', {
          ...spec,
          attachment: { kind: 'dir', path: swapped },
        }).catch(() => undefined)
        await started?.exec({ argv: write, cwd: '.', env: {}, limits: {} }).exit
        await started?.stop({ graceMs: 0 })
      }
      return existsSync(join(victim, 'planted'))
    },
  },
  {
    name: 'swapped-live',
    kind: 'files',
    does: 'has its whole tree exchanged for another directory while its box lives, before the next command',
    expected: { none: 'held', guarded: 'held', namespace: 'held' },
    note: 'the next command is refused',
    async attempt(stage) {
      const place = openPlace(stage.where === 'plain' ? 'none' : stage.where)
      stage.defer(() => place.close())
      const box = await startPlanned(place.driver, 'live', place.spec)
      stage.defer(() => box.stop({ graceMs: 0 }))
      const victim = join(stage.outside, 'victim')
      mkdirSync(victim)
      if (isRoot) chownSync(victim, stage.uid, stage.uid)
      renameSync(place.tree, `${place.tree}.old`)
      renameSync(victim, place.tree)
      const write = sh('echo x > planted')
      if (stage.where === 'plain') writeFileSync(join(place.tree, 'planted'), '')
      else await box.exec({ argv: write, cwd: '.', env: {}, limits: {} }).exit.catch(() => undefined)
      return existsSync(join(place.tree, 'planted'))
    },
  },
  {
    name: 'start-directory',
    kind: 'files',
    does: 'gives a link, .. and /proc as the directory that the next command begins in',
    expected: { none: 'held', guarded: 'held', namespace: 'held' },
    note: 'whoever asked for the command is told that it leads out; it does not run',
    async attempt(stage) {
      const { outside, own, uid } = stage
      const name = own.split('/').at(-1)
      await stage.run(sh('ln -s "$1" link; mkdir -p a/b; ln -s "$1" a/b/link', outside))
      const places = [`${name}/link`, `${name}/a/b/link/.`, `${'../'.repeat(30)}${outside.slice(1)}`, outside]
      const inProc = [`/proc/self/root${outside}`, `${name}/a/../link`]
      for (const cwd of [...places, ...inProc]) await stage.run(sh('echo x > planted'), { cwd }).catch(() => undefined)
      return existsSync(join(outside, 'planted')) && uid >= 0
    },
  },
  {
    name: 'put-through-link',
    kind: 'files',
    does: 'puts a link where a file with a secret is going to be put for it',
    alone: true,
    expected: { none: 'held', guarded: 'held', namespace: 'held' },
    async attempt(stage) {
      const { outside } = stage
      if (stage.box === undefined) {
        await stage.run(sh('ln -s "$1" files; echo secret > files/token', outside))
        return existsSync(join(outside, 'token'))
      }
      const { sandbox } = stage.box
      const place = await sandbox.put('first', Buffer.from('x'), 0o400)
      const files = place.slice(0, -'/first'.length)
      await stage.run(
        sh('mv "$2" "$2.old"; ln -s "$1" "$2"; rm -rf "$2"/*; ln -s "$1/token" "$2/token"', outside, files),
      )
      await sandbox.put('token', Buffer.from('secret'), 0o400).catch(() => undefined)
      return existsSync(join(outside, 'token')) || lstatSync(outside).isSymbolicLink()
    },
  },
]
