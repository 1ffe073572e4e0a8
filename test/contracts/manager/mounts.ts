import { expect, it } from 'vitest'
import { code, text, type OpenManager } from '../manager.ts'
import { ran } from './commands.ts'

/** Where those inside find a workspace is one thing, whoever tells it. */
export function mountContract(open: OpenManager): void {
  const own: unknown = expect.stringMatching(/^\/mnt\/aw-[0-9a-f]{8}$/)

  it.each([
    ['where it usually is', {}, 'aw', '/workspace'],
    ['a session has a name of its own', {}, 'session', own],
    ['each has a name of its own', { 'sandbox.mount': 'random' }, 'aw', own],
    ['where the settings say', { 'sandbox.mount': '/srv/deep/place' }, 'repo', '/srv/deep/place'],
    ['also of a session', { 'sandbox.mount': '/srv/deep/place' }, 'session', '/srv/deep/place'],
  ] as const)('paths, sandboxes, files and prompts agree on it: %s', async (_, set, profile, mount) => {
    const { aw, manager, hasPaths } = await open(set)
    const { id, path: onHost } = await aw.create({ id: 'one', profile })
    const { public_root: root, public_directories: inside } = await aw.paths('one')
    const path = hasPaths ? onHost : root
    expect(root).toEqual(mount)
    const content = { aw: 'work', session: 'mnt', repo: '' }[profile]
    if (content !== '') expect(inside).toMatchObject({ [content]: `${root}/${content}` })
    const place = content === '' ? root : `${root}/${content}`

    const pwd = async (): Promise<string> => (await ran(manager, { id, argv: ['pwd'] })).stdout.trim()
    expect(await pwd()).toBe(place)
    await aw.fs.write(id, { path: `${place}/note`, content: 'hello' })
    expect((await ran(manager, { id, argv: ['cat', `${place}/note`], cwd: root })).stdout).toBe('hello')
    expect(text(await aw.fs.read(id, { path: `${path}/${content}/note` }))).toBe('hello')
    expect((await ran(manager, { id, argv: ['cat', 'note'], cwd: `${path}/${content}` })).stdout).toBe('hello')
    await expect(aw.fs.read(id, { path: '/mnt/aw-elsewhere/note' })).rejects.toEqual(code('path_outside_workspace'))

    const adapted = async (host?: boolean): Promise<string> =>
      (await aw.prompt.adapt('one', { text: 'see /mnt/okcomputer/a', host })).text
    expect(await adapted()).toBe(`see ${root}/a`)
    if (hasPaths) expect(await adapted(true)).toBe(`see ${path}/a`)
    else await expect(adapted(true)).rejects.toEqual(code('path_not_visible'))

    // It is what was told before, in each sandbox that follows, and by another name too.
    await aw.start(id)
    expect([await pwd(), (await aw.paths('one')).public_root]).toEqual([place, root])
    await aw.stop(id)
    await aw.rename('one', { to: 'two' })
    expect([await pwd(), (await aw.paths('two')).public_root]).toEqual([place, root])
  })

  it('names of their own differ', async () => {
    const { aw } = await open({ 'sandbox.mount': 'random' })
    await aw.create({ id: 'one' })
    await aw.snapshot('one')
    await aw.fork('one', { to: ['two'] })
    const [one, two] = [await aw.paths('one'), await aw.paths('two')]
    expect(one.public_root).not.toBe(two.public_root)
    await expect(aw.fs.list('one', { path: two.public_root })).rejects.toEqual(code('path_outside_workspace'))
  })

  it('without a mount of its own it is where it is on the machine, and its name means it all the same', async () => {
    const { aw, hasPaths } = await open({ 'sandbox.isolation': 'none' })
    await aw.create({ id: 'one' })
    const { root, public_root: path } = await aw.paths('one')
    expect(root).toBe(hasPaths ? path : null)
    expect(await aw.prompt.adapt('one', { text: 'in /workspace/work' })).toEqual({ text: `in ${path}/work` })
    await aw.fs.write('one', { path: '/workspace/work/note', content: 'x' })
    expect(text(await aw.fs.read('one', { path: `${path}/work/note` }))).toBe('x')
  })
}
