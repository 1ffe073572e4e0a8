import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { expect, it } from 'vitest'
import { checkHome, checkReadModel } from '../crash/check.ts'
import { makeHome } from '../crash/home.ts'

const clients = 8
const kills = Number(process.env['AW_KILLS'] ?? 1000)

/** Clients are killed at any instant, by the clock and not by a count, and new ones take their place. */
it(`${kills} clients are killed at random, ${clients} at a time, and nothing that was told is lost`, async () => {
  await using home = await makeHome()
  const made: string[] = []
  let started = 0

  async function client(): Promise<void> {
    while (started < kills) {
      const child = home.start('work', `client-${started++}`)
      const ended = once(child, 'exit')
      const working = Promise.withResolvers<void>()
      createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
        made.push(line.slice('made '.length))
        working.resolve()
      })
      let errors = ''
      child.stderr?.on('data', (chunk) => (errors += String(chunk)))
      await Promise.race([working.promise, ended])
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 200))
      child.kill('SIGKILL')
      await ended
      expect(errors).toBe('')
    }
  }
  await Promise.all(Array.from({ length: clients }, client))

  const before = performance.now()
  const recovered = await home.tell('recover', {})
  console.log(
    `${made.length} workspaces were told to be made and erased; recovered in ${performance.now() - before} ms`,
  )
  expect(recovered.error).toBeUndefined()
  await checkHome(home.home, home.manager)
  await checkReadModel(home.manager)
  const known = new Map((await home.manager.call('list', { all: true })).map((one) => [one.id, one.state]))
  for (const id of made) expect(known.get(id)).toBe('purged')
})
