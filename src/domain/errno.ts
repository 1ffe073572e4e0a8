/** EDQUOT on Linux. Node knows no name for it, and calls it an unknown error. */
const overQuota = -122

/** What the operating system said, by name: 'ENOENT', 'EDQUOT' …; empty if the error is none of its. */
export function errnoName(error: unknown): string {
  if (!(error instanceof Error) || !('code' in error)) return ''
  return 'errno' in error && error.errno === overQuota ? 'EDQUOT' : String(error.code)
}
