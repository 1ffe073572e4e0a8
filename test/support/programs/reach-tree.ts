/** Looks into a tree of an ordinary user, and does not let go of it. */
import { join } from 'node:path'
import { overlayStorage } from '../../../src/drivers/storage/overlay/driver.ts'

const base = process.argv[2] ?? ''
const storage = overlayStorage({ root: join(base, 'storage'), claim: join(base, 'storage.id') })
const reached = await storage.reach({ area: 'volumes', name: 'ws' })
console.log(reached.path)
process.stdin.resume()
