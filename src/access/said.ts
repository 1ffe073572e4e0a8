/** What a caller has said itself, as text: it may be said back to them. Not content, which may be megabytes. */
export const saidIn = (input: object): string =>
  JSON.stringify(Object.fromEntries(Object.entries(input).filter(([, value]) => !(value instanceof Uint8Array))))
