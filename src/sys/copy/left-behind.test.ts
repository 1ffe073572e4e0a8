import { spawn } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'

let base: string
const source = (name = ''): string => join(base, 'source', name)
beforeEach(() => {
  base = fs.mkdtempSync(join(tmpdir(), 'aw-left-'))
  fs.mkdirSync(source())
})
afterEach(() => fs.rmSync(base, { recursive: true, force: true }))

test.each([
  ['killed', 'SIGKILL', ''],
  ['interrupted with all that it started', 'SIGINT', 'aborted'],
] as const)('when its caller is %s, nothing is written any more', async (_, signal, said) => {
  // So many that it takes a while in memory too.
  for (let n = 0; n < 12_000; n++) {
    if (n % 50 === 0) fs.mkdirSync(source(`d${n / 50}`))
    fs.writeFileSync(source(`d${Math.floor(n / 50)}/${n}`), `${n}`)
  }
  const count = (): number => fs.readdirSync(base, { recursive: true }).length
  const whole = 2 * count()
  // On a busy machine it can be over before anybody has seen it begin: then it is tried again. One that goes on without
  // its caller is over each time.
  for (let attempt = 1; ; attempt++) {
    const copy = join(base, 'copy')
    const script = `
      import { copyTree } from ${JSON.stringify(join(import.meta.dirname, 'tree.ts'))}
      const stop = new AbortController()
      process.on('SIGINT', () => stop.abort())
      process.stdout.write('ready ')
      const copying = copyTree(${JSON.stringify(source())}, ${JSON.stringify(copy)}, { signal: stop.signal })
      await copying.then(() => process.stdout.write('done'), (error) => process.stdout.write(error.code))`
    const caller = spawn(process.execPath, ['--input-type=module-typescript', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
      detached: true,
    })
    let told = ''
    caller.stdout.setEncoding('utf8').on('data', (text: string) => (told += text))
    const closed = once(caller, 'close')
    while (!fs.existsSync(copy) || fs.readdirSync(copy).length === 0) await sleep(1)
    if (caller.exitCode === null) process.kill(-(caller.pid ?? 0), signal)
    await closed
    let made = 0
    while (made !== count()) {
      made = count()
      await sleep(300)
    }
    if (made < whole - 10) return void expect(told).toBe(`ready ${said}`)
    expect(attempt).toBeLessThan(10)
    fs.rmSync(copy, { recursive: true })
  }
})
