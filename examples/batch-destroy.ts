/** Many at once: one that fails does not keep the others from being done. */
import { openAw } from 'agent-workspaces'

await using aw = await openAw()

await aw.create({ id: 'batch/one' })
await aw.create({ id: 'batch/two' })

for (const result of await aw.each('destroy', ['batch/one', 'batch/missing', 'batch/two'])) {
  console.log(result.ok ? `${result.id} destroyed` : `${result.id} failed: ${result.error.code}`)
}

// For those who do not mind if there is nothing: true the first time, false the second.
await aw.create({ id: 'batch/three' })
console.log(await aw.cleanup('batch/three'), await aw.cleanup('batch/three'))
