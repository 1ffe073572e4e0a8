/**
 * The stand-in for those who cannot answer while they wait: `node stand-in-program.ts TURNS` prints its address and
 * answers until its input ends. TURNS is a list as in `stand-in.ts`, in JSON.
 */
import { standIn, type Turn, type TurnsByText } from './stand-in.ts'

await using api = await standIn(JSON.parse(process.argv[2] ?? '[]') as Turn[] | TurnsByText)
console.log(api.url)
for await (const _ of process.stdin) continue
