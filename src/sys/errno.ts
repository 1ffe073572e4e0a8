/** Whether a call of the operating system failed in one of these ways: 'ENOENT', 'EEXIST' … */
export const hasCode = (error: unknown, ...codes: string[]): boolean =>
  error instanceof Error && 'code' in error && codes.includes(String(error.code))
