import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Aw } from '../../../src/client/facade.ts'
import { toAwError } from '../../../src/domain/errors.ts'
import { code, forkOf, type OpenManager } from '../manager.ts'
import { modelHistory, steps, type Step } from './undo-model.ts'

export function undoContract(open: OpenManager): void {
  it('undo of unsaved work goes back to the head, and redo gives the work back', async () => {
    const { aw } = await open()
    const made = await aw.create({ id: 'a' })
    await made.files.write('work/f', 'saved')
    const { id: head } = await aw.snapshot('a')
    await made.files.write('work/f', 'an hour of work')
    const undone = await aw.undo('a')
    expect(undone).toMatchObject({ snapshot: head, branch: 'main', changed: 1, changes: ['work/f'] })
    expect(undone.kept).toMatch(/^snap_/)
    expect(await made.files.readText('work/f')).toBe('saved')
    expect(await aw.describe('a')).toMatchObject({ head: { id: head }, dirty: false })
    expect(await aw.redo('a')).toMatchObject({ snapshot: undone.kept, kept: null })
    expect(await made.files.readText('work/f')).toBe('an hour of work')
    expect(await aw.show('a')).toMatchObject({ generation: 3 })
  })

  it('undo of a restore gives the times of what was written as it was back', async () => {
    const { aw } = await open()
    const made = await aw.create({ id: 'a' })
    await made.files.write('work/f', 'same')
    const { id: head } = await aw.snapshot('a')
    const time = async (): Promise<string> => (await (await aw.get('a')).files.stat('work/f')).mtime
    const old = await time()
    await made.files.write('work/f', 'same')
    const now = await time()
    expect(await aw.restore('a', { snapshot: head })).toMatchObject({ changed: 0, kept: expect.any(String) as string })
    expect(await time()).toBe(old)
    await aw.undo('a')
    expect(await time()).toBe(now)
  })

  it('undo and redo of snapshots leave no snapshots behind', async () => {
    const { aw } = await open()
    const made = await aw.create({ id: 'a' })
    const ids: string[] = []
    for (const content of ['one', 'two', 'three']) {
      await made.files.write('work/f', content)
      ids.push((await aw.snapshot('a')).id)
    }
    const now = async (): Promise<string> => made.files.readText('work/f')
    const [one = '', two = '', three = ''] = ids
    expect(await aw.undo('a')).toMatchObject({ snapshot: two, kept: null })
    expect([await now(), (await aw.undo('a')).snapshot, await now()]).toEqual(['two', one, 'one'])
    await expect(aw.undo('a')).rejects.toEqual(code('nothing_to_undo'))
    expect((await aw.branch('a')).branches).toMatchObject([{ name: 'main', snapshot: one }])
    expect([(await aw.redo('a')).snapshot, await now()]).toEqual([two, 'two'])
    expect([(await aw.redo('a')).snapshot, await now()]).toEqual([three, 'three'])
    await expect(aw.redo('a')).rejects.toEqual(code('nothing_to_redo'))
    expect((await aw.snapshots('a')).map(({ id }) => id)).toEqual(ids)
  })

  it('redo is refused after new changes, and forgotten with a new snapshot or a restore', async () => {
    const { aw } = await open()
    const made = await aw.create({ id: 'a' })
    for (const content of ['one', 'two']) {
      await made.files.write('work/f', content)
      await aw.snapshot('a', { label: content })
    }
    await aw.undo('a')
    await made.files.write('work/f', 'changed since')
    await expect(aw.redo('a')).rejects.toEqual(code('nothing_to_redo'))
    expect(await made.files.readText('work/f')).toBe('changed since')
    await made.files.write('work/f', 'one')
    await aw.redo('a')
    await aw.undo('a')
    await aw.snapshot('a')
    await expect(aw.redo('a')).rejects.toEqual(code('nothing_to_redo'))
    await aw.undo('a')
    await aw.restore('a', { snapshot: 'two' })
    await expect(aw.redo('a')).rejects.toEqual(code('nothing_to_redo'))
  })

  it('a restore is taken back with all that was unsaved before it, and can be redone', async () => {
    const { aw, made, now } = await withThree(open)
    await made.files.write('work/f', 'unsaved')
    const { kept } = await aw.restore('a', { snapshot: 'two' })
    expect(await aw.undo('a')).toMatchObject({ snapshot: kept, branch: 'main', kept: null })
    expect(await now()).toBe('unsaved')
    for (const _ of [1, 2]) {
      await aw.redo('a')
      expect(await now()).toBe('two')
      await aw.undo('a')
      expect(await now()).toBe('unsaved')
    }
    await aw.undo('a')
    expect(await now()).toBe('three')
  })

  it('several restores are taken back one by one, and done again', async () => {
    const { aw, now } = await withThree(open)
    for (const snapshot of ['two', 'one']) await aw.restore('a', { snapshot })
    const walked: string[] = []
    for (const how of ['undo', 'undo', 'redo', 'redo', 'undo', 'undo'] as const) {
      await aw[how]('a')
      walked.push(await now())
    }
    expect(walked).toEqual(['two', 'three', 'two', 'one', 'two', 'three'])
  })

  it('several restores of paths are taken back one by one, and a file that was made between them stays', async () => {
    const { aw, made, now } = await withThree(open)
    await aw.restore('a', { snapshot: 'one', paths: ['work/f'] })
    await made.files.write('work/other', 'made between')
    await aw.restore('a', { snapshot: 'two', paths: ['work/f'] })
    for (const content of ['one', 'three']) {
      await aw.undo('a')
      expect([await now(), await made.files.readText('work/other')]).toEqual([content, 'made between'])
    }
  })

  it('redo goes on with the branch that the undo left', async () => {
    const { aw, made, now } = await withThree(open)
    await aw.branch('a', { name: 'idea', at: 'one' })
    await aw.restore('a', { branch: 'idea' })
    await made.files.write('work/f', 'an idea')
    const { id: idea } = await aw.snapshot('a')
    const { snapshot: three } = await aw.restore('a', { branch: 'main' })
    expect(await aw.undo('a')).toMatchObject({ branch: 'idea', snapshot: idea })
    expect(await aw.redo('a')).toMatchObject({ branch: 'main', snapshot: three })
    expect(await now()).toBe('three')
    expect((await aw.branch('a')).branches).toMatchObject([
      { name: 'main', snapshot: three, current: true },
      { name: 'idea', snapshot: idea, current: false },
    ])
  })

  it('a restore to where it all began is taken back, also one of a branch', async () => {
    const { aw, now } = await withThree(open)
    expect(await aw.restore('a', { snapshot: 'one' })).toMatchObject({ kept: null })
    await aw.undo('a')
    expect(await now()).toBe('three')
    await aw.branch('a', { name: 'idea', at: 'one' })
    await aw.restore('a', { branch: 'idea' })
    expect(await aw.undo('a')).toMatchObject({ branch: 'main' })
    expect(await now()).toBe('three')
  })

  it('a restore of paths is taken back, and what was done elsewhere stays', async () => {
    const { aw, made, now } = await withThree(open)
    await made.files.write('work/f', 'unsaved')
    await made.files.write('work/other', 'before')
    await aw.restore('a', { snapshot: 'one', paths: ['work/f'] })
    await aw.undo('a')
    expect([await now(), await made.files.readText('work/other')]).toEqual(['unsaved', 'before'])
    await aw.redo('a')
    expect([await now(), await made.files.readText('work/other')]).toEqual(['one', 'before'])
    await aw.restore('a', { snapshot: 'two', paths: ['work/f'] })
    await made.files.write('work/other', 'since')
    expect(await aw.undo('a')).toMatchObject({ paths: ['work/f'] })
    expect([await now(), await made.files.readText('work/other')]).toEqual(['one', 'since'])
  })

  it('changes since a restore are undone first, then the restore', async () => {
    const { aw, made, now } = await withThree(open)
    await aw.restore('a', { snapshot: 'two' })
    await made.files.write('work/f', 'changed since')
    await aw.undo('a')
    expect(await now()).toBe('two')
    await aw.undo('a')
    expect(await now()).toBe('three')
    for (const content of ['two', 'changed since']) {
      await aw.redo('a')
      expect(await now()).toBe(content)
    }
  })

  it('after a new snapshot a restore is history', async () => {
    const { aw, made, now } = await withThree(open)
    await aw.restore('a', { snapshot: 'one' })
    await made.files.write('work/f', 'four')
    await aw.snapshot('a')
    await aw.undo('a')
    expect(await now()).toBe('one')
    await expect(aw.undo('a')).rejects.toEqual(code('nothing_to_undo'))
  })

  it('there is nothing to undo without a snapshot, nor where a fork began', async () => {
    const { aw } = await open()
    const made = await aw.create({ id: 'a' })
    await made.files.write('work/f', 'unsaved')
    await expect(aw.undo('a')).rejects.toEqual(code('nothing_to_undo'))
    await expect(aw.redo('a')).rejects.toEqual(code('nothing_to_redo'))
    await forkOf(aw, 'a', { to: ['b'] })
    await expect(aw.undo('b')).rejects.toEqual(code('nothing_to_undo'))
    const fork = await aw.get('b')
    await fork.files.write('work/f', 'changed in the fork')
    await aw.undo('b')
    expect(await fork.files.readText('work/f')).toBe('unsaved')
    await aw.redo('b')
    await aw.snapshot('b')
    for (const _ of [1, 2]) await aw.undo('b')
    expect(await fork.files.readText('work/f')).toBe('unsaved')
    await expect(aw.undo('b')).rejects.toEqual(code('nothing_to_undo'))
    expect(await made.files.readText('work/f')).toBe('unsaved')
  })

  it('whatever is done, undo and redo walk a history as anybody would draw it', async () => {
    const { aw } = await open()
    let runs = 0
    const property = fc.asyncProperty(
      fc.array(fc.constantFrom(...steps), { minLength: 4, maxLength: 14 }),
      async (taken) => {
        const id = `run-${runs++}`
        await aw.create({ id })
        const history = modelHistory()
        for (const each of taken) {
          const expected = history.take(each)
          expect(await outcome(aw, id, each, history.content()), `${each} in ${taken.join(' ')}`).toBe(expected)
          expect(await contentOf(aw, id), `after ${each} in ${taken.join(' ')}`).toBe(history.content())
        }
      },
    )
    await fc.assert(property, { numRuns: 25 })
  })
}

async function withThree(open: OpenManager) {
  const { aw } = await open()
  const made = await aw.create({ id: 'a' })
  for (const content of ['one', 'two', 'three']) {
    await made.files.write('work/f', content)
    await aw.snapshot('a', { label: content })
  }
  return { aw, made, now: () => made.files.readText('work/f') }
}

async function outcome(aw: Aw, id: string, step: Step, content: string): Promise<string> {
  try {
    if (step === 'change') await aw.fs.write(id, { path: 'work/f', content })
    else if (step === 'restore') await aw.restore(id, { snapshot: await firstOf(aw, id) })
    else if (step === 'restore paths') await aw.restore(id, { snapshot: await firstOf(aw, id), paths: ['work/f'] })
    else await aw[step](id)
    return 'ok'
  } catch (error) {
    return toAwError(error).code
  }
}

const firstOf = async (aw: Aw, id: string): Promise<string> => (await aw.snapshots(id))[0]?.id ?? 'none'

const contentOf = async (aw: Aw, id: string): Promise<string> =>
  aw.fs.read(id, { path: 'work/f' }).then(
    (content) => Buffer.from(content as Uint8Array).toString(),
    () => '',
  )
