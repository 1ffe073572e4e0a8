import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls'

/** Those that whoever starts a box trusts besides (`NODE_EXTRA_CA_CERTS`): its proxy has another environment. */
export const extraAuthorities = (): readonly string[] => getCACertificates('extra')

/** Trusts what Node does, what the system does, and these. Made when it is first needed: it takes a moment. */
export function trusting(extra: readonly string[]): () => SecureContext {
  let made: SecureContext | undefined
  return () => {
    if (made !== undefined) return made
    const all = new Set([...getCACertificates('bundled'), ...getCACertificates('system'), ...extra])
    made = createSecureContext({ ca: [...all] })
    return made
  }
}
