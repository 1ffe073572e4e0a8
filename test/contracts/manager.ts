import { afterEach, describe, expect, it } from 'vitest'
import { operations, type Inputs, type Outputs } from '../../src/api/table.ts'
import { makeAw, type Aw } from '../../src/client/facade.ts'
import { AwError, type ErrorCode } from '../../src/domain/errors.ts'
import type { CallContext, Manager } from '../../src/ports/manager.ts'
import { agentContract } from './manager/agents.ts'
import { allowedContract } from './manager/allowed-operations.ts'
import { careContract } from './manager/maintenance.ts'
import { diffContract } from './manager/diff.ts'
import { expiryContract } from './manager/expiry.ts'
import { fileContract } from './manager/files.ts'
import { forkContract } from './manager/forks.ts'
import { historyContract } from './manager/history.ts'
import { leaseContract } from './manager/leases.ts'
import { lifeContract } from './manager/lifecycle.ts'
import { logContract } from './manager/log.ts'
import { mountContract } from './manager/mounts.ts'
import { refusedRunContract } from './manager/refused-runs.ts'
import { restoreContract } from './manager/restore.ts'
import { runContract } from './manager/runs.ts'
import { sandboxContract } from './manager/sandboxes.ts'
import { setupContract } from './manager/setups.ts'
import { snapshotContract } from './manager/snapshots.ts'
import { sourceContract } from './manager/sources.ts'
import { spaceContract } from './manager/space.ts'
import { tokenContract } from './manager/tokens.ts'
import { trashContract } from './manager/trash.ts'
import { undoContract } from './manager/undo.ts'
import type { Tree } from '../support/tree.ts'

/** A core of its own for one test, however it is reached. */
export interface ManagerSubject {
  readonly manager: Manager
  /** Makes a folder on the manager's machine, and answers its path. */
  readonly folder: (tree: Tree) => string
  /** False if workspaces are seen in sandboxes alone. */
  readonly hasPaths?: boolean
  readonly remove: () => Promise<void> | void
}

export interface Opened {
  readonly aw: Aw
  readonly manager: Manager
  readonly folder: (tree: Tree) => string
  readonly hasPaths: boolean
}

/** @param set settings that are not as by default */
export type OpenManager = (set?: Readonly<Record<string, string>>) => Promise<Opened>

/** An error of our own class through every door, not something that only looks like one. */
export const code = (expected: ErrorCode, data: object = {}): unknown =>
  expect.objectContaining({ constructor: AwError, code: expected, data: expect.objectContaining(data) as unknown })

/** The operation itself; the SDK's own method answers with handles. */
export const forkOf = (
  aw: Aw,
  id: string,
  input: Omit<Inputs['fork'], 'id'> = {},
  context?: CallContext,
): Promise<Outputs['fork']> => aw.manager.call('fork', { ...input, id }, context)

/** Everything that `ports/manager.ts` and the table of operations promise, for any door. */
export function managerContract(
  name: string,
  makeSubject: (set: Readonly<Record<string, string>>) => Promise<ManagerSubject>,
): void {
  describe(`manager: ${name}`, () => {
    const subjects: ManagerSubject[] = []
    const called = new Set<string>()
    const open: OpenManager = async (set = {}) => {
      const subject = await makeSubject(set)
      subjects.push(subject)
      const manager = recorded(subject.manager, called)
      return { manager, aw: makeAw(manager), folder: subject.folder, hasPaths: subject.hasPaths ?? true }
    }
    afterEach(async () => {
      for (const { manager, remove } of subjects.splice(0)) {
        await manager[Symbol.asyncDispose]()
        await remove()
      }
    })

    describe('life', () => {
      lifeContract(open)
    })
    describe('trash', () => {
      trashContract(open)
    })
    describe('leases', () => {
      leaseContract(open)
    })
    describe('tokens', () => {
      tokenContract(open)
    })
    describe('expiry', () => {
      expiryContract(open)
    })
    describe('sources', () => {
      sourceContract(open)
    })
    describe('set-ups', () => {
      setupContract(open)
    })
    describe('files', () => {
      fileContract(open)
    })
    describe('allowed operations', () => {
      allowedContract(open)
    })
    describe('sandboxes', () => {
      sandboxContract(open)
    })
    describe('where it is inside', () => {
      mountContract(open)
    })
    describe('runs', () => {
      runContract(open)
      refusedRunContract(open)
    })
    describe('agents', () => {
      agentContract(open)
    })
    describe('snapshots', () => {
      snapshotContract(open)
    })
    describe('restore', () => {
      restoreContract(open)
    })
    describe('undo', () => {
      undoContract(open)
    })
    describe('forks', () => {
      forkContract(open)
    })
    describe('diff', () => {
      diffContract(open)
    })
    describe('history', () => {
      historyContract(open)
    })
    describe('log', () => {
      logContract(open)
    })
    describe('space', () => {
      spaceContract(open)
    })
    describe('care', () => {
      careContract(open)
    })

    it('every operation of the table was called by the tests above', () => {
      expect([...called].toSorted()).toEqual(operations.map((entry) => entry.name).toSorted())
    })
  })
}

function recorded(manager: Manager, called: Set<string>): Manager {
  return {
    call(name, input, context) {
      called.add(name)
      return manager.call(name, input, context)
    },
    stream(name, input, context) {
      called.add(name)
      return manager.stream(name, input, context)
    },
    [Symbol.asyncDispose]: () => manager[Symbol.asyncDispose](),
  }
}

export const text = (content: string | Uint8Array): string => Buffer.from(content as Uint8Array).toString()
