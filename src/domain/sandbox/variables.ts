import { createHash } from 'node:crypto'

interface Named {
  readonly task: string
  readonly agent: string
}

/** What a command knows of where it is, whatever it was told besides. */
export function workspaceVariables(workspace: Named, slot: number, ports: { first: number; count: number }) {
  return {
    AW_WORKSPACE: `${workspace.task}/${workspace.agent}`,
    AW_TASK: workspace.task,
    AW_AGENT: workspace.agent,
    AW_SLUG: slugOf(workspace),
    AW_PORT_BASE: String(portBase(slot, ports)),
  }
}

/** The first port of its block. */
export const portBase = (slot: number, { first, count }: { first: number; count: number }): number =>
  first + slot * count

/** How many blocks there are before the ports that the kernel gives out by itself (32768 and up). */
export const slotCount = ({ first, count }: { first: number; count: number }): number =>
  count === 0 ? 0 : Math.max(0, Math.floor((32_768 - first) / count))

/** A name for what must be a host name: small letters, digits and dashes, 63 at the most; two names never share one. */
export function slugOf({ task, agent }: Named): string {
  const name = `${task}/${agent}`
  const plain = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
  const isExact = plain === `${task}-${agent}` && !task.includes('-') && plain.length <= 63
  if (isExact) return plain
  const mark = createHash('sha256').update(name).digest('hex').slice(0, 8)
  return `${plain.slice(0, 54).replaceAll(/-+$/g, '')}-${mark}`.replace(/^-/, '')
}
