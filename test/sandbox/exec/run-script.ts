import type { Inputs, Outputs } from '../../../src/api/table.ts'
import type { Aw } from '../../../src/index.ts'

export interface Ran {
  readonly stdout: string
  readonly stderr: string
  readonly exit: Outputs['exec']
}

/** Runs a shell's script to its end; a script that fails is an error. */
export async function sh(aw: Aw, id: string, script: string, more: Partial<Inputs['exec']> = {}): Promise<string> {
  const { stdout, stderr, exit } = await ran(aw, { id, argv: ['sh', '-ec', script], ...more })
  if (exit.code !== 0) throw new Error(`It ended with ${exit.code ?? exit.signal}: ${stderr}`)
  return stdout
}

export async function ran(aw: Aw, input: Inputs['exec']): Promise<Ran> {
  const written = { stdout: '', stderr: '' }
  let exit: Outputs['exec'] | undefined
  for await (const item of aw.manager.stream('exec', input)) {
    const text = Buffer.from((item.data ?? '') as Uint8Array).toString()
    if (item.type === 'stdout' || item.type === 'stderr') written[item.type] += text
    if (item.type === 'exit') exit = item
  }
  if (exit === undefined) throw new Error('It did not end')
  return { ...written, exit }
}
