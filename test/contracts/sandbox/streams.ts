import { expect, it } from 'vitest'
import type { CommandInput } from '../../../src/ports/sandbox-driver.ts'
import { type OpenSandbox, ran, startPlanned } from '../sandbox.ts'

const mebibyte = 1024 * 1024

async function* given(...parts: (string | Uint8Array)[]): AsyncGenerator<CommandInput> {
  for (const part of parts) yield { kind: 'data', data: typeof part === 'string' ? Buffer.from(part) : part }
}

const never: AsyncIterable<CommandInput> = {
  [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => undefined) }),
}

/** Input, output, and many at once. */
export function streamsContract(open: OpenSandbox): void {
  it('reads what it is given to the end; nothing if it is given nothing', async () => {
    const { driver, spec, programs } = await open()
    await using box = await startPlanned(driver, 'box_1', spec)
    expect(await ran(box, programs.cat())).toMatchObject({ stdout: '', exit: { code: 0 } })
    expect((await ran(box, programs.cat(), { input: given('one ', 'two') })).stdout).toBe('one two')
    async function* ending(): AsyncGenerator<CommandInput> {
      yield { kind: 'data', data: Buffer.from('before') }
      yield { kind: 'end' }
      yield { kind: 'data', data: Buffer.from('after') }
    }
    expect((await ran(box, programs.cat(), { input: ending() })).stdout).toBe('before')
  })

  it('passes on large input and output unchanged', async () => {
    const { driver, spec, programs } = await open()
    await using box = await startPlanned(driver, 'box_1', spec)
    const large = Buffer.alloc(5 * mebibyte, 'the quick brown fox ')
    const { stdout } = await ran(box, programs.cat(), { input: given(large) })
    expect(stdout.length).toBe(large.length)
    expect(Buffer.from(stdout, 'latin1').equals(large)).toBe(true)
  })

  it('ends though its caller has more to give', async () => {
    const { driver, spec, programs } = await open()
    await using box = await startPlanned(driver, 'box_1', spec)
    expect((await ran(box, programs.exit(3), { input: never })).exit.code).toBe(3)
  })

  it('lets one that is not read wait, and the others go on', async () => {
    const { driver, spec, programs } = await open()
    await using box = await startPlanned(driver, 'box_1', spec)
    const command = { cwd: '.', env: {}, limits: {} }
    const slow = box.exec({ ...command, argv: programs.flood(20 * mebibyte) })
    let ended = false
    void slow.exit.then(() => (ended = true))
    for (let turn = 0; turn < 10; turn++) {
      expect((await ran(box, programs.echo(`turn ${turn}`))).stdout).toBe(`turn ${turn}\n`)
    }
    expect(ended).toBe(false)
    let bytes = 0
    for await (const { data } of slow.output) bytes += data.length
    expect(bytes).toBe(20 * mebibyte)
    expect(await slow.exit).toMatchObject({ code: 0 })
  })

  it('comes to its end when its reader stops in the middle', async () => {
    const { driver, spec, programs } = await open()
    await using box = await startPlanned(driver, 'box_1', spec)
    const { output, exit } = box.exec({ argv: programs.flood(8 * mebibyte), cwd: '.', env: {}, limits: {} })
    for await (const { data } of output) if (data.length > 0) break
    expect(await exit).toMatchObject({ code: 0 })
  })

  it('runs many at once, and mixes nothing up', async () => {
    const { driver, spec, programs } = await open()
    await using box = await startPlanned(driver, 'box_1', spec)
    const all = await Promise.all(Array.from({ length: 20 }, (_, n) => ran(box, programs.echo(`number ${n}`))))
    expect(all.map(({ stdout }) => stdout)).toEqual(all.map((_, n) => `number ${n}\n`))
  })
}
