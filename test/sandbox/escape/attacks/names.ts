/** Names in the tree that commands may read and not change. */
import {
  chownSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { isRoot, owner } from '../../fixture.ts'
import type { Attack, Expected, Ground } from '../attack.ts'

const kept = 'as it was'

/** `.aw` and `.git/hooks` of its own directory, with something in each. */
function furnish({ own, uid }: Ground, isPlain: boolean): string[] {
  if (existsSync(join(own, '.aw'))) return []
  for (const path of ['.aw', '.git', '.git/hooks']) mkdirSync(join(own, path))
  for (const path of ['.aw/canary', '.git/config', '.git/hooks/canary']) writeFileSync(join(own, path), kept)
  const id = isPlain ? uid : owner
  const all = ['.aw', '.git', '.git/hooks', '.aw/canary', '.git/config', '.git/hooks/canary']
  if (isRoot) for (const path of all) chownSync(join(own, path), id, id)
  return ['.aw', '.git/hooks'].map((path) => join(basename(own), path))
}

const names = ['.aw', '.git/hooks']

/** Of which none is there before. */
const missing = ['.aw', '.mcp.json', '.claude', '.vscode']

/** Every one is as it was, with nothing beside what was there. */
const isTouched = ({ own }: Ground): boolean =>
  names.some((name) => {
    const directory = join(own, name)
    return (
      !existsSync(join(directory, 'canary')) ||
      readFileSync(join(directory, 'canary'), 'latin1') !== kept ||
      readdirSync(directory).length !== 1
    )
  })

const changing = (
  name: string,
  does: string,
  script: string,
  more: { expected?: Expected; note?: string } = {},
): Attack => ({
  name: `names-${name}`,
  kind: 'protected names',
  does,
  note: more.note,
  spec: (_, ground) => ({ protect: furnish(ground, false) }),
  expected: { none: 'refused', guarded: 'refused', namespace: more.expected ?? 'held' },
  async attempt(stage) {
    if (stage.where === 'plain') furnish(stage, true)
    await stage.run(['sh', '-c', script, '%marker', basename(stage.own)])
    return isTouched(stage)
  },
})

export const nameAttacks: readonly Attack[] = [
  changing(
    'write',
    'writes into .aw and .git/hooks',
    'for d in .aw .git/hooks; do echo x >> $d/canary; echo x > $d/new; done',
  ),
  changing('delete', 'deletes them', 'rm -rf .aw .git/hooks .git; rmdir .aw; unlink .aw'),
  changing(
    'rename',
    'renames them, and puts its own in their place',
    'for d in .aw .git/hooks; do mv $d $d.old && mkdir $d; done',
  ),
  changing(
    'rename-above',
    'renames what is above them',
    'mv .git git.old && cp -r git.old .git && echo x > .git/hooks/canary; cd ..; mv "$1" moved && mkdir "$1"',
  ),
  changing(
    'exchange',
    'exchanges them for directories of its own',
    'mkdir mine; for d in .aw .git/hooks .git; do mv --exchange mine $d; python3 -c \'import ctypes,sys; ctypes.CDLL(None).syscall(316, -100, b"mine", -100, sys.argv[1].encode(), 2)\' $d; done',
  ),
  changing(
    'link',
    'puts links in their place',
    'for d in .aw .git/hooks; do ln -sfn /tmp $d; ln -sfT /tmp $d; rm -rf $d; ln -s /tmp $d; done',
  ),
  changing(
    'unmount',
    'unmounts them, or mounts over them',
    'for d in .aw .git/hooks; do umount -l $d; mount -o remount,rw,bind $d; mount -t tmpfs x $d; done; echo x >> .aw/canary',
  ),
  changing(
    'way',
    'goes to them by other ways: /proc, .., a link',
    'ln -s .aw l; for d in l ./x/../.aw "$PWD/.aw" "/proc/self/cwd/.aw" "/proc/self/root$PWD/.aw"; do mkdir -p x; echo x >> $d/canary; done',
  ),
  changing(
    'second-name',
    'makes a second name of what is in them, and writes to that',
    'for d in .aw .git/hooks; do ln $d/canary second && echo x >> second; rm -f second; done',
  ),
  changing(
    'attributes',
    'makes them its own to write: by modes and owners',
    'chmod -R 0777 .aw .git/hooks; chown -R 0 .aw; echo x >> .aw/canary',
  ),
  {
    ...changing(
      'alias',
      'writes to names that only look like them: .AW, .aw with a dot or a space, other forms of the letters',
      '',
    ),
    plainly: 'the file system tells names by their bytes: these are others',
    async attempt(stage) {
      if (stage.where === 'plain') furnish(stage, true)
      const script =
        'for d in .AW .Aw ".aw." ".aw " ".ａｗ" ".a\u200dw" .GIT/HOOKS; do mkdir -p "$d"; echo x > "$d/canary"; echo x > "$d/new"; done'
      await stage.run(['sh', '-c', script, '%marker'])
      return isTouched(stage)
    },
  },
  changing(
    'race',
    'renames and makes names around them as fast as it can, with many processes',
    'for i in 1 2 3; do (for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do mv .aw a$i; mv .git g$i; mkdir .aw .git .git/hooks; echo x > .aw/canary; echo x > .git/hooks/canary; mv g$i .git; done) & done; wait',
  ),
  {
    name: 'names-missing',
    kind: 'protected names',
    does: 'makes a protected name that was not there, as the settings of an agent or an editor: as a directory, a file, a link',
    spec: (_, { own }) => ({ protect: missing.map((name) => join(basename(own), name)) }),
    expected: { none: 'refused', guarded: 'refused', namespace: 'held' },
    async attempt(stage) {
      const script = `for name in ${missing.join(' ')}; do
        rmdir $name; rm -f $name; mkdir $name; echo x > $name/new; ln -sfn /tmp $name; echo x > $name; mv y $name
      done`
      await stage.run(['sh', '-c', script, '%marker'])
      return missing.some((name) => {
        const path = join(stage.own, name)
        const stats = lstatSync(path, { throwIfNoEntry: false })
        if (stats === undefined) return false
        return stats.isDirectory() ? readdirSync(path).length > 0 : !stats.isFile() || stats.size > 0
      })
    },
  },
  {
    name: 'names-linked-before',
    kind: 'protected names',
    does: 'writes to a second name of what is in them that was made before they were protected',
    note: 'a second name made before, outside a box, is another name of the same file; look at link counts after work without walls',
    spec: (_, ground) => {
      const protect = furnish(ground, false)
      linkSync(join(ground.own, '.aw/canary'), join(ground.own, 'second'))
      return { protect }
    },
    expected: { none: 'refused', guarded: 'refused', namespace: 'not held' },
    async attempt(stage) {
      if (stage.where === 'plain') {
        furnish(stage, true)
        linkSync(join(stage.own, '.aw/canary'), join(stage.own, 'second'))
      }
      await stage.run(['sh', '-c', 'echo x >> second', '%marker'])
      return isTouched(stage)
    },
  },
]
