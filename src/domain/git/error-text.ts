import type { RemoteUrl } from './url.ts'

/** What git said, fit to be shown and recorded. */

const hidden = '***'

/** Without passwords, tokens and headers, whoever put them there: a server may repeat what it was sent. */
export function redactCredentials(text: string, secrets: readonly string[] = []): string {
  const told = secrets.filter((secret) => secret.length >= 4).toSorted((a, b) => b.length - a.length)
  return told
    .reduce((clean, secret) => clean.replace(anySpelling(secret), hidden), text)
    .replace(/\b(https?:\/\/)[^\s/'"@]*(?:@[^\s/'"@]*)*@/gi, '$1')
    .replace(/\b([a-z][a-z0-9+.-]*:\/\/[^\s/'"@:]*):[^\s/'"@]*@/gi, '$1@')
    .replace(/\b((?:proxy-)?authorization\s*[:=]\s*)[^\r\n]*/gi, `$1${hidden}`)
    .replace(/\b(bearer|basic)\s+[\w.~+/-]{6,}=*/gi, `$1 ${hidden}`)
    .replace(/\b((?:[a-z]+[_-])?(?:token|password|passwd|secret|api[_-]?key)=)[^\s&'"]+/gi, `$1${hidden}`)
    .replace(/\b(?:gh[opsur]_|github_pat_|glpat-|gldt-|xox[a-z]-|hf_|sk-)[\w-]{8,}/g, hidden)
}

/** Capital or small, each character as it is or percent-encoded. */
function anySpelling(secret: string): RegExp {
  const spelled = Array.from(secret, (character) => {
    const bytes = [...Buffer.from(character)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`)
    return `(?:\\u{${character.codePointAt(0)?.toString(16)}}|${bytes.join('')}${character === ' ' ? String.raw`|\+` : ''})`
  })
  return new RegExp(spelled.join(''), 'giu')
}

/**
 * What must not be told of a url's credentials. Which part is the secret one nobody can tell: a token may stand before
 * a password that only fills its place, or alone.
 */
export function secretsOf(url: RemoteUrl): string[] {
  const { user = '', password = null } = url.credentials ?? {}
  const parts = [user, password ?? ''].filter((part) => part !== '')
  const sent = parts.length === 0 ? [] : [`${user}:${password ?? ''}`, ...parts]
  return [...parts, ...sent.map((text) => Buffer.from(text).toString('base64').replace(/=+$/, ''))]
}

/** The few lines that say what went wrong: no progress, no control characters, never long. */
export function summarizeStderr(stderr: string, secrets: readonly string[] = []): string {
  const lines = redactCredentials(stderr, secrets)
    .split(/[\r\n]+/)
    .map((line) => line.replace(/\p{Cc}\[[0-9;]*[a-zA-Z]|\p{Cc}/gu, ' ').trim())
    .filter((line) => line !== '' && !/\d+% \(|^(?:remote: )?(?:hint|warning):|^Cloning into/i.test(line))
  const telling = lines.filter((line) => /^(?:fatal|error|remote|ssh|git@|.*denied|host key)/i.test(line))
  const chosen = [...new Set(telling.length > 0 ? telling : lines)].slice(0, 4).join('; ')
  return chosen.length > 400 ? `${chosen.slice(0, 400)}…` : chosen
}
