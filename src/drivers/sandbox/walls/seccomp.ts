import { AwError } from '../../../domain/errors.ts'
import { examinedCalls, lastCall, refusedCalls, sharedCalls, steeringCalls } from './seccomp-numbers.ts'

/**
 * The filter of system calls for a box, as a program in the kernel's classic BPF. Called by another processor's numbers
 * it ends the process; a call that is newer than this list, and clone3, whose flags a filter cannot see, do not exist
 * (ENOSYS: libraries then do without); what is refused is refused with EPERM.
 */
export interface FilterOptions {
  readonly arch?: string | undefined
  /** Which families of sockets can be made: of the others it is as if the machine did not have them. */
  readonly sockets: readonly SocketFamily[]
  /**
   * There is no namespace between it and other processes of the same user: what reaches them, and what they all have in
   * common, is refused here.
   */
  readonly amongOthers?: boolean | undefined
}

/** `route`: to ask the kernel which interfaces there are; Node throws where it cannot. */
export type SocketFamily = 'unix' | 'inet' | 'inet6' | 'route'

export const allSockets: readonly SocketFamily[] = ['unix', 'inet', 'inet6', 'route']

export function seccompFilter({ arch = process.arch, sockets, amongOthers = false }: FilterOptions): Buffer {
  if (arch !== 'x64' && arch !== 'arm64') {
    throw new AwError('sandbox_unenforceable', `The filter of system calls is not known for the processor ${arch}`, {
      hint: 'Use an x64 or arm64 machine',
      data: { arch },
    })
  }
  const calls = examinedCalls[arch]
  const refused = [...Object.values(refusedCalls[arch]), ...(amongOthers ? Object.values(sharedCalls[arch]) : [])]
  return assemble([
    load(field.arch),
    ...unlessEqual(auditArch[arch], [finish(killProcess)]),
    load(field.number),
    ...ifAbove(lastCall, [finish(failWith(errno.ENOSYS))]),
    ...refused.flatMap((number) => ifEqual(number, [refuse])),
    ...ifEqual(calls.clone3, [finish(failWith(errno.ENOSYS))]),
    ...ifEqual(calls.clone, [load(argument(0)), ...ifAny(newNamespaces, [refuse]), finish(allow)]),
    ...ifEqual(calls.unshare, [load(argument(0)), ...ifAny(newNamespaces | newTimeNamespace, [refuse]), finish(allow)]),
    ...ifEqual(calls.ioctl, [
      load(argument(1)),
      ...[TIOCSTI, TIOCLINUX].flatMap((number) => ifEqual(number, [refuse])),
      finish(allow),
    ]),
    ...ifEqual(calls.personality, [
      load(argument(0)),
      ...[plainLinux, onlyAsking].flatMap((value) => ifEqual(value, [finish(allow)])),
      refuse,
    ]),
    ...ifEqual(calls.socket, [
      load(argument(0)),
      ...sockets.flatMap((name) => (name === 'route' ? onlyRoutes : ifEqual(families[name], [finish(allow)]))),
      finish(failWith(errno.EAFNOSUPPORT)),
    ]),
    // One end of a pair of datagrams can be sent to any socket that has a path; a pair of streams is for its ends alone.
    ...(sockets.includes('unix') ? [] : ifEqual(calls.socketpair, [load(argument(1)), ...onlyStreams])),
    // The limits of another process are its own affair, and those of the first process of a box not its commands'.
    ...ifEqual(calls.prlimit64, [load(argument(0)), ...onlyItself]),
    ...(amongOthers ? alone(arch) : []),
    finish(allow),
  ])
}

