import { expect, it } from 'vitest'
import { code, type OpenSandbox, ran, withSpec, startPlanned } from '../sandbox.ts'

/** Limits are kept by somebody, or refused. */
export function limitsContract(open: OpenSandbox): void {
  it('says who keeps what, before and after the start', async () => {
    const subject = await open()
    const spec = withSpec(subject, {
      limits: { wall_ms: 60_000, open_files: 64 },
      defaults: { open_files: 32, output_mb: 1 },
    })
    const plan = await subject.driver.plan(spec)
    expect(plan.grades).toEqual({ wall_ms: 'supervisor', open_files: 'rlimit', output_mb: 'supervisor' })
    await using box = await subject.driver.start('box_1', plan)
    expect(box.plan).toEqual(plan)
  })

  it('refuses without a tree what no tree could change, and leaves nothing behind', async () => {
    const subject = await open()
    const { driver } = subject
    const { attachment: _, ...spec } = subject.spec
    const trees = { visibility: 'host' as const, idmap: false, owner: subject.owner }
    await driver.check(spec, trees)
    await expect(driver.check({ ...spec, limits: { wall_ms: 0 } }, trees)).rejects.toEqual(code('invalid_input'))
    const brokers = [{ name: 'model', upstream: 'https://api.example.com', headers: {} }]
    await expect(driver.check({ ...spec, brokers }, trees)).rejects.toEqual(code('sandbox_unenforceable'))
    expect(await driver.list()).toEqual([])
  })

  it('throws away what is written beyond the limit, and says so', async () => {
    const subject = await open()
    const { driver, programs } = subject
    await using box = await startPlanned(driver, 'box_1', withSpec(subject, { defaults: { output_mb: 2 } }))
    const whole = await ran(box, programs.flood(3 * 1024 * 1024))
    expect(whole.stdout.length).toBe(2 * 1024 * 1024)
    expect(whole.exit).toMatchObject({ code: 0, output_cut: true })
    const less = await ran(box, programs.flood(3 * 1024 * 1024), { limits: { output_mb: 1 } })
    expect(less.stdout.length).toBe(1024 * 1024)
    expect((await ran(box, programs.echo('short'))).exit.output_cut).toBe(false)
  })

  it('keeps the smaller time of the box and of the command', async () => {
    const subject = await open()
    const { driver, programs } = subject
    await using box = await startPlanned(driver, 'box_1', withSpec(subject, { limits: { wall_ms: 100 } }))
    const { exit } = await ran(box, programs.sleep(60_000), { limits: { wall_ms: 50_000 } })
    expect(exit.timed_out).toBe(true)
  })

  it.each([
    { wall_ms: 0 },
    { open_files: -1 },
    { output_mb: 1.5 },
    { memory_mb: Number.NaN },
    { wall_ms: '5' as unknown as number },
  ])('refuses %j, which is no limit', async (limits) => {
    const subject = await open()
    await expect(subject.driver.plan(withSpec(subject, { limits }))).rejects.toEqual(code('invalid_input'))
    expect(await subject.driver.list()).toEqual([])
  })

  it('does not hold one command to what is held for the whole box', async () => {
    const { driver, spec, programs } = await open()
    await using box = await startPlanned(driver, 'box_1', spec)
    for (const limits of [{ processes: 5 }, { cpu_percent: 50 }]) {
      await expect(ran(box, programs.echo('a'), { limits })).rejects.toEqual(code('sandbox_unenforceable'))
    }
  })
}
