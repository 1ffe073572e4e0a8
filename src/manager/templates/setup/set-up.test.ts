import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openManager } from '../../../aw.ts'
import type { Outputs } from '../../../api/table.ts'
import type { Manager } from '../../../ports/manager.ts'
import { endBoxes } from '../../../../test/support/end-boxes.ts'

/** When what a set-up made is taken over, and when it is not. */

let base: string
let manager: Manager
beforeEach(async () => {
  base = fs.mkdtempSync(join(tmpdir(), 'aw-setup-'))
  fs.mkdirSync(project('src'), { recursive: true })
  fs.writeFileSync(project('lock'), '1')
  fs.writeFileSync(project('src/main'), 'main')
  manager = await openManager({ home: join(base, 'home'), env: {} })
})
afterEach(async () => {
  await manager[Symbol.asyncDispose]()
  await endBoxes(join(base, 'home'))
  fs.rmSync(base, { recursive: true, force: true })
})

const project = (name = ''): string => join(base, 'project', name)

const make = (setup: string, inputs = ['lock']): Promise<Outputs['template create']> =>
  manager.call('template create', {
    name: 'page',
    from: { folder: project() },
    setup: [setup],
    ...(inputs.length > 0 && { setup_input: inputs }),
  })

const isTaken = async (): Promise<boolean | undefined> =>
  (await manager.call('template update', { name: 'page' })).setup?.reused

const contentOf = async (template: string): Promise<string> => {
  const id = template.replace('@', '-')
  return (await manager.call('create', { id, template })).path
}

/** All of a tree, by the bytes of its names. */
function shown(path: string): string[] {
  const listed = `find . -printf '%P %y %m %l\\n'; find . -type f -exec sha256sum {} +`
  const text = execFileSync('sh', ['-c', listed], { cwd: path, encoding: 'latin1' })
  return text.split('\n').toSorted()
}

const adding = `
  mkdir -p made/deep made/empty; echo one > made/deep/file; chmod 750 made/deep; ln -s deep/file made/link
  printf x > "made/$(printf 'odd\\377')"; printf run > src/tool; chmod 755 src/tool; ln -s tool src/alias`

it('what was added is the same over another source: directories, links, modes, names of any bytes', async () => {
  const made = await make(adding)
  expect(made.setup).toMatchObject({ reused: false })
  fs.writeFileSync(project('src/main'), 'another')
  expect(await isTaken()).toBe(true)
  const [first, second] = [await contentOf('page@1'), await contentOf('page@2')]
  const inSource = (path: string) => shown(join(path, 'work', 'src')).filter((line) => !line.includes('main'))
  expect(shown(join(second, 'work', 'made'))).toEqual(shown(join(first, 'work', 'made')))
  expect(inSource(second)).toEqual(inSource(first))
  expect(fs.readFileSync(join(second, 'work/src/main'), 'utf8')).toBe('another')
  // And again from the version that took it over.
  fs.writeFileSync(project('more'), 'more')
  expect(await isTaken()).toBe(true)
  expect(shown(join(await contentOf('page@3'), 'work', 'made'))).toEqual(shown(join(first, 'work', 'made')))
})

it.each([
  ['the source has one of the names now', () => fs.writeFileSync(project('src/tool'), 'mine')],
  ['a directory is gone that something was put into', () => fs.rmSync(project('src'), { recursive: true })],
  ['a link is in the place of such a directory', () => linkInstead()],
])('a set-up runs again if %s', async (_, change) => {
  await make(`mkdir -p src; test -e src/tool || echo tool > src/tool`)
  change()
  expect(await isTaken()).toBe(false)
})

function linkInstead(): void {
  fs.renameSync(project('src'), project('elsewhere'))
  fs.symlinkSync('elsewhere', project('src'))
}

it.each([
  ['changed a file', 'echo more >> src/main'],
  ['changed a mode', 'chmod 700 src'],
  ['removed a file', 'rm src/main'],
  ['put a directory in the place of a file', 'rm src/main; mkdir src/main'],
  ['added too much to tell', 'for n in $(seq 1001); do : > src/$n; done'],
  ['added a name that is no text', `: > "src/$(printf 'odd\\377')"`],
])('one that %s runs again for another source, and not for the same', async (_, setup) => {
  await make(setup)
  expect(await isTaken()).toBe(true)
  fs.writeFileSync(project('other'), 'x')
  expect(await isTaken()).toBe(false)
})

it('a source with a name that is no text cannot be told from another one', async () => {
  fs.writeFileSync(Buffer.concat([Buffer.from(project('odd')), Buffer.from([0xff])]), 'x')
  const made = await make('touch made', [])
  expect(made.setup).toMatchObject({ source_hash: null })
  expect(await isTaken()).toBe(false)
})

it('times alone change nothing, modes do', async () => {
  await make('touch made', [])
  fs.utimesSync(project('src/main'), 1, 1)
  expect(await isTaken()).toBe(true)
  fs.chmodSync(project('src/main'), 0o755)
  expect(await isTaken()).toBe(false)
})
