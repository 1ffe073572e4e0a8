import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { staged, trashed, volume, type OpenStorage } from '../storage.ts'

/** What somebody else put into the directories of the storage. */
export function foreignContract(open: OpenStorage): void {
  it.each([volume, staged])('leaves what is not its own in $area when it erases trees', async (place) => {
    const { storage } = await open()
    await storage.create(volume)
    const directory = dirname(storage.attachment(place).path)
    mkdirSync(join(directory, 'full'))
    writeFileSync(join(directory, 'full', 'precious'), 'kept')
    mkdirSync(join(directory, 'empty'))
    writeFileSync(join(directory, 'file'), 'kept')
    await storage.move(volume, trashed)
    await storage.erase(trashed)
    await storage.create(staged)
    await storage.erase(staged)
    expect(readdirSync(directory).toSorted()).toEqual(['empty', 'file', 'full'])
    expect(readFileSync(join(directory, 'full', 'precious'), 'utf8')).toBe('kept')
    expect((await storage.list()).filter(({ area }) => area === 'found')).toEqual([])
  })
}
