import { setImmediate } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { code, type OpenSandbox, ran, withSpec, startPlanned } from '../sandbox.ts'

/** From start to stop: who sees a box when. */
export function livesContract(open: OpenSandbox): void {
  it('starts, is listed, is found again by another and stops with nothing left', async () => {
    const { driver, reopen, spec, programs } = await open()
    await using box = await startPlanned(driver, 'box_1', spec)
    expect(box.name).toBe('box_1')
    expect(await driver.list()).toEqual([{ name: 'box_1', alive: true }])
    await using other = reopen()
    const found = await other.find('box_1')
    expect(found).toMatchObject({ name: 'box_1', owner: box.owner, plan: box.plan })
    expect((await ran(found ?? box, programs.echo('from another'))).stdout).toBe('from another\n')
    await box.stop()
    expect(await driver.list()).toEqual([])
    expect(await other.find('box_1')).toBeUndefined()
  })

  it('lives on when it is let go of, unless it was started for once', async () => {
    const subject = await open()
    const { driver, programs } = subject
    await (await startPlanned(driver, 'box_1', subject.spec))[Symbol.asyncDispose]()
    await (await startPlanned(driver, 'box_2', withSpec(subject, { once: true })))[Symbol.asyncDispose]()
    expect(await driver.list()).toEqual([{ name: 'box_1', alive: true }])
    await using found = await driver.find('box_1')
    expect(found && (await ran(found, programs.echo('still here'))).stdout).toBe('still here\n')
    expect(await driver.find('box_2')).toBeUndefined()
  })

  it('lives on when somebody who only found it lets go of it', async () => {
    const subject = await open()
    const { driver, programs } = subject
    const box = await startPlanned(driver, 'box_1', withSpec(subject, { once: true }))
    await (await driver.find('box_1'))?.[Symbol.asyncDispose]()
    expect((await ran(box, programs.echo('still here'))).stdout).toBe('still here\n')
    await box[Symbol.asyncDispose]()
    expect(await driver.list()).toEqual([])
  })

  it('is started for whoever starts it, whoever else looks at it meanwhile', async () => {
    const subject = await open()
    const { driver, programs } = subject
    await using other = subject.reopen()
    for (let round = 0; round < 5; round++) {
      const started = new AbortController()
      const starting = startPlanned(driver, 'box_1', withSpec(subject, { once: true })).finally(() => started.abort())
      for (; !started.signal.aborted; await setImmediate()) await (await other.find('box_1'))?.[Symbol.asyncDispose]()
      await using box = await starting
      expect((await ran(box, programs.echo('still here'))).stdout).toBe('still here\n')
    }
  })

  it('starts only what it has planned itself, and that very value', async () => {
    const { driver, reopen, spec } = await open()
    const plan = await driver.plan(spec)
    await using other = reopen()
    for (const foreign of [{ ...plan }, await other.plan(spec)])
      await expect(driver.start('box_1', foreign)).rejects.toEqual(code('invalid_input'))
    expect(await driver.list()).toEqual([])
    await using box = await driver.start('box_1', plan)
    expect(box.plan).toEqual(plan)
  })

  it('does not start one name twice, nor a name that is none', async () => {
    const { driver, spec } = await open()
    await using box = await startPlanned(driver, 'box_1', spec)
    await expect(startPlanned(driver, 'box_1', spec)).rejects.toEqual(code('invalid_state'))
    expect(await box.status()).toMatchObject({ commands: 0 })
  })

  it('starts nothing when it was cancelled before', async () => {
    const { driver, spec } = await open()
    await expect(startPlanned(driver, 'box_1', spec, { signal: AbortSignal.abort() })).rejects.toEqual(code('aborted'))
    expect(await driver.list()).toEqual([])
  })

  it('removes what lives, and what is not there', async () => {
    const { driver, spec, programs } = await open()
    await using box = await startPlanned(driver, 'box_1', spec)
    const { exit } = box.exec({ argv: programs.sleep(60_000), cwd: '.', env: {}, limits: {} })
    await driver.remove('box_1')
    await driver.remove('box_1')
    expect(await driver.list()).toEqual([])
    // It was killed, or its box was gone first: which of the two is told is chance.
    const outcome = await exit.then(
      ({ signal }) => signal,
      (error: { code: string }) => error.code,
    )
    expect(['SIGKILL', 'SIGTERM', 'sandbox_gone']).toContain(outcome)
  })

  it('can be started again under the same name', async () => {
    const { driver, spec, programs, read } = await open()
    for (const text of ['one', 'two']) {
      await using box = await startPlanned(driver, 'box_1', spec)
      await ran(box, programs.write('file', text))
      await box.stop()
      expect(read('file')).toBe(text)
    }
  })

  it('answers everything with sandbox_gone when the box has ended', async () => {
    const { driver, spec, programs } = await open()
    await using box = await startPlanned(driver, 'box_1', spec)
    await driver.remove('box_1')
    await expect.poll(() => box.status().catch((error: unknown) => error)).toEqual(code('sandbox_gone'))
    await expect(box.freeze()).rejects.toEqual(code('sandbox_gone'))
    await expect(box.put('a', new Uint8Array(1), 0o400)).rejects.toEqual(code('sandbox_gone'))
    await expect(box.take('a')).rejects.toEqual(code('sandbox_gone'))
    await expect(ran(box, programs.echo('a'))).rejects.toEqual(code('sandbox_gone'))
    await box.stop()
  })
}
