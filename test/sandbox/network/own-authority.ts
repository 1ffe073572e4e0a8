/** An authority of a test's own, and certificates that it vouches for. */
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Identity {
  readonly key: string
  readonly cert: string
}

export interface OwnAuthority extends Disposable {
  /** PEM, and the file that it is in. */
  readonly cert: string
  readonly file: string
  /** For what a certificate names, as `DNS:localhost` or `IP:127.0.0.1`. */
  identity(names: string): Identity
}

export function ownAuthority(): OwnAuthority {
  const folder = mkdtempSync(join(tmpdir(), 'aw-authority-'))
  // Also for tests that run as somebody else.
  chmodSync(folder, 0o755)
  const path = (name: string): string => join(folder, name)
  const openssl = (...args: readonly string[]): Buffer => execFileSync('openssl', args, { stdio: 'pipe' })
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
  openssl('req', '-x509', ...newKey, '-days', '2', '-subj', '/CN=own', '-keyout', path('key'), '-out', path('cert'))
  let made = 0
  return {
    cert: readFileSync(path('cert'), 'utf8'),
    file: path('cert'),
    identity(names) {
      const [key, request, cert, more] = ['key', 'req', 'cert', 'ext'].map((kind) => path(`${kind}.${++made}`)) as [
        string,
        string,
        string,
        string,
      ]
      writeFileSync(more, `subjectAltName=${names}\n`)
      openssl('req', ...newKey, '-subj', '/CN=site', '-keyout', key, '-out', request)
      const by = ['-CA', path('cert'), '-CAkey', path('key'), '-CAcreateserial', '-days', '2']
      openssl('x509', '-req', '-in', request, ...by, '-extfile', more, '-out', cert)
      return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') }
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  }
}
