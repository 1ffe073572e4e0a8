import { describe, expect, it } from 'vitest'
import { examinedCalls, refusedCalls, sharedCalls, steeringCalls } from './seccomp-numbers.ts'
import { allSockets, seccompFilter } from './seccomp.ts'

/** What the kernel would say, by running the program as the kernel does: for processors that the test is not run on. */
function verdict(program: Buffer, call: { arch: number; number: number; arguments?: readonly number[] }): string {
  const data = Buffer.alloc(64)
  data.writeUInt32LE(call.number >>> 0, 0)
  data.writeUInt32LE(call.arch >>> 0, 4)
  for (const [index, value] of (call.arguments ?? []).entries()) data.writeBigUInt64LE(BigInt(value), 16 + 8 * index)
  let register = 0
  for (let at = 0; at < program.length / 8; at++) {
    const [code, yes, no] = [program.readUInt16LE(at * 8), program[at * 8 + 2] ?? 0, program[at * 8 + 3] ?? 0]
    const value = program.readUInt32LE(at * 8 + 4)
    const jump = (holds: boolean): void => void (at += holds ? yes : no)
    if (code === 0x20) register = data.readUInt32LE(value)
    else if (code === 0x54) register = (register & value) >>> 0
    else if (code === 0x15) jump(register === value)
    else if (code === 0x25) jump(register > value)
    else if (code === 0x45) jump((register & value) !== 0)
    else if (code === 0x06) return answers.get(value) ?? `0x${value.toString(16)}`
    else throw new Error(`instruction ${code}`)
  }
  throw new Error('the program has no end')
}

const answers = new Map([
  [0x7fff_0000, 'allow'],
  [0x8000_0000, 'kill'],
  [0x0005_0001, 'EPERM'],
  [0x0005_0026, 'ENOSYS'],
  [0x0005_0061, 'EAFNOSUPPORT'],
])

const machines = [
  { arch: 'x64', audit: 0xc000003e, foreign: 0xc00000b7, read: 0, openat: 257 },
  { arch: 'arm64', audit: 0xc00000b7, foreign: 0x40000028, read: 63, openat: 56 },
] as const

