/** A tree of layers that only the box sees, mounted by an ordinary user in a user namespace of the box's own. */
import * as fs from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { SandboxSpec } from '../../src/ports/sandbox-driver.ts'
import { code, ran, startPlanned } from '../contracts/sandbox.ts'
import { openedPlaces, sh } from './fixtures-per-test.ts'

const opened = openedPlaces()

function layered(): ReturnType<typeof opened> & { spec: SandboxSpec; upper: string; lower: string } {
  const at = opened('namespace')
  const [lower, upper, work] = ['lower', 'upper', 'work'].map((name) => join(at.base, name)) as [string, string, string]
  for (const path of [lower, upper, work]) fs.mkdirSync(path)
  fs.mkdirSync(join(lower, '.git'))
  fs.writeFileSync(join(lower, 'below'), 'from below')
  fs.writeFileSync(join(lower, '.git', 'HEAD'), 'head')
  const attachment = { kind: 'overlay', path: join(at.base, 'nowhere'), lower: [lower], upper, work } as const
  return { ...at, upper, lower, spec: { ...at.spec, attachment } }
}

it('shows the layers as one tree; what is written is in the upper one', async () => {
  const { driver, spec, upper, lower } = layered()
  await using box = await startPlanned(driver, 'box_1', spec)
  expect(await sh(box, 'cat below; echo changed > below; echo new > made; id -u; pwd')).toBe(
    'from below1000\n/workspace\n',
  )
  expect(fs.readFileSync(join(lower, 'below'), 'utf8')).toBe('from below')
  expect(fs.readFileSync(join(upper, 'below'), 'utf8')).toBe('changed\n')
  expect(fs.readFileSync(join(upper, 'made'), 'utf8')).toBe('new\n')
  expect((await ran(box, ['pwd'], { cwd: '.git' })).stdout).toBe('/workspace/.git\n')
  for (const [cwd, expected] of [
    ['..', 'path_traversal_attempt'],
    ['/etc', 'path_outside_workspace'],
    ['missing', 'file_not_found'],
  ] as const) {
    await expect(ran(box, ['pwd'], { cwd })).rejects.toEqual(code(expected))
  }
})

it('has the same walls around it', async () => {
  const { driver, spec } = layered()
  await using box = await startPlanned(driver, 'box_1', spec)
  const status = (await sh(box, 'grep -E "^(NoNewPrivs|Seccomp|CapEff|CapBnd):" /proc/self/status')).replaceAll(
    '\t',
    ' ',
  )
  expect(status).toBe('CapEff: 0000000000000000\nCapBnd: 0000000000000000\nNoNewPrivs: 1\nSeccomp: 2\n')
  expect(await sh(box, 'unshare -U true; ls -A /')).toMatch(/not permitted/)
})

it('has its protected names, there or not, and nothing is left of those that were not', async () => {
  const { driver, spec, upper } = layered()
  const box = await startPlanned(driver, 'box_1', { ...spec, protect: ['.aw', '.git/hooks', 'below', '.mcp.json'] })
  const said = await sh(
    box,
    'mkdir .aw/x; mv .aw y; mv .git z; touch .git/hooks/x; echo x > below; echo x > .mcp.json; echo ok > .git/config',
  )
  expect(said.match(/Read-only|busy/g)).toHaveLength(6)
  await box.stop()
  expect(fs.readdirSync(upper)).toEqual(['.git'])
  expect(fs.readdirSync(join(upper, '.git'))).toEqual(['config'])
})

it.each(['none', 'guarded'] as const)('cannot be had at level %s', async (level) => {
  const { spec } = layered()
  const { driver } = opened(level)
  const network = { mode: 'host' } as const
  await expect(startPlanned(driver, 'box_1', { ...spec, network })).rejects.toEqual(code('sandbox_unenforceable'))
})
