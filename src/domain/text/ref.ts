import { createHash } from 'node:crypto'

/** What the log keeps of a text. */
export interface TextRef {
  readonly sha256: string
  readonly length: number
}

export const textRef = (text: string): TextRef => ({
  sha256: createHash('sha256').update(text).digest('hex'),
  length: text.length,
})
