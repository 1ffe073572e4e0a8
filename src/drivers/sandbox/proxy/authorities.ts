import type { SecureContext } from 'node:tls'

/** Loaded by those who need it: most boxes have no broker. */
const tls = () => process.getBuiltinModule('node:tls')

/** Those that whoever starts a box trusts besides (`NODE_EXTRA_CA_CERTS`): its proxy has another environment. */
export const extraAuthorities = (): readonly string[] => tls().getCACertificates('extra')

/** Trusts what Node does, what the system does, and these. Made when it is first needed: it takes a moment. */
export function trustStore(extra: readonly string[]): () => SecureContext {
  let made: SecureContext | undefined
  return () => {
    if (made !== undefined) return made
    const { createSecureContext, getCACertificates } = tls()
    const all = new Set([...getCACertificates('bundled'), ...getCACertificates('system'), ...extra])
    made = createSecureContext({ ca: [...all] })
    return made
  }
}
