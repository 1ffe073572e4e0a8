/**
 * Names of files and messages may come from an agent. Control characters and marks that reorder text could rewrite what
 * the reader sees on a terminal, so they are shown as escapes.
 */
export const visible = (text: string): string => text.replaceAll(unsafe, escapeOne)

// eslint-disable-next-line no-control-regex
const unsafe = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

function escapeOne(character: string): string {
  const code = character.codePointAt(0) ?? 0
  return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16)}`
}
