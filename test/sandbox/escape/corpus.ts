import type { Attack } from './attack.ts'
import { boxAttacks } from './attacks/box.ts'
import { fileAttacks } from './attacks/files.ts'
import { kernelAttacks } from './attacks/kernel.ts'
import { limitAttacks } from './attacks/limits.ts'
import { nameAttacks } from './attacks/names.ts'
import { networkAttacks } from './attacks/network.ts'
import { processAttacks } from './attacks/processes.ts'

export const attacks: readonly Attack[] = [
  ...fileAttacks,
  ...nameAttacks,
  ...processAttacks,
  ...kernelAttacks,
  ...networkAttacks,
  ...limitAttacks,
  ...boxAttacks,
]
