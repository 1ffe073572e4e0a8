/** What destroy and reset keep, and how to get it back. */
import { openAw } from 'agent-workspaces'

await using aw = await openAw()

const workspace = await aw.create({ id: 'trash/agent' })
await workspace.files.write('work/draft.md', 'first draft')

// Reset starts over under the same id and path; the tree before it goes to the trash.
const fresh = await workspace.reset()
console.log(`generation ${fresh.generation}, draft there: ${(await fresh.files.resolve('work/draft.md')).exists}`)

// A tree that a reset replaced has a name of its own and comes back as a new workspace.
const [old] = fresh.trash
if (old === undefined) throw new Error('The trash is empty')
const copy = await aw.undelete(old.tree, { as: 'trash/before-reset' })
console.log(`${copy.name}: ${await copy.files.readText('work/draft.md')}`)

await aw.destroy('trash/agent')
await aw.destroy('trash/before-reset')
const trashed = await aw.list({ task: 'trash', trashed: true })
console.log('in the trash:', trashed.map(({ name }) => name).join(', '))

// Nothing is old enough to be erased; a plan only looks.
const { applied, items } = await aw.gc({ plan: true })
console.log(`applied: ${applied}, would erase: ${items.length}`)
