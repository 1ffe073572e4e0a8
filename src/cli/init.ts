import type { DeinitResult, InitOptions, InitResult } from '../init.ts'
import { storageChoices } from '../domain/config/storage-drivers.ts'
import { AwError } from '../domain/errors.ts'
import { sizeText } from '../domain/space/size.ts'
import type { BuiltinCommand } from './builtins.ts'
import type { Globals } from './input/globals.ts'
import type { Io } from './io.ts'

/** `aw init` and `aw deinit`: the storage of a home, from this process alone, whatever else serves the home. */

export const initCommand: BuiltinCommand = async (args, globals, io, { fields }) => {
  assertNoArguments(args, 'init')
  const { initHome } = await import('../init.ts')
  const one = (name: string): string | undefined => fields.get(name)?.at(-1)
  const result = await initHome({
    ...where(globals, io),
    storage: storageOf(one('storage')),
    size: one('size'),
    check: one('check') === 'true',
    signal: io.signal,
  })
  await io.stdout.write(globals.json ? `${JSON.stringify(result)}\n` : `${initText(result)}\n`)
  return result.check?.ok === false ? 1 : 0
}

export const deinitCommand: BuiltinCommand = async (args, globals, io, { fields }) => {
  assertNoArguments(args, 'deinit')
  const { deinitHome } = await import('../init.ts')
  const result = await deinitHome({ ...where(globals, io), keepPool: fields.get('yes')?.at(-1) !== 'true' })
  await io.stdout.write(globals.json ? `${JSON.stringify(result)}\n` : `${deinitText(result)}\n`)
  return 0
}

const where = ({ home, configFile, set }: Globals, { env, cwd }: Io): InitOptions => ({
  home,
  configFile,
  set,
  env,
  cwd,
  shortLived: true,
})

function storageOf(text: string | undefined): InitOptions['storage'] {
  const found = storageChoices.find((name) => name === text)
  if (text === undefined || found !== undefined) return found
  throw new AwError(
    'invalid_input',
    `--storage is ${JSON.stringify(text)}; it must be one of ${storageChoices.join(', ')}`,
    {
      data: { flag: '--storage', allowed: storageChoices },
    },
  )
}

function assertNoArguments(args: readonly string[], command: string): void {
  if (args.length === 0) return
  throw new AwError('invalid_input', `aw ${command} takes flags only, not ${JSON.stringify(args[0])}`, {
    hint: `See aw help ${command}`,
    data: { command },
  })
}

function initText({ driver, storage_root, changed, pool, check }: InitResult): string {
  const what = pool === null ? `Trees are kept by ${driver} in ${storage_root}` : poolText(pool, storage_root)
  const verdict =
    check === null
      ? []
      : [
          check.ok
            ? `${sizeText(check.bytes)} read, ${check.errors} errors, ${check.repaired} repaired`
            : `${sizeText(check.bytes)} read: ${check.errors} errors, not all could be repaired; see dmesg for the files`,
        ]
  return [changed ? what : `${what}; nothing to change`, ...verdict].join('\n')
}

const poolText = ({ image, bytes }: NonNullable<InitResult['pool']>, root: string): string =>
  `Trees are kept in a btrfs pool of ${sizeText(bytes)} in ${image}, mounted at ${root}`

const deinitText = ({ storage_root, pool }: DeinitResult): string =>
  pool === null
    ? `${storage_root} is given up; the next use of the home chooses anew`
    : `The pool ${pool.image} is removed; the next use of the home chooses anew`
