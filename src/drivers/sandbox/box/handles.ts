import { closeSync, openSync } from 'node:fs'

/** The supervisor finds its directory at 3; what the spec names comes after it. */
const first = 4

/** Open files that a supervisor gets, and under which number it will know each. They are closed here at the end. */
export interface Handles extends Disposable {
  readonly descriptors: readonly number[]
  /** Takes over a descriptor; answers its number in the supervisor. */
  add(descriptor: number): number
  /** The same with a file that is opened for reading. */
  open(path: string, flags?: number | string): number
}

export function handles(): Handles {
  const descriptors: number[] = []
  const add = (descriptor: number): number => first + descriptors.push(descriptor) - 1
  return {
    descriptors,
    add,
    open: (path, flags = 'r') => add(openSync(path, flags)),
    [Symbol.dispose]: () => {
      for (const descriptor of descriptors.splice(0)) closeSync(descriptor)
    },
  }
}
