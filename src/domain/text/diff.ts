/** Text has no NUL and is valid UTF-8. */
export function isText(bytes: Uint8Array): boolean {
  if (bytes.includes(0)) return false
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return true
  } catch {
    return false
  }
}

const context = 3

/**
 * The lines that tell how one text becomes another, as `patch` and `git apply` read them below the names; none if they
 * are equal. It is the shortest way as long as the texts differ in few lines; where they differ in thousands, the part
 * that differs is told as replaced.
 */
export function hunksOf(before: string, after: string): string[] {
  const [a, b] = [linesOf(before), linesOf(after)]
  return group(editScript(a, b)).flatMap((hunk) => hunkLines(hunk, a, b))
}

/** With their line ends, so that a missing one at the end is a difference. */
const linesOf = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? []

/** Lines `from`..`to` of the one text stand in the place of `other`.. of the other. */
interface Edit {
  /** First line of the old text that goes, and how many do. */
  readonly at: number
  readonly removed: number
  /** First line of the new text that comes, and how many do. */
  readonly to: number
  readonly added: number
}

function editScript(a: readonly string[], b: readonly string[]): Edit[] {
  let start = 0
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1
  let end = 0
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1
  const [old, now] = [a.slice(start, a.length - end), b.slice(start, b.length - end)]
  if (old.length === 0 && now.length === 0) return []
  const whole: Edit[] = [{ at: 0, removed: old.length, to: 0, added: now.length }]
  const edits = old.length === 0 || now.length === 0 ? whole : (shortest(old, now) ?? whole)
  return edits.map((edit) => ({ ...edit, at: edit.at + start, to: edit.to + start }))
}

/** More differences than this are not worth the memory: it grows with the square. */
const maxSteps = 1500

/** Myers' search: the furthest point on each diagonal for 0, 1, 2 … differences, then back along the way that won. */
function shortest(a: readonly string[], b: readonly string[]): Edit[] | undefined {
  const trace: Int32Array[] = []
  const limit = Math.min(a.length + b.length, maxSteps)
  let reached = new Int32Array(2 * limit + 3)
  const middle = limit + 1
  for (let d = 0; d <= limit; d++) {
    trace.push(reached.slice(middle - d - 1, middle + d + 2))
    const next = reached.slice()
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && at(reached, middle + k - 1) < at(reached, middle + k + 1))
      let x = down ? at(reached, middle + k + 1) : at(reached, middle + k - 1) + 1
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x += 1
      next[middle + k] = x
      if (x >= a.length && x - k >= b.length) return backtrack(trace, a.length, b.length, d)
    }
    reached = next
  }
  return undefined
}

const at = (numbers: Int32Array, index: number): number => numbers[index] ?? 0

function backtrack(trace: readonly Int32Array[], endX: number, endY: number, steps: number): Edit[] {
  const edits: Edit[] = []
  let [x, y] = [endX, endY]
  for (let d = steps; d > 0; d--) {
    const row = trace[d] ?? new Int32Array()
    const furthest = (k: number): number => at(row, d + 1 + k)
    const k = x - y
    const down = k === -d || (k !== d && furthest(k - 1) < furthest(k + 1))
    const from = down ? k + 1 : k - 1
    const [oldX, oldY] = [furthest(from), furthest(from) - from]
    edits.push(down ? { at: oldX, removed: 0, to: oldY, added: 1 } : { at: oldX, removed: 1, to: oldY, added: 0 })
    x = oldX
    y = oldY
  }
  return join(edits.toReversed())
}

/** Steps that follow each other are one edit. */
function join(steps: readonly Edit[]): Edit[] {
  const edits: Edit[] = []
  for (const step of steps) {
    const last = edits.at(-1)
    if (last && last.at + last.removed === step.at && last.to + last.added === step.to)
      edits[edits.length - 1] = { ...last, removed: last.removed + step.removed, added: last.added + step.added }
    else edits.push(step)
  }
  return edits
}

/** Edits whose surroundings touch share a hunk. */
function group(edits: readonly Edit[]): Edit[][] {
  const hunks: Edit[][] = []
  for (const edit of edits) {
    const last = hunks.at(-1)?.at(-1)
    if (last && edit.at - (last.at + last.removed) <= 2 * context) hunks.at(-1)?.push(edit)
    else hunks.push([edit])
  }
  return hunks
}

function hunkLines(hunk: readonly Edit[], a: readonly string[], b: readonly string[]): string[] {
  const [first, last] = [hunk[0], hunk.at(-1)]
  if (!first || !last) return []
  const lead = Math.min(context, first.at)
  const tail = Math.min(context, a.length - last.at - last.removed)
  const start = first.at - lead
  const oldCount = last.at + last.removed + tail - start
  const newStart = first.to - lead
  const newCount = last.to + last.added + tail - newStart
  const lines = [`@@ -${range(start, oldCount)} +${range(newStart, newCount)} @@`]
  let from = start
  for (const { at: place, removed, to, added } of hunk) {
    lines.push(...marked(' ', a.slice(from, place)))
    lines.push(...marked('-', a.slice(place, place + removed)), ...marked('+', b.slice(to, to + added)))
    from = place + removed
  }
  return [...lines, ...marked(' ', a.slice(from, from + tail))]
}

/** Counted from 1; an empty one is told by the line before it. */
const range = (start: number, count: number): string => {
  const line = count === 0 ? start : start + 1
  return count === 1 ? `${line}` : `${line},${count}`
}

const marked = (mark: string, lines: readonly string[]): string[] =>
  lines.flatMap((line) =>
    line.endsWith('\n') ? [mark + line.slice(0, -1)] : [mark + line, '\\ No newline at end of file'],
  )
