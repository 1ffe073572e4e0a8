/** Looks into a tree once, for as long as it is told, and says how that went. */
import * as fs from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { overlayStorage } from '../../../src/drivers/storage/overlay/driver.ts'

const [base = '', name = '', patience = '', stay = ''] = process.argv.slice(2)
const storage = overlayStorage({ root: join(base, 'storage'), claim: join(base, 'id'), patienceMs: Number(patience) })
try {
  using tree = await storage.reach({ area: 'volumes', name })
  fs.appendFileSync(join(tree.path, 'visits'), 'x')
  console.log('there')
  await sleep(Number(stay))
} catch (error) {
  console.log(String(error))
}
