import { expect, it } from 'vitest'
import { code, type OpenSandbox, ran, startPlanned } from '../sandbox.ts'

/** What a command gets and gives. */
export function commandsContract(open: OpenSandbox): void {
  it('tells what a command wrote, apart, and how it ended', async () => {
    const { driver, spec, programs } = await open()
    await using box = await startPlanned(driver, 'box_1', spec)
    expect(await ran(box, programs.echo('out'))).toMatchObject({ stdout: 'out\n', stderr: '', exit: { code: 0 } })
    expect(await ran(box, programs.complain('err'))).toMatchObject({ stdout: '', stderr: 'err\n' })
    const { exit } = await ran(box, programs.exit(7))
    expect(exit).toMatchObject({ code: 7, signal: null, timed_out: false, output_cut: false })
    expect(exit.duration_ms).toBeGreaterThanOrEqual(0)
    expect(exit.cpu_ms).toBeGreaterThanOrEqual(0)
  })

  it('works in the tree, and what it writes is there', async () => {
    const { driver, spec, programs, write, read } = await open()
    write('given', 'from outside')
    await using box = await startPlanned(driver, 'box_1', spec)
    expect((await ran(box, programs.cat('given'))).stdout).toBe('from outside')
    await ran(box, programs.write('made', 'from inside'))
    expect(read('made')).toBe('from inside')
  })

  it('begins where it is told, below the tree', async () => {
    const { driver, spec, programs, write } = await open()
    write('deep/down/file', 'there')
    await using box = await startPlanned(driver, 'box_1', spec)
    const root = (await ran(box, programs.pwd())).stdout.trim()
    const seen = async (cwd: string) => (await ran(box, programs.pwd(), { cwd })).stdout.trim()
    expect(await seen('deep/down')).toBe(`${root}/deep/down`)
    expect(await seen('')).toBe(root)
    expect(await seen(`${root}/deep`)).toBe(`${root}/deep`)
    expect((await ran(box, programs.cat('file'), { cwd: 'deep/down' })).stdout).toBe('there')
  })

  it.each([
    ['..', 'path_traversal_attempt'],
    ['deep/../..', 'path_traversal_attempt'],
    ['/', 'path_outside_workspace'],
    ['/proc/self/cwd', 'path_outside_workspace'],
    ['/proc/self/fd/7', 'path_outside_workspace'],
    ['missing', 'file_not_found'],
    ['deep/file', 'not_a_directory'],
    ['de\0ep', 'invalid_path_null_byte'],
    [7 as unknown as string, 'invalid_path'],
    [['deep'] as unknown as string, 'invalid_path'],
  ] as const)('does not begin at %j: %s', async (cwd, expected) => {
    const { driver, spec, programs, write } = await open()
    write('deep/file', 'there')
    await using box = await startPlanned(driver, 'box_1', spec)
    await expect(ran(box, programs.pwd(), { cwd })).rejects.toEqual(code(expected))
    await expect(box.exec({ argv: programs.pwd(), cwd, env: {}, limits: {} }).exit).rejects.toEqual(code(expected))
  })

  it('has the variables of the box and its own, and none of ours', async () => {
    const subject = await open()
    const { driver, programs } = subject
    process.env['AW_NOT_FOR_BOXES'] = 'secret'
    try {
      await using box = await startPlanned(driver, 'box_1', { ...subject.spec, env: { ONE: 'box', TWO: 'box' } })
      const value = async (name: string, env = {}) => (await ran(box, programs.env(name), { env })).stdout
      expect(await value('ONE')).toBe('box\n')
      expect(await value('TWO', { TWO: 'command with spaces and "quotes"' })).toBe('command with spaces and "quotes"\n')
      expect(await value('AW_NOT_FOR_BOXES')).toBe('')
    } finally {
      delete process.env['AW_NOT_FOR_BOXES']
    }
  })

  it('says so when there is no such program, and nothing for a command that is none', async () => {
    const { driver, spec } = await open()
    await using box = await startPlanned(driver, 'box_1', spec)
    await expect(ran(box, ['there-is-no-such-program'])).rejects.toEqual(code('file_not_found'))
    expect(await box.status()).toMatchObject({ commands: 0 })
  })

  it('reads a file that was put for it, which is not in the tree', async () => {
    const { driver, spec, programs, read } = await open()
    await using box = await startPlanned(driver, 'box_1', spec)
    const path = await box.put('key', Buffer.from('secret'), 0o400)
    expect((await ran(box, programs.cat(path))).stdout).toBe('secret')
    expect(await box.put('key', Buffer.from('another'), 0o400)).toBe(path)
    expect((await ran(box, programs.cat(path))).stdout).toBe('another')
    expect(read('key')).toBeUndefined()
    await expect(box.put('../key', Buffer.from('a'), 0o400)).rejects.toEqual(code('invalid_name'))
  })

  it('does not find a file that was taken away again, until it is put again', async () => {
    const { driver, spec, programs } = await open()
    await using box = await startPlanned(driver, 'box_1', spec)
    const [path, other] = [
      await box.put('key', Buffer.from('secret'), 0o400),
      await box.put('other', Buffer.from('stays'), 0o400),
    ]
    for (let time = 0; time < 2; time++) await box.take('key')
    const { stdout, stderr } = await ran(box, programs.cat(path))
    expect([stdout, stderr]).toEqual(['', expect.stringContaining('No such file')])
    expect((await ran(box, programs.cat(other))).stdout).toBe('stays')
    await box.put('key', Buffer.from('again'), 0o400)
    expect((await ran(box, programs.cat(path))).stdout).toBe('again')
    await expect(box.take('../key')).rejects.toEqual(code('invalid_name'))
  })

  it('counts what runs', async () => {
    const { driver, spec, programs } = await open()
    await using box = await startPlanned(driver, 'box_1', spec)
    const signal = new AbortController()
    const { exit } = box.exec({
      argv: programs.sleep(60_000),
      cwd: '.',
      env: {},
      limits: {},
      signal: signal.signal,
    })
    await expect.poll(() => box.status()).toMatchObject({ commands: 1 })
    expect((await box.status()).processes).toBeGreaterThanOrEqual(1)
    signal.abort()
    await exit
    await expect.poll(() => box.status()).toEqual({ commands: 0, processes: 0 })
  })
}
