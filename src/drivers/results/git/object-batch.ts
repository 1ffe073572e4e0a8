import type { StagingRepository } from './staging-repository.ts'

/** Objects of a desk, as many as there are, with a few processes of git. */

export interface FoundObject {
  readonly id: string
  readonly kind: string
  readonly size: number
}

/** What each name means, as `ID`, `ID^{tree}` or `ID:path`; undefined for what is not there. */
export async function lookUp(
  { ask }: StagingRepository,
  names: readonly string[],
): Promise<(FoundObject | undefined)[]> {
  if (names.length === 0) return []
  const format = '--batch-check=%(objectname) %(objecttype) %(objectsize)'
  const lines = (await ask(['cat-file', format], { input: lined(names) })).split('\n')
  return names.map((_, index) => {
    const [, id, kind, size] = /^([0-9a-f]+) (\w+) (\d+)$/.exec(lines[index] ?? '') ?? []
    return id === undefined || kind === undefined ? undefined : { id, kind, size: Number(size) }
  })
}

/** Each with its bytes. */
export async function* contentsOf<T extends FoundObject>(
  { ask }: StagingRepository,
  found: readonly T[],
): AsyncGenerator<readonly [T, Buffer]> {
  for (const some of inBatches(found)) {
    const output = Buffer.from(await ask(['cat-file', '--batch'], { input: lined(some.map(({ id }) => id)) }), 'latin1')
    let at = 0
    for (const one of some) {
      const from = output.indexOf('\n', at) + 1
      yield [one, output.subarray(from, from + one.size)]
      at = from + one.size + 1
    }
  }
}

/** Some MB at a time, however many there are. */
function* inBatches<T extends FoundObject>(found: readonly T[]): Generator<T[]> {
  let [some, bytes]: [T[], number] = [[], 0]
  for (const one of found) {
    if (bytes + one.size > maxBytes && some.length > 0) {
      yield some
      ;[some, bytes] = [[], 0]
    }
    some.push(one)
    bytes += one.size
  }
  if (some.length > 0) yield some
}

const maxBytes = 32 * 1024 * 1024

const lined = (names: readonly string[]): string => names.map((name) => `${name}\n`).join('')
