import type { Files } from '../../src/ports/files.ts'

/** How many changes a process still makes before it is killed. */
export interface Life {
  left: number
}

/** A part of a process: each call of one of these methods is a step, and after the last one every step fails. */
export function mortal<T extends object>(part: T, life: Life, steps: readonly (keyof T)[]): T {
  return new Proxy(part, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key)
      if (typeof value !== 'function' || !steps.includes(key as keyof T)) return value
      return (...given: unknown[]): unknown => {
        if (life.left <= 0) throw new Error('This process was killed')
        life.left -= 1
        return Reflect.apply(value, target, given)
      }
    },
  })
}

export const mortalFiles = (files: Files, life: Life): Files => ({
  open: (root, options) =>
    mortal(files.open(root, options), life, ['write', 'append', 'mkdir', 'rename', 'copy', 'remove']),
})
