/** A workspace made from a folder, used, destroyed and brought back. Run it with: node examples/quick-start.ts */
import { openAw } from 'agent-workspaces'

await using aw = await openAw()

// A copy of this folder, hidden and ignored files included. The folder itself is only read.
const workspace = await aw.create({ id: 'quick-start/agent', from: { folder: import.meta.dirname } })
console.log(`${workspace.name} is ${workspace.state}`)

// An agent would be started with `cwd: workspace.path` and use ordinary files. You can also write from outside.
await workspace.files.write('work/notes.md', 'The clock is wrong')

// Destroy moves the tree to the trash; the name is free again.
await workspace.destroy()
console.log('exists:', (await aw.exists('quick-start/agent')).exists)

const back = await aw.undelete('quick-start/agent')
console.log('notes:', await back.files.readText('work/notes.md'))

await back.destroy()
