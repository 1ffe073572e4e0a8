/** Follows the log while something happens, whichever process does it. */
import { openAw } from 'agent-workspaces'

await using aw = await openAw()

async function watch(): Promise<void> {
  // `after` is the position you saw last, so that nothing is missed over a restart; 0 is the beginning.
  for await (const event of aw.subscribe({ task: 'watched', after: 0 })) {
    const { task_id, agent_id } = event.data
    console.log(`${event.type} ${String(task_id)}/${String(agent_id)}`)
    if (event.type === 'workspace_cleanup') return
  }
}

const watching = watch()
const workspace = await aw.create({ id: 'watched/agent' })
await workspace.label({ labels: { sprint: '12' } })
await workspace.destroy({ reason: 'agent_completed' })
await watching
