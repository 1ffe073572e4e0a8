import * as fs from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { codeOf, openGround } from '../../sources/fixture.ts'
import { sh } from './run-script.ts'

const each = { 'sandbox.snapshot': 'each-exec' }

/** Like what a package manager leaves: many directories, links, files that may be run. */
const install = `
for package in a b c; do
  mkdir -p node_modules/$package/lib node_modules/.bin
  echo "module.exports = '$package'" > node_modules/$package/lib/index.js
  printf '#!/bin/sh\\necho %s\\n' $package > node_modules/$package/run; chmod 755 node_modules/$package/run
  ln -s ../$package/run node_modules/.bin/$package
done
echo 1 > lock`

it.each(['in a sandbox that runs', 'in one of its own'])(
  'undo takes back whatever a command did, %s',
  async (where) => {
    const { aw } = await openGround(each)
    const { path } = await aw.create({ id: 'one' })
    await aw.fs.write('one', { path: 'work/precious', content: 'kept' })
    if (where === 'in a sandbox that runs') await aw.start('one')
    await sh(aw, 'one', install)
    expect(await sh(aw, 'one', 'cd node_modules/.bin; ./a; ./c')).toBe('a\nc\n')
    await sh(aw, 'one', 'rm -rf ./* && mkdir empty')
    expect(fs.readdirSync(join(path, 'work'))).toEqual(['empty'])
    const commands = await aw.history('one')
    expect(commands.map(({ files_changed }) => files_changed !== null && files_changed > 0)).toEqual([
      true,
      false,
      true,
    ])

    await aw.undo('one')
    expect(fs.readdirSync(join(path, 'work')).toSorted()).toEqual(['lock', 'node_modules', 'precious'])
    expect(await sh(aw, 'one', 'cd node_modules/.bin; ./b; cat ../../precious')).toBe('b\nkept')
    await aw.undo('one')
    expect(fs.readdirSync(join(path, 'work'))).toEqual(['precious'])
    expect(await sh(aw, 'one', 'ls')).toBe('precious\n')
    await aw.redo('one')
    expect(await sh(aw, 'one', 'node_modules/.bin/a; ls -A')).toBe('a\nlock\nnode_modules\nprecious\n')
  },
)

it('a sandbox that runs sees what is restored, and what is written from outside', async () => {
  const { aw } = await openGround()
  await aw.create({ id: 'one' })
  await aw.start('one')
  await sh(aw, 'one', 'echo first > note')
  await aw.snapshot('one', { label: 'first' })
  await sh(aw, 'one', 'echo second > note; echo more > other')
  const before = await aw.get('one')
  expect(await aw.restore('one', 'first')).toMatchObject({ ended: false })
  const after = await aw.get('one')
  expect(await sh(aw, 'one', 'cat note; ls')).toBe('first\nnote\n')
  expect(after).toMatchObject({ state: 'running', sandbox: { isolation: 'namespace', mount: before.sandbox?.mount } })
  await aw.fs.write('one', { path: 'work/outside', content: 'hello' })
  expect(await sh(aw, 'one', 'cat outside')).toBe('hello')
  await aw.restore('one', 'first', { paths: ['work/note'] })
  expect(await sh(aw, 'one', 'cat note outside')).toBe('first\nhello')
})

it('what still runs in a sandbox is not taken from under it, unless that is wanted', async () => {
  const { aw } = await openGround()
  await aw.create({ id: 'one' })
  await aw.start('one')
  await sh(aw, 'one', 'echo first > note')
  await aw.snapshot('one', { label: 'first' })
  await sh(aw, 'one', 'echo second > note; setsid sleep 600 >/dev/null 2>&1 </dev/null &')
  expect(await codeOf(aw.restore('one', 'first'))).toBe('workspace_active')
  expect(await codeOf(aw.destroy('one'))).toBe('workspace_active')
  expect(await sh(aw, 'one', 'cat note')).toBe('second\n')
  expect(await aw.restore('one', 'first', { restart: true })).toMatchObject({ ended: true })
  expect(await sh(aw, 'one', 'cat note; ls /proc | grep -c "^[0-9]"')).toMatch(/^first\n[1-5]\n$/)
})

it('a snapshot of a workspace in which something writes all the time is of one moment', async () => {
  const { aw } = await openGround()
  await aw.create({ id: 'one' })
  await aw.start('one')
  // Two files that are never more than one apart at any moment.
  const writer = 'i=1; while :; do i=$((i+1)); echo $i > t; mv t a; echo $i > t; mv t b; done'
  await sh(aw, 'one', `echo 1 > a; echo 1 > b; (${writer}) >/dev/null 2>&1 </dev/null & sleep 0.2`)
  for (const label of ['one', 'two', 'three']) {
    const made = await aw.snapshot('one', { label, consistent: true })
    expect(['atomic', 'frozen']).toContain(made.consistency)
    const { id } = await aw.create({ id: `copy-${label}`, from: { snapshot: made.id } })
    const [a, b] = ['a', 'b'].map(async (name) => Number(await aw.fs.read(id, { path: `work/${name}` }).then(String)))
    const [first = -1, second = -9] = [await a, await b]
    expect(first).toBeGreaterThan(0)
    expect(first - second).toBeOneOf([0, 1])
  }
  await aw.stop('one')
})
