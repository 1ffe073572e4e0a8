/** Time and chance, so that the core has none of its own. */
export interface Clock {
  now(): Date
  random(bytes: number): Uint8Array
}
