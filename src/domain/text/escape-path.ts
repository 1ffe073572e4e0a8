/** Paths as bytes (latin1), written so that they hold no blank: in lines of fields. Every other byte stands for itself. */

export const escapePath = (path: string): string =>
  // oxlint-disable-next-line no-control-regex -- names may hold anything but NUL and a slash
  /[\x00-\x20%\x7f]/.test(path) ? path.replace(/[\x00-\x20%\x7f]/g, escaped) : path

const escaped = (character: string): string => `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`

export const unescapePath = (text: string): string =>
  text.includes('%') ? text.replace(/%(..)/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16))) : text
