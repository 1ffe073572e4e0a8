import { spawn } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Look } from '../support/host-subject.ts'
import { boxProgram } from '../../src/drivers/sandbox/box/program.ts'

/** Goes into a tree that has no path on the host, as a sandbox would: it is mounted for as long as that takes. */
export const lookInto: Look = (attachment, use) => {
  if (attachment.kind !== 'overlay') return use(attachment.path)
  const { upper, work, lower } = attachment
  for (let tries = 0; ; tries++) {
    using mounted = mount([upper, work, ...lower])
    const number = /^ready (\d+)$/m.exec(mounted.told)?.[1]
    if (number !== undefined) return use(`/proc/${mounted.pid}/fd/${number}/.`)
    // The one before may not have let go of it yet.
    if (tries > 200) throw new Error(mounted.told)
    wait(5)
  }
}

/** Without a turn of the event loop: those who look expect their answer at once. */
function mount(layers: readonly string[]): Disposable & { readonly pid: number; readonly told: string } {
  const folder = fs.mkdtempSync(join(tmpdir(), 'aw-look-'))
  const answer = join(folder, 'answer')
  const fd = fs.openSync(answer, 'wx')
  const child = spawn(boxProgram(), ['hold', ...layers], { stdio: ['pipe', fd, 'inherit'] })
  fs.closeSync(fd)
  let told = ''
  while (!told.includes('\n')) {
    wait(1)
    told = fs.readFileSync(answer, 'utf8')
  }
  fs.rmSync(folder, { recursive: true })
  return { pid: child.pid ?? 0, told, [Symbol.dispose]: () => void child.kill('SIGKILL') }
}

const wait = (ms: number): unknown => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
