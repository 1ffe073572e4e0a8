import { createRequire } from 'node:module'

/** Put in by the build; a run from source asks package.json. */
declare const __AW_VERSION__: string | undefined

export const version = (): string =>
  typeof __AW_VERSION__ === 'string'
    ? __AW_VERSION__
    : (createRequire(import.meta.url)('../package.json') as { version: string }).version
