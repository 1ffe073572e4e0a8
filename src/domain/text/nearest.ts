/**
 * The known word closest to a misspelt one, if it is close enough to be meant.
 * @param affordable how many edits away it may be; a third of its letters
 */
export function nearest(
  word: string,
  known: readonly string[],
  affordable = Math.max(1, Math.floor(word.length / 3)),
): string | undefined {
  const ranked = known
    // A word that is so much longer or shorter is far away, and may be far too long to be compared.
    .filter((candidate) => Math.abs(candidate.length - word.length) <= affordable)
    .map((candidate) => ({ candidate, cost: distance(word.toLowerCase(), candidate.toLowerCase()) }))
    .toSorted((a, b) => a.cost - b.cost)
  const best = ranked[0]
  return best !== undefined && best.cost <= affordable ? best.candidate : undefined
}

/** Edits (insert, delete, replace, swap neighbours) that turn one word into the other. */
function distance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, j) => j)]
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1
      let cost = Math.min(at(rows, i - 1, j) + 1, (row[j - 1] ?? 0) + 1, at(rows, i - 1, j - 1) + same)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, at(rows, i - 2, j - 2) + 1)
      row.push(cost)
    }
    rows.push(row)
  }
  return at(rows, a.length, b.length)
}

const at = (rows: readonly number[][], i: number, j: number): number => rows[i]?.[j] ?? 0