/** How it runs itself is its own affair: process 0 is whoever calls. */
function alone(arch: 'x64' | 'arm64'): Instruction[] {
  const calls = examinedCalls[arch]
  return [
    ...Object.values(steeringCalls[arch]).flatMap((number) => ifEqual(number, [load(argument(0)), ...onlyItself])),
    // Of groups and users as a whole not even of its own: others belong to them.
    ...[[calls.setpriority, 0] as const, [calls.ioprio_set, 1] as const].flatMap(([number, ofProcess]) =>
      ifEqual(number, [load(argument(0)), ...unlessEqual(ofProcess, [refuse]), load(argument(1)), ...onlyItself]),
    ),
  ]
}

// -- what it knows of the kernel -------------------------------------------------------------------------------------

const auditArch = { x64: 0xc000003e, arm64: 0xc00000b7 }
const errno = { EPERM: 1, ENOSYS: 38, EAFNOSUPPORT: 97 }
const families: Readonly<Record<Exclude<SocketFamily, 'route'>, number>> = { unix: 1, inet: 2, inet6: 10 }
const netlink = 16
/** Of the protocols of netlink. Whoever has no capability can only ask. */
const NETLINK_ROUTE = 0
/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. */
const newNamespaces = 0x7e02_0000
/** Only in unshare: in clone the same bit is part of a signal's number. */
const newTimeNamespace = 0x80
/** They put characters into a terminal as if they were typed, into one outside the box too. */
const TIOCSTI = 0x5412
const TIOCLINUX = 0x541c
/** Beside the type there are flags. */
const socketTypes = 0xf
const stream = 1
const plainLinux = 0
const onlyAsking = 0xffff_ffff

/** Offsets in `struct seccomp_data`. */
const field = { number: 0, arch: 4 }
/** The lower half: the kernel, too, looks at no more of what is examined here. Both processors are little endian. */
const argument = (index: number): number => 16 + 8 * index

// -- a small assembler -----------------------------------------------------------------------------------------------

interface Instruction {
  readonly code: number
  readonly value: number
  /** How many of the next instructions are left out, if the comparison holds and if it does not. */
  readonly yes?: number
  readonly no?: number
}

const allow = 0x7fff_0000
const killProcess = 0x8000_0000
const failWith = (number: number): number => 0x0005_0000 | number

const load = (offset: number): Instruction => ({ code: 0x20, value: offset })
const maskedWith = (bits: number): Instruction => ({ code: 0x54, value: bits })
const finish = (verdict: number): Instruction => ({ code: 0x06, value: verdict })
const refuse = finish(failWith(errno.EPERM))

/** Each of these does `then` if the comparison holds, and goes on behind it if not. */
const ifEqual = (value: number, then: readonly Instruction[]): Instruction[] => [
  { code: 0x15, value, no: then.length },
  ...then,
]
const unlessEqual = (value: number, then: readonly Instruction[]): Instruction[] => [
  { code: 0x15, value, yes: then.length },
  ...then,
]
const ifAbove = (value: number, then: readonly Instruction[]): Instruction[] => [
  { code: 0x25, value, no: then.length },
  ...then,
]
const ifAny = (bits: number, then: readonly Instruction[]): Instruction[] => [
  { code: 0x45, value: bits, no: then.length },
  ...then,
]

const onlyItself = [...ifEqual(0, [finish(allow)]), refuse]
const onlyStreams = [maskedWith(socketTypes), ...ifEqual(stream, [finish(allow)]), finish(failWith(errno.EAFNOSUPPORT))]

/** The family is loaded. */
const onlyRoutes = ifEqual(netlink, [
  load(argument(2)),
  ...ifEqual(NETLINK_ROUTE, [finish(allow)]),
  finish(failWith(errno.EAFNOSUPPORT)),
])

function assemble(program: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * 8)
  for (const [index, { code, value, yes = 0, no = 0 }] of program.entries()) {
    bytes.writeUInt16LE(code, index * 8)
    bytes.writeUInt8(yes, index * 8 + 2)
    bytes.writeUInt8(no, index * 8 + 3)
    bytes.writeUInt32LE(value >>> 0, index * 8 + 4)
  }
  return bytes
}
