/** Looks into a tree again and again, each time for a moment, until there is a file `stop`; tells what it could not read. */
import * as fs from 'node:fs'
import { join } from 'node:path'
import { overlayStorage } from '../../../src/drivers/storage/overlay/driver.ts'

const [base = '', name = ''] = process.argv.slice(2)
const storage = overlayStorage({ root: join(base, 'storage'), claim: join(base, 'id') })
const failed: string[] = []
let looks = 0
while (!fs.existsSync(join(base, 'stop'))) {
  try {
    using tree = await storage.reach({ area: 'volumes', name })
    fs.readFileSync(join(tree.path, 'always'), 'utf8')
    looks += 1
  } catch (error) {
    failed.push(String(error))
  }
}
console.log(JSON.stringify({ looks, failed }))
