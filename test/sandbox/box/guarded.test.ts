/** The level without namespaces: each command gives up what it may not do before it runs, and init does not. */
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { landlockRuleset } from '../../../src/drivers/sandbox/walls/landlock.ts'
import { launchBox, run, shell, startBox, testFolder } from './harness.ts'
import { tags, type } from './raw.ts'

/** mkdir fails with EPERM; everything else is allowed. */
function filter(): number {
  const number = process.arch === 'arm64' ? 34 : 83
  const file = join(testFolder(), 'filter')
  const instruction = (code: number, jt: number, jf: number, k: number): Buffer => {
    const bytes = Buffer.alloc(8)
    bytes.writeUInt16LE(code, 0)
    bytes.writeUInt8(jt, 2)
    bytes.writeUInt8(jf, 3)
    bytes.writeUInt32LE(k, 4)
    return bytes
  }
  const program = [
    instruction(0x20, 0, 0, 0),
    instruction(0x15, 0, 1, number),
    instruction(0x06, 0, 0, 0x00050001),
    instruction(0x06, 0, 0, 0x7fff0000),
  ]
  writeFileSync(file, Buffer.concat(program))
  return openSync(file, 'r')
}

test('a command reaches only what the rules let it, and cannot call what the filter forbids', async () => {
  const folder = testFolder()
  const [inside, outside] = [join(folder, 'inside'), join(folder, 'outside')]
  mkdirSync(inside)
  mkdirSync(outside)
  writeFileSync(join(outside, 'file'), 'secret')
  const readable = ['/usr', '/bin', '/lib', '/lib64', '/etc', '/proc']
  const rules = landlockRuleset({ writable: [inside], readable, devices: ['/dev/null'], tcp: false })
  const program = filter()
  const { client } = await startBox({
    level: 'guarded',
    spec: [
      ['L', 4],
      ['F', 5],
    ],
    descriptors: [rules, program],
  })
  closeSync(rules)
  closeSync(program)
  const looked = await shell(
    client,
    `echo x >${inside}/file && cat ${inside}/file; cat ${outside}/file; mkdir ${inside}/d`,
  )
  expect(looked.stdout).toBe('x\n')
  expect(looked.stderr).toMatch(/outside\/file: Permission denied[^]*mkdir.*Operation not permitted/)
  const { stdout } = await run(client, ['cat', '/proc/self/status'])
  expect(stdout).toMatch(/NoNewPrivs:\s1\n/)
  expect(stdout).toMatch(/Seccomp:\s2\n/)
  expect((await shell(client, 'ls /proc/$$/fd')).stdout).toBe('0\n1\n2\n')
  client.send(
    type.put,
    1,
    Buffer.concat([
      tags([
        ['f', `${outside}/put`],
        ['o', '600'],
      ]),
      Buffer.from('\0by init'),
    ]),
  )
  await client.answer(type.ok, 1)
  expect(readFileSync(`${outside}/put`, 'utf8')).toBe('by init')
})

test('a box without rules, or with a filter that is none, does not start', async () => {
  const folder = testFolder()
  writeFileSync(join(folder, 'bad'), 'no filter')
  const bad = openSync(join(folder, 'bad'), 'r')
  expect((await launchBox({ level: 'guarded' })).answer).toMatch(/^error 22 guarded needs a ruleset/)
  const rules = landlockRuleset({ writable: [], readable: ['/'], devices: [], tcp: true })
  const spec = [
    ['L', 4],
    ['F', 5],
  ] as const
  const box = await launchBox({ level: 'guarded', spec, descriptors: [rules, bad] })
  expect(box.answer).toMatch(/^error 71 /)
  expect(box.log()).toBe('aw-box init: setup: Invalid argument\n')
  const noRules = await startBox({ level: 'guarded', spec: [['L', 4]], descriptors: [bad] })
  noRules.client.send(
    type.exec,
    1,
    tags([
      ['a', '/bin/true'],
      ['d', '/'],
    ]),
  )
  await expect(noRules.client.answer(type.exit, 1)).rejects.toThrow(/^landlock: /)
})
