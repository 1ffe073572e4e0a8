import { expect, it } from 'vitest'
import type { CommandInput } from '../../../src/ports/sandbox-driver.ts'
import { code, type OpenSandbox, ran, startPlanned } from '../sandbox.ts'

const nextTurns = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** How commands are ended and held. */
export function endsContract(open: OpenSandbox): void {
  it('is ended by its signal', async () => {
    const { driver, spec, programs } = await open()
    await using box = await startPlanned(driver, 'box_1', spec)
    const controller = new AbortController()
    const { exit } = box.exec({
      argv: programs.sleep(60_000),
      cwd: '.',
      env: {},
      limits: {},
      signal: controller.signal,
    })
    await expect.poll(() => box.status()).toMatchObject({ commands: 1 })
    controller.abort()
    expect(await exit).toMatchObject({ code: null, signal: 'SIGKILL', timed_out: false })
    const early = ran(box, programs.echo('never'), { signal: controller.signal })
    await expect(early).rejects.toEqual(code('aborted'))
  })

  it('is ended when its time is over, and only it', async () => {
    const { driver, spec, programs } = await open()
    await using box = await startPlanned(driver, 'box_1', spec)
    const { exit } = await ran(box, programs.sleep(60_000), { limits: { wall_ms: 100 } })
    expect(exit).toMatchObject({ code: null, signal: 'SIGKILL', timed_out: true })
    expect((await ran(box, programs.echo('next'))).stdout).toBe('next\n')
  })

  it('stands still while it is frozen', async () => {
    const { driver, spec, programs } = await open()
    await using box = await startPlanned(driver, 'box_1', spec)
    let ended = false
    const inputs = Promise.withResolvers<void>()
    async function* input(): AsyncGenerator<CommandInput> {
      await inputs.promise
      yield { kind: 'data', data: Buffer.from('read') }
    }
    const { output, exit } = box.exec({ argv: programs.cat(), cwd: '.', env: {}, limits: {}, input: input() })
    void exit.then(() => (ended = true))
    await expect.poll(() => box.status()).toMatchObject({ commands: 1 })
    await box.freeze()
    inputs.resolve()
    await nextTurns(500)
    expect(ended).toBe(false)
    await box.thaw()
    for await (const { data } of output) expect(Buffer.from(data).toString()).toBe('read')
    expect(await exit).toMatchObject({ code: 0 })
  })

  it('goes on when whoever froze it is gone', async () => {
    const { driver, spec, programs } = await open()
    await using box = await startPlanned(driver, 'box_1', spec)
    const { exit } = box.exec({ argv: programs.sleep(100), cwd: '.', env: {}, limits: {} })
    const other = await driver.find('box_1')
    await other?.freeze()
    await other?.[Symbol.asyncDispose]()
    expect(await exit).toMatchObject({ code: 0 })
  })
}
