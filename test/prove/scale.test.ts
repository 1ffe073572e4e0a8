import { it } from 'vitest'
import { expectScales, grounds } from '../storage/scale/file-systems.ts'

it.each(grounds)('$driver holds very many snapshots and forks, as $as', (ground) => {
  expectScales(ground, { snapshots: 1000, depth: 200, forks: 100, processes: 4 })
})
