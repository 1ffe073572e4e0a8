import { expect, it } from 'vitest'
import { collect } from '../../support/collect.ts'
import { code, forkOf, type OpenManager } from '../manager.ts'

export const unknownSnapshot = 'snap_00000000000000000000000000'

/** Snapshots themselves: made, named, found, listed, removed; and where a workspace stands among them. */
export function snapshotContract(open: OpenManager): void {
  it('a snapshot tells what it is, and stays what it was', async () => {
    const { aw } = await open()
    const made = await aw.create({ id: 'a' })
    await made.files.write('work/f', 'first')
    const first = await aw.snapshot('a', { label: 'tests pass', meta: { turn: 7, deep: { ok: true } } })
    expect(first).toMatchObject({
      workspace: 'a/main',
      parent: null,
      branch: 'main',
      label: 'tests pass',
      meta: { turn: 7, deep: { ok: true } },
      key: null,
      reason: 'user',
      head: true,
    })
    expect(first.id).toMatch(/^snap_[0-9a-z]{26}$/)
    await made.files.write('work/f', 'second')
    await made.files.write('work/g', 'new')
    const second = await aw.snapshot('a')
    expect(second).toMatchObject({ parent: first.id, label: null, meta: {} })
    expect([null, 2]).toContain(second.files_changed)
    expect(await aw.fs.read('a', { path: 'work/f' }).then(String)).toBe('second')
    await aw.restore('a', { snapshot: first.id })
    expect(await made.files.readText('work/f')).toBe('first')
    expect(await made.files.list('work').then(({ entries }) => entries.length)).toBe(1)
  })

  it.each([
    ['its first line that says something', '\n \n  Fix the login \nand more', 'Fix the login'],
    ['without what moves a cursor', 'a\u0007\u001b[31mred\tb\u200b\u202ec', 'a [31mred b c'],
    ['at most 120 characters', 'x'.repeat(500), 'x'.repeat(120)],
    ['no character torn in two', `${'x'.repeat(118)}👩‍👩‍👧‍👦 and more`, 'x'.repeat(118)],
    ['emoji that fit', '🎉 done', '🎉 done'],
    ['nothing, if it says nothing', ' \n\u0000\n', null],
    ['nothing, if it is empty', '', null],
  ])('a label is made from a message: %s', async (_, message, label) => {
    const { aw } = await open()
    await aw.create({ id: 'a' })
    expect(await aw.snapshot('a', { message })).toMatchObject({ label })
  })

  it('a label is taken as it is given, or refused', async () => {
    const { aw } = await open()
    await aw.create({ id: 'a' })
    for (const label of ['', ' x', 'two\nlines', 'bell\u0007', 'x'.repeat(121)])
      await expect(aw.snapshot('a', { label })).rejects.toEqual(code('invalid_input', { field: 'label' }))
    await expect(aw.snapshot('a', { label: 'x', message: 'y' })).rejects.toEqual(code('invalid_input'))
    expect(await aw.snapshots('a')).toEqual([])
    expect(await collect(aw.events({ workspace: 'a' }))).toHaveLength(2)
  })

  it('a key makes one snapshot, whoever asks how often, also after it got another label', async () => {
    const { aw } = await open()
    const made = await aw.create({ id: 'a' })
    const asked = await Promise.all(Array.from({ length: 5 }, () => aw.snapshot('a', { key: 'turn-7', label: 'one' })))
    expect(new Set(asked.map(({ id }) => id)).size).toBe(1)
    expect(asked.filter(({ created }) => created)).toHaveLength(1)
    await made.files.write('work/f', 'changed since')
    await aw.snapshot.label('a', { snapshot: 'one', label: 'other' })
    expect(await aw.snapshot('a', { key: 'turn-7', label: 'one' })).toMatchObject({ id: asked[0]?.id, label: 'other' })
    expect(await aw.snapshot('a', { key: 'turn-8' })).toMatchObject({ key: 'turn-8', parent: asked[0]?.id })
    await aw.snapshot.remove('a', { snapshots: ['other'] })
    expect((await aw.snapshot('a', { key: 'turn-7' })).id).not.toBe(asked[0]?.id)
    await aw.create({ id: 'b' })
    expect((await aw.snapshot('b', { key: 'turn-8' })).workspace).toBe('b/main')
  })

  it('the 21st that somebody asked for is refused; automatic ones make room, the oldest first', async () => {
    const { aw } = await open()
    const { id } = await aw.create({ id: 'a' })
    const ids: string[] = []
    for (let i = 0; i < 20; i++) ids.push((await aw.snapshot('a', { auto: i === 3 || i === 5 || i === 7 })).id)
    await aw.snapshot.label('a', { snapshot: ids[3] ?? '', label: 'precious' })
    const next = await aw.snapshot('a')
    const left = (await aw.snapshots('a')).map((one) => one.id)
    expect(left).toEqual([...ids.filter((one) => one !== ids[5]), next.id])
    expect((await aw.snapshots('a')).find((one) => one.id === ids[6])).toMatchObject({ parent: ids[4] })
    await aw.snapshot('a', { auto: true })
    expect((await aw.snapshots('a')).map((one) => one.id)).not.toContain(ids[7])
    // The head is the only automatic one that is left: the next takes its place.
    const head = (await aw.snapshots('a')).at(-1)
    const taken = await aw.snapshot('a')
    expect(taken.parent).toBe(head?.parent)
    expect((await aw.snapshots('a')).map((one) => one.id)).not.toContain(head?.id)
    // What is left are those that somebody asked for, and one with a label.
    const refused = expect.objectContaining({
      message: expect.stringContaining('19 were asked for, 1 automatic with a label') as string,
    }) as Error
    await expect(aw.snapshot('a')).rejects.toEqual(code('snapshot_limit', { id, limit: 20, count: 20 }))
    await expect(aw.snapshot('a', { auto: true })).rejects.toEqual(refused)
    expect(await aw.snapshots('a')).toHaveLength(20)
    await aw.snapshot.remove('a', { snapshots: [ids[0] ?? ''] })
    await aw.snapshot('a')
  })

  it('none makes room that is a branch, was forked, or is what redo would bring back', async () => {
    const { aw } = await open()
    const made = await aw.create({ id: 'a' })
    const automatic = async (): Promise<string> => {
      await made.files.append('work/f', 'x')
      return (await aw.snapshot('a', { auto: true })).id
    }
    for (let count = 0; count < 17; count++) await aw.snapshot('a')
    const [branched, forked, undone] = [await automatic(), await automatic(), await automatic()]
    await aw.branch('a', { name: 'side', at: branched })
    await forkOf(aw, 'a', { to: ['b'], at: forked })
    await aw.undo('a')
    const ids = async (): Promise<string[]> => (await aw.snapshots('a')).map(({ id }) => id)
    await expect(aw.snapshot('a')).rejects.toEqual(code('snapshot_limit'))
    expect(await ids()).toEqual(expect.arrayContaining([branched, forked, undone]))
  })

  it('snapshots are told oldest first, as a tree, with their sizes if asked', async () => {
    const { aw } = await open()
    const made = await aw.create({ id: 'a' })
    expect(await aw.snapshots('a')).toEqual([])
    await made.files.write('work/f', 'x'.repeat(5000))
    const root = await aw.snapshot('a', { label: 'root' })
    const left = await aw.snapshot('a', { label: 'left' })
    await made.files.write('work/f', 'not kept yet')
    await aw.restore('a', { snapshot: 'root' })
    const right = await aw.snapshot('a', { label: 'right' })
    const all = await aw.snapshots('a')
    const asked = all.filter(({ reason }) => reason === 'user')
    expect(asked.map(({ label, parent }) => [label, parent])).toEqual([
      ['root', null],
      ['left', root.id],
      ['right', root.id],
    ])
    expect(all.filter(({ head }) => head).map(({ id }) => id)).toEqual([right.id])
    expect(all.filter(({ reason }) => reason === 'safety')).toMatchObject([{ parent: left.id, label: null }])
    expect((await aw.snapshots('a', { limit: 1 })).map(({ id }) => id)).toEqual([right.id])
    const [measured] = await aw.snapshots('a', { sizes: true })
    expect(measured?.size_bytes).toBeGreaterThanOrEqual(5000)
    expect(measured).toHaveProperty('own_bytes')
    expect(all[0]).not.toHaveProperty('size_bytes')
  })

  it('describe tells the head and whether the tree is still that', async () => {
    const { aw } = await open()
    const made = await aw.create({ id: 'a' })
    const fresh = { workspace: 'a/main', head: null, branch: 'main', dirty: true, changes: 0, snapshots: 0 }
    expect(await aw.describe('a')).toEqual(fresh)
    const { id } = await aw.snapshot('a')
    expect(await aw.describe('a')).toMatchObject({ head: { id, head: true }, dirty: false, changes: 0 })
    await made.files.write('work/f', '')
    await made.files.write('work/g', '')
    expect(await aw.describe('a')).toMatchObject({ head: { id }, dirty: true, changes: 2 })
    await made.files.remove('work/f')
    await made.files.remove('work/g')
    expect(await aw.describe('a')).toMatchObject({ dirty: false })
    await aw.rename('a', { to: 'b' })
    expect(await aw.describe('b')).toMatchObject({ workspace: 'b/main', head: { id }, dirty: false })
  })

  it('branches are made, listed, moved and removed', async () => {
    const { aw } = await open()
    await aw.create({ id: 'a' })
    expect(await aw.branch('a')).toEqual({
      branch: 'main',
      moved: null,
      branches: [{ name: 'main', snapshot: null, current: true }],
    })
    const first = await aw.snapshot('a', { label: 'first' })
    const second = await aw.snapshot('a')
    await aw.branch('a', { name: 'risky-idea' })
    await aw.branch('a', { name: 'old/line', at: 'first' })
    const tips = async (): Promise<Record<string, string | null>> =>
      Object.fromEntries((await aw.branch('a')).branches.map(({ name, snapshot }) => [name, snapshot]))
    expect(await tips()).toEqual({ main: second.id, 'risky-idea': second.id, 'old/line': first.id })
    await aw.branch('a', { name: 'old/line' })
    expect(await tips()).toMatchObject({ 'old/line': first.id })
    expect(await aw.branch('a', { name: 'old/line', at: second.id })).toMatchObject({
      moved: { name: 'old/line', from: first.id, to: second.id },
    })
    for (const nameless of [{ remove: true }, { at: 'first' }])
      await expect(aw.branch('a', nameless)).rejects.toEqual(code('invalid_input'))
    expect(await tips()).toMatchObject({ 'old/line': second.id })
    await aw.branch('a', { name: 'old/line', remove: true })
    expect(await tips()).toEqual({ main: second.id, 'risky-idea': second.id })
    expect(await aw.snapshots('a')).toHaveLength(2)

    await expect(aw.branch('a', { name: 'main', remove: true })).rejects.toEqual(code('invalid_state'))
    await expect(aw.branch('a', { name: 'main', at: 'first' })).rejects.toEqual(code('invalid_state'))
    await expect(aw.branch('a', { name: 'none', remove: true })).rejects.toEqual(code('snapshot_not_found'))
    await expect(aw.branch('a', { name: 'x', at: 'no such label' })).rejects.toEqual(code('snapshot_not_found'))
    for (const name of ['', 'a b', '../x', '-x', 'x/', 'x.', 'a..b', 'x.lock', '__proto__', 'a//b', 'x'.repeat(121)])
      await expect(aw.branch('a', { name })).rejects.toEqual(code('invalid_name'))
    await aw.branch('a', { name: 'constructor' })
    expect(Object.keys(await tips())).toEqual(['main', 'risky-idea', 'constructor'])
  })

  it('the newest of several with one label is meant; a label can be taken away', async () => {
    const { aw } = await open()
    await aw.create({ id: 'a' })
    const first = await aw.snapshot('a', { label: 'same' })
    const second = await aw.snapshot('a', { label: 'same' })
    expect(await aw.snapshot.label('a', { snapshot: 'same', remove: true })).toMatchObject({
      id: second.id,
      label: null,
    })
    expect(await aw.snapshot.label('a', { snapshot: 'same', label: 'first' })).toMatchObject({ id: first.id })
    expect(await aw.snapshot.label('a', { snapshot: 'head', label: 'with @ and spaces' })).toMatchObject({
      id: second.id,
      label: 'with @ and spaces',
    })
    const wrong = [' untidy', '', 'head', 'base', 'snap_x', undefined]
    for (const label of wrong)
      await expect(aw.snapshot.label('a', { snapshot: 'first', label })).rejects.toEqual(code('invalid_input'))
    await expect(aw.snapshot('a', { label: 'head' })).rejects.toEqual(code('invalid_input'))
    expect(await aw.snapshot('a', { message: 'head' })).toMatchObject({ label: '"head"' })
    for (const snapshot of ['same', unknownSnapshot])
      await expect(aw.snapshot.label('a', { snapshot, label: 'x' })).rejects.toEqual(code('snapshot_not_found'))
  })

  it('what grew from a removed snapshot grows from its parent, and the head moves there', async () => {
    const { aw } = await open()
    const made = await aw.create({ id: 'a' })
    const ids: string[] = []
    for (const content of ['1', '2', '3', '4']) {
      await made.files.write('work/f', content)
      ids.push((await aw.snapshot('a')).id)
    }
    const [one = '', two = '', three = '', four = ''] = ids
    expect(await aw.snapshot.remove('a', { snapshots: [two, three, two] })).toEqual({ removed: [two, three] })
    expect((await aw.snapshots('a')).map(({ id, parent }) => [id, parent])).toEqual([
      [one, null],
      [four, one],
    ])
    for (const snapshot of [two, three])
      await expect(aw.restore('a', { snapshot })).rejects.toEqual(code('snapshot_not_found'))
    await aw.snapshot.remove('a', { snapshots: ['head'] })
    expect(await aw.describe('a')).toMatchObject({ head: { id: one }, dirty: true, changes: 1 })
    expect((await aw.branch('a')).branches).toMatchObject([{ name: 'main', snapshot: one }])
    expect(await made.files.readText('work/f')).toBe('4')
    await aw.snapshot.remove('a', { snapshots: [one] })
    expect(await aw.describe('a')).toMatchObject({ head: null })
    expect((await aw.snapshot('a')).parent).toBeNull()
  })

  it('nothing is removed if one of them is unknown, or of another workspace', async () => {
    const { aw } = await open()
    await aw.create({ id: 'a' })
    await aw.create({ id: 'b' })
    const [mine, theirs] = [await aw.snapshot('a'), await aw.snapshot('b', { label: 'theirs' })]
    for (const wrong of [unknownSnapshot, theirs.id, 'theirs', 'base', '', 'snap_x']) {
      const refused = aw.snapshot.remove('a', { snapshots: [mine.id, wrong] })
      await expect(refused).rejects.toEqual(code('snapshot_not_found'))
    }
    await expect(aw.snapshot.label('a', { snapshot: theirs.id, label: 'x' })).rejects.toEqual(
      code('snapshot_not_found'),
    )
    expect(await aw.snapshots('a')).toMatchObject([{ id: mine.id }])
    expect(await aw.snapshots('b')).toMatchObject([{ id: theirs.id }])
  })

  it('verify reads snapshots whole', async () => {
    const { aw } = await open()
    const made = await aw.create({ id: 'a' })
    await made.files.write('work/f', 'x'.repeat(100))
    const { id } = await aw.snapshot('a')
    await aw.create({ id: 'b' })
    await aw.snapshot('b')
    const one = await aw.verify('a')
    expect(one).toMatchObject({ snapshots: [{ snapshot: id, workspace: 'a/main', problems: [] }] })
    expect(one.intact).toBe(one.snapshots[0]?.method === 'none' ? null : true)
    for (const ref of [id, id.slice(0, 20), 'a@head'])
      expect((await aw.verify(ref)).snapshots.map(({ snapshot }) => snapshot)).toEqual([id])
    for (const ref of ['snap_zzz', unknownSnapshot])
      await expect(aw.verify(ref)).rejects.toEqual(code('snapshot_not_found'))
    expect(one.snapshots[0]?.files).toBeGreaterThan(0)
    expect((await aw.verify()).snapshots.map(({ workspace }) => workspace).toSorted()).toEqual(['a/main', 'b/main'])
    await expect(aw.verify('missing')).rejects.toEqual(code('workspace_not_found'))
  })
}
