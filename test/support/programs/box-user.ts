/** Starts, finds or ends a box on a place that a test has made: `RUN TREE LEVEL start|find|stop|probe`. */
import { sandboxDrivers } from '../../../src/drivers/sandbox/registry.ts'
import type { Isolation } from '../../../src/domain/sandbox/spec.ts'
import { startPlanned } from '../../contracts/sandbox.ts'

const [run = '', tree = '', level = '', what = ''] = process.argv.slice(2)
const driver = await sandboxDrivers({ run })(level as Isolation)

if (what === 'start') {
  const box = await startPlanned(driver, 'box_ends', {
    attachment: { kind: 'dir', path: tree },
    mount: '/workspace',
    protect: level === 'namespace' ? ['.aw'] : [],
    binds: [],
    network: { mode: level === 'none' ? 'host' : 'none' },
    limits: {},
    defaults: {},
    cgroupRequired: false,
    env: {},
    uid: process.getuid?.() === 0 ? 700_000_123 : undefined,
  })
  console.log(`started ${box.owner.pid}`)
  await box[Symbol.asyncDispose]()
} else if (what === 'probe') {
  console.log((await driver.probe()).usable)
} else {
  const box = await driver.find('box_ends')
  if (box === undefined) throw new Error('There is no such box')
  if (what === 'stop') {
    await box.stop({ graceMs: 0 })
    console.log('stopped')
  } else {
    const { output } = box.exec({ argv: ['echo', 'hello'], cwd: '.', env: {}, limits: {} })
    let text = ''
    for await (const { data } of output) text += Buffer.from(data).toString()
    console.log(`found ${box.owner.pid} ${text.trim()}`)
    await box[Symbol.asyncDispose]()
  }
}
