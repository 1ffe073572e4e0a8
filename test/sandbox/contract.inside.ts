/** Every level keeps the contract of the port. */
import { sandboxContract } from '../contracts/sandbox.ts'
import { levels, openPlace } from './fixture.ts'

for (const level of levels) sandboxContract(level, async () => openPlace(level))
