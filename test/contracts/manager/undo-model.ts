/** What can be done to the only file of a workspace; restores are of its first snapshot. */
export const steps = ['change', 'snapshot', 'undo', 'undo', 'redo', 'restore', 'restore paths'] as const
export type Step = (typeof steps)[number]

/** A tree of contents and a finger on one of them; what was undone lies on a pile, what restores replaced on another. */
export function modelHistory() {
  interface Point {
    readonly content: string
    readonly parent: Point | undefined
  }
  let counter = 0
  let begun: Point | undefined
  let head: Point | undefined
  let now = ''
  let pile: Point[] = []
  let replaced: { readonly point: Point; readonly paths: boolean }[] = []
  const isDirty = (): boolean => head?.content !== now
  const here = (): Point => (head === undefined || isDirty() ? { content: now, parent: head } : head)
  const goTo = (goal: Point): void => {
    head = goal
    now = goal.content
  }
  const restore = (paths: boolean): string => {
    if (begun === undefined) return 'snapshot_not_found'
    if (paths && begun.content === '' && now === '') return 'file_not_found'
    const was = here()
    if (was !== begun) replaced = [{ point: was, paths }, ...replaced]
    if (paths) now = begun.content
    else goTo(begun)
    pile = []
    return 'ok'
  }
  const actions: Record<Step, () => string> = {
    change() {
      now = `${++counter}`
      return 'ok'
    },
    snapshot() {
      head = { content: now, parent: head }
      begun ??= head
      pile = []
      replaced = []
      return 'ok'
    },
    restore: () => restore(false),
    'restore paths': () => restore(true),
    undo() {
      const [last, ...earlier] = replaced
      const isRestore = last !== undefined && (last.paths || !isDirty())
      const goal = isRestore ? last.point : isDirty() ? head : head?.parent
      if (goal === undefined) return 'nothing_to_undo'
      pile = [here(), ...pile]
      if (isRestore) replaced = earlier
      goTo(goal)
      return 'ok'
    },
    redo() {
      const [next, ...rest] = pile
      if (next === undefined || isDirty()) return 'nothing_to_redo'
      if (here() !== next) replaced = [{ point: here(), paths: false }, ...replaced]
      goTo(next)
      pile = rest
      return 'ok'
    },
  }
  return { take: (step: Step): string => actions[step](), content: () => now }
}
