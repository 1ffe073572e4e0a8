/** Functions of esbuild's own that modules use, by name. */
export type Helpers = Map<string, string>

interface Source {
  readonly name: string
  /** What esbuild makes of the module alone, as CommonJS. */
  readonly code: string
}

/** Starts the module unless it is started; its value is what the module exports. */
const startOf = (id: number): string => `($started[${id}] || $start(${id}))`

const exportList = /^var (\w+) = \{\};\n__export\(\1, \{\n([^]*?)\n\}\);\nmodule\.exports = __toCommonJS\(\1\);\n/m
const importOf = /^var (\w+) = require\("([^"]+)"\);\n/gm
const importOfAll = /^var (\w+) = __toESM\(require\("([^"]+)"\)(?:, 1)?\);\n/gm
const lateImport = /\bimport\("([^"]+)"\)/g
const table = /^const \w+ = [[{](.*|(\n {2}.*)*\n)[\]}];$/gm
const tableEntry = /(?<=[{,]\s+)(\w+|"[^"]+"): (\w+)((?:\.\w+)+)(?=,|\s+\})/g
const unlinked = /.*(\bimport_\w+|\brequire\("|\bimport\("|\bmodule\.exports|\b__to\w+\().*/

/**
 * The module as a function that answers with what it exports. In what esbuild makes of a module there is a list of its
 * exports, a variable for each module that it imports, and wherever something imported is used, that variable and the
 * name. The variable gives way to an expression that starts the module; what looks different is refused.
 */
export function linkedModule({ name, code }: Source, find: (specifier: string) => number, helpers: Helpers): string {
  if (code.includes('$start')) throw new Error(`${name} has a name that the link uses`)
  const [list, , members = ''] = exportList.exec(code) ?? ['']
  const at = list === '' ? code.search(/^(?!var __|[\s})])/m) : code.indexOf(list)
  takeHelpers(code.slice(0, at), helpers)
  const places = new Map<string, string>()
  const spaces = new Set<string>()
  const body = code
    .slice(at + list.length)
    .replace(importOf, (_, variable: string, specifier: string) => {
      places.set(variable, startOf(find(specifier)))
      return ''
    })
    .replace(importOfAll, (_, variable: string, specifier: string) => {
      places.set(variable, startOf(find(specifier)))
      spaces.add(variable)
      return ''
    })
    .replace(lateImport, (_, specifier: string) => `$startLater(${find(specifier)})`)
    .replace(table, (text) => waitingTable(text, places))
  // With all that is in a module under one name, the name may be that of something else elsewhere: that one stays.
  const kept = [...spaces].filter((variable) => isUsed(variable, body))
  const lines = [
    '() => {',
    ...kept.map((variable) => `const ${variable} = ${places.get(variable)};`),
    body,
    `return { ${members.split('\n').flatMap(exportedMember).join(', ')} };`,
    '}',
  ]
  const text = [...places]
    .filter(([variable]) => !spaces.has(variable))
    .reduce(
      (all, [variable, place]) => all.replaceAll(new RegExp(`\\b${variable}\\.`, 'g'), () => `${place}.`),
      lines.join('\n'),
    )
  const [left] = unlinked.exec(text) ?? changing(members, body) ?? []
  if (left !== undefined) throw new Error(`${name} cannot be linked: ${left}`)
  return text
}

function takeHelpers(text: string, helpers: Helpers): void {
  for (const helper of text.split(/^(?=var __)/m)) {
    const [, name] = /^var (\w+)/.exec(helper) ?? []
    if (name !== undefined) helpers.set(name, helper)
  }
}

/** A table of what other modules do, as of all operations: an entry starts its module when it is read. */
const waitingTable = (text: string, places: ReadonlyMap<string, string>): string =>
  text.replaceAll(tableEntry, (entry, key: string, variable: string, names: string) => {
    const place = places.get(variable)
    return place === undefined ? entry : `get ${key}() { return ${place}${names} }`
  })

/** As a value; not in a text, and not as the name of a property. */
const isUsed = (variable: string, body: string): boolean =>
  new RegExp(`(?<![\\w$"'])(?<!(?<!\\.)\\.)${variable}(?![\\w$:])`).test(body)

/** What comes from another module is asked for there, so that it can wait too. */
function exportedMember(line: string): string[] {
  const [, name, value] = /^ {2}(\w+): \(\) => ([\w.]+),?$/.exec(line) ?? []
  if (name !== undefined && value !== undefined)
    return [value.includes('.') ? `get ${name}() { return ${value} }` : `${name}: ${value}`]
  if (line === '') return []
  throw new Error(`An export cannot be linked: ${line}`)
}

/** What is exported is read once, when the module has started: it must not change later. */
const changing = (members: string, body: string): RegExpExecArray | undefined =>
  members
    .split('\n')
    .map((line) => new RegExp(`^let ${/(\w+),?$/.exec(line)?.[1]}\\b.*`, 'm').exec(body))
    .find((found) => found !== null)

/** Those functions of esbuild's that the text needs: each may need others that stand before it. */
export function helpersIn(text: string, helpers: Helpers): string {
  let needed = ''
  for (const [name, helper] of [...helpers].toReversed()) {
    if (new RegExp(`\\b${name}\\b`).test(needed + text)) needed = helper + needed
  }
  return needed
}
