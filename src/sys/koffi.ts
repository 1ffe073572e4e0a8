import { createRequire } from 'node:module'
import type { Argument, Calls, Processor } from './calls.ts'

type Koffi = Pick<typeof import('koffi'), 'load' | 'errno'>

interface Call {
  (...values: unknown[]): number | bigint
  async(...valuesThenDone: unknown[]): void
}

/**
 * System calls through the C library, by the optional package koffi; throws where it is missing. The number of an error
 * stays on the thread that has met it: so a later call that failed is made again at once, to be told why. Those that are
 * made later may be repeated.
 */
export function koffiCalls(processor: Processor): Calls {
  const koffi = loadKoffi(processor)
  const library = koffi.load(null)
  const calls = new Map<string, Call>()
  /** One binding of the variadic `syscall` for each shape of arguments. */
  const shaped = (values: readonly Argument[]): Call => {
    if (values.length > 6) throw invalid('ERR_INVALID_ARG_VALUE', 'A system call has at most six arguments')
    const shape = values.map((value) => `, ${typeOf(value)}`).join('')
    let call = calls.get(shape)
    if (call === undefined) calls.set(shape, (call = library.func(`long syscall(long number${shape})`) as Call))
    return call
  }
  const callNow: Calls['call'] = (number, ...values) => {
    const result = Number(shaped(values)(number, ...values))
    return result === -1 ? -koffi.errno() : result
  }
  return {
    call: callNow,
    callLater(number, ...values) {
      const call = shaped(values)
      return new Promise((resolve) => {
        call.async(number, ...values, (failure: unknown, result: number | bigint) =>
          resolve(failure === null && result >= 0 ? Number(result) : callNow(number, ...values)),
        )
      })
    },
  }
}

function typeOf(value: Argument): string {
  if (typeof value === 'number' || typeof value === 'bigint') {
    const fits = typeof value === 'number' ? Number.isSafeInteger(value) : value >= -(2n ** 63n) && value < 2n ** 64n
    if (!fits) throw invalid('ERR_OUT_OF_RANGE', 'A number for a system call is no integer of its size')
    return value < 0 ? 'int64_t' : 'uint64_t'
  }
  if (typeof value === 'string') {
    if (value.includes('\0')) throw invalid('ERR_INVALID_ARG_VALUE', 'A text for a system call contains a NUL byte')
    return 'const char *'
  }
  if (value === null || ArrayBuffer.isView(value)) return 'void *'
  throw invalid('ERR_INVALID_ARG_TYPE', 'A system call takes numbers, texts, bytes and null')
}

const invalid = (code: string, message: string): TypeError => Object.assign(new TypeError(message), { code })

/**
 * The package's own start takes 10 ms to find out which of its binaries is the right one; the one that is for most
 * machines takes 2, and does not load where it is wrong.
 */
function loadKoffi(processor: Processor): Koffi {
  const here = createRequire(import.meta.url)
  const beside = createRequire(here.resolve('koffi'))
  try {
    return beside(`@koromix/koffi-linux-${processor}/linux_${processor}/koffi.node`) as Koffi
  } catch {
    return here('koffi') as Koffi
  }
}
