/** Ten agents on one task, at the same time, each in a directory of its own. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { openAw, type Workspace } from 'agent-workspaces'

const run = promisify(execFile)

await using aw = await openAw()

const numbers = Array.from({ length: 10 }, (_, number) => number)
const workspaces = await Promise.all(
  numbers.map((number) => aw.create({ id: `race/agent-${number}`, labels: { number: String(number) } })),
)

/** Stands for your agent: a program that works where it is started. */
async function startAgent(workspace: Workspace): Promise<void> {
  const program = `require('node:fs').writeFileSync('answer.txt', '${workspace.agent} was here')`
  await run(process.execPath, ['-e', program], { cwd: join(workspace.path, 'work') })
}

await Promise.all(workspaces.map(startAgent))

for (const workspace of workspaces) console.log(await workspace.files.readText('work/answer.txt'))

const done = await aw.shutdown({ task: 'race', policy: 'trash' })
console.log(`${done.results.filter(({ ok }) => ok).length} workspaces are in the trash`)
