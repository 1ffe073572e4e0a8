import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Manager } from '../../src/ports/manager.ts'

interface Facts {
  readonly sandbox: string
  readonly logs?: readonly string[]
  readonly problem?: { readonly code: string } | null
}

/** Of each set-up of a template the log has the end; what it wrote is there only if somebody was told of it. */
export async function checkSetups(home: string, manager: Manager): Promise<void> {
  const begun = new Map<string, readonly string[]>()
  const told = new Set<string>()
  for await (const { type, data } of manager.stream('events', {})) {
    const { sandbox, logs = [], problem } = data as unknown as Facts
    if (type === 'template_setup_started') begun.set(sandbox, logs)
    if (type !== 'template_setup_ended') continue
    if (problem?.code !== 'lost') for (const log of begun.get(sandbox) ?? []) told.add(log)
    begun.delete(sandbox)
  }
  expect([...begun.keys()]).toEqual([])
  const there = existsSync(join(home, 'runs')) ? readdirSync(join(home, 'runs')).filter(isOfSetup) : []
  expect(there.filter((log) => !told.has(log))).toEqual([])
}

export const isOfSetup = (log: string): boolean => log.startsWith('cmd_')
