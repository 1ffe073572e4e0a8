/** Waits for all of them, then tells the first failure: none goes on while the others are undone. */
export async function settleAll<T>(first: Promise<T>, ...others: (Promise<unknown> | undefined)[]): Promise<T> {
  for (const result of await Promise.allSettled([first, ...others]))
    if (result.status === 'rejected') throw result.reason
  return first
}
