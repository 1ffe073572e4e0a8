import { it } from 'vitest'
import { compareWithMemory } from './host-twin.ts'

it('random operations end in the same state in memory and on disk', () => compareWithMemory(40, 30), 600_000)