describe.each(machines)('the filter of system calls on $arch', ({ arch, audit, foreign, read, openat }) => {
  const program = seccompFilter({ arch, sockets: allSockets })
  const calls = examinedCalls[arch]
  const ask = (number: number, ...given: number[]): string =>
    verdict(program, { arch: audit, number, arguments: given })

  it('lets ordinary calls pass', () => {
    expect([read, openat, calls.clone, calls.unshare].map((number) => ask(number, 0x11))).toEqual(
      Array(4).fill('allow'),
    )
  })

  it.each(Object.entries(refusedCalls[arch]))('refuses %s', (_, number) => {
    expect(ask(number)).toBe('EPERM')
  })

  it('ends what calls by the numbers of another processor, and knows no calls of later kernels or of x32', () => {
    expect(verdict(program, { arch: foreign, number: read })).toBe('kill')
    expect([470, 1000, 0x4000_0000, 0x4000_0000 + read, 0xffff_ffff].map((number) => ask(number))).toEqual(
      Array(5).fill('ENOSYS'),
    )
    expect(ask(calls.clone3)).toBe('ENOSYS')
  })

  it.each([0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000])(
    'makes no namespace %i',
    (flag) => {
      expect(ask(calls.clone, flag | 17)).toBe('EPERM')
      expect(ask(calls.unshare, flag)).toBe('EPERM')
    },
  )

  it('tells apart what a call is asked for', () => {
    expect(ask(calls.unshare, 0x80)).toBe('EPERM')
    expect(ask(calls.unshare, 0x400)).toBe('allow')
    expect([0x5412, 0x541c, 0x1_0000_5412].map((request) => ask(calls.ioctl, 0, request))).toEqual(
      Array(3).fill('EPERM'),
    )
    expect(ask(calls.ioctl, 0, 0x5401)).toBe('allow')
    expect([0, 0xffff_ffff, 0x0040000].map((value) => ask(calls.personality, value))).toEqual([
      'allow',
      'allow',
      'EPERM',
    ])
  })

  it('makes sockets of the families that it was given, and no others', () => {
    const seen = (sockets: Parameters<typeof seccompFilter>[0]['sockets']): string[] => {
      const filter = seccompFilter({ arch, sockets })
      return [1, 2, 10, 16, 17, 38, 40, 44].map((family) =>
        verdict(filter, { arch: audit, number: calls.socket, arguments: [family] }),
      )
    }
    const no = 'EAFNOSUPPORT'
    expect(seen(allSockets)).toEqual(['allow', 'allow', 'allow', 'allow', no, no, no, no])
    expect(seen(['unix'])).toEqual(['allow', no, no, no, no, no, no, no])
    expect(seen([])).toEqual(Array(8).fill(no))
    // Of netlink only the questions about interfaces and routes (protocol 0).
    const filter = seccompFilter({ arch, sockets: allSockets })
    const protocols = [0, 9, 12, 15, 16].map((protocol) =>
      verdict(filter, { arch: audit, number: calls.socket, arguments: [16, 3, protocol] }),
    )
    expect(protocols).toEqual(['allow', no, no, no, no])
  })

  it('makes pairs of datagrams only where sockets with a path can be reached anyway', () => {
    const pairs = (sockets: Parameters<typeof seccompFilter>[0]['sockets']): string[] =>
      [1, 0x80801, 2, 0x80002, 5].map((type) =>
        verdict(seccompFilter({ arch, sockets }), { arch: audit, number: calls.socketpair, arguments: [1, type] }),
      )
    expect(pairs(allSockets)).toEqual(Array(5).fill('allow'))
    const no = 'EAFNOSUPPORT'
    expect(pairs(['inet', 'inet6'])).toEqual(['allow', 'allow', no, no, no])
    expect(pairs([])).toEqual(['allow', 'allow', no, no, no])
  })

  it('sets limits of nobody else', () => {
    expect([0, 1, 4711].map((pid) => ask(calls.prlimit64, pid))).toEqual(['allow', 'EPERM', 'EPERM'])
  })

  describe('among other processes of the same user', () => {
    const crowded = seccompFilter({ arch, sockets: [], amongOthers: true })
    const both = (number: number, ...given: number[]): string[] =>
      [program, crowded].map((filter) => verdict(filter, { arch: audit, number, arguments: given }))

    it.each(Object.entries(sharedCalls[arch]))('refuses %s', (_, number) => {
      expect(both(number)).toEqual(['allow', 'EPERM'])
    })

    it.each(Object.entries(steeringCalls[arch]))('has %s for itself alone', (_, number) => {
      expect(both(number, 0)).toEqual(['allow', 'allow'])
      expect(both(number, 4711)).toEqual(['allow', 'EPERM'])
    })

    it('changes its own priority, and that of no group, no user and no other process', () => {
      expect(both(calls.setpriority, 0, 0)).toEqual(['allow', 'allow'])
      expect([both(calls.setpriority, 0, 4711), both(calls.setpriority, 2, 0)]).toEqual([
        ['allow', 'EPERM'],
        ['allow', 'EPERM'],
      ])
      expect(both(calls.ioprio_set, 1, 0)).toEqual(['allow', 'allow'])
      expect([both(calls.ioprio_set, 1, 4711), both(calls.ioprio_set, 3, 0)]).toEqual([
        ['allow', 'EPERM'],
        ['allow', 'EPERM'],
      ])
    })
  })
})

it('is not guessed for other processors', () => {
  expect(() => seccompFilter({ arch: 'riscv64', sockets: [] })).toThrow(
    expect.objectContaining({ code: 'sandbox_unenforceable' }),
  )
})
