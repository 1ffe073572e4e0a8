/** Keep a state, go wrong, go back; then let three agents go on from the same state and compare what they did. */
import { openAw } from 'agent-workspaces'

await using aw = await openAw()

const origin = await aw.create({ id: 'forks/origin' })
await origin.files.write('work/plan.md', 'Look at the clock\n')
await origin.snapshot({ label: 'a plan' })

await origin.files.write('work/plan.md', 'Rewrite everything\n')
await origin.files.write('work/rewrite.ts', 'let x\n')
for (const { change, path } of await aw.diff('forks/origin@head')) console.log(`${change} ${path}`)

const { removed, changed } = await origin.undo()
console.log(`undone: ${changed} changed, ${removed} removed; ${(await origin.files.readText('work/plan.md')).trim()}`)

const forks = await origin.fork({ to: ['forks/one', 'forks/two', 'forks/origin'] })
for (const fork of forks) {
  if (fork.ok) await fork.result.files.append('work/plan.md', `says ${fork.id}\n`)
  else console.log(`${fork.id}: ${fork.error.code}`)
}

for await (const { path, text = '' } of aw.diff('forks/one', 'forks/two', { text: true })) {
  const lines = text.split('\n').filter((line) => /^[-+]\w/.test(line))
  console.log(`${path}: ${lines.join(' ')}`)
}

const { forked_from: from } = await aw.show('forks/one')
console.log(`forks/one comes from ${from?.name}`)
