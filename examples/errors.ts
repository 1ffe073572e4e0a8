/** Errors have a code to branch on, a message for people and a hint that says what to do next. */
import { AwError, openAw } from 'agent-workspaces'

await using aw = await openAw()

const workspace = await aw.create({ id: 'errors/agent' })

async function attempt(what: string, action: () => Promise<unknown>): Promise<void> {
  try {
    await action()
    console.log(`${what}: done`)
  } catch (error) {
    if (!(error instanceof AwError)) throw error
    console.log(`${what}: ${error.code}, exit code ${error.exitCode}, worth a retry: ${error.retryable}`)
    if (error.hint !== undefined) console.log(`  ${error.hint}`)
  }
}

await attempt('a taken name', () => aw.create({ id: 'errors/agent' }))
await attempt('a missing workspace', () => aw.get('errors/nobody'))
await attempt('a path that climbs out', () => workspace.files.read('../../log.db'))
await attempt('a path that is not there', () => workspace.files.read('work/nothing.txt'))
await attempt('the metadata', () => workspace.files.write('.aw/context.json', '{}'))
await attempt('a field that does not exist', () => aw.create({ id: 'errors/other', lables: {} } as never))

// A lease says that somebody works there, also between two of its processes.
const lease = await aw.lease.acquire(workspace.id, { holder: 'ci-42' })
await attempt('a leased workspace', () => workspace.destroy())
await aw.lease.release(workspace.id, { lease: lease.id })
await attempt('after the release', () => workspace.destroy())
