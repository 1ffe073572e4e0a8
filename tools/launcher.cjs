#!/usr/bin/env node
// The `aw` command. Syntax and modules that every Node since 12 reads: an old one must be able to say what is missing.
'use strict'

const fs = require('fs')
const path = require('path')
const vm = require('vm')

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)

if (major < 22 || (major === 22 && minor < 18)) {
  console.error(
    'aw needs Node 22.18 or later, and this is Node ' + process.versions.node + ' (' + process.execPath + ').',
  )
  console.error('Install a current Node, 24 is best, and run the same command again.')
  process.exitCode = 1
} else {
  silenceSqliteWarning()
  // The build puts the name here.
  start(path.join(__dirname, 'PROGRAM'))
}

/**
 * Node 22 calls its SQLite experimental each time it is loaded, and with `--json` standard error is for one object alone.
 * Every other warning is passed on.
 */
function silenceSqliteWarning() {
  const emit = process.emit.bind(process)
  /** @param {unknown[]} event */
  const filtered = function (...event) {
    const [name, warning] = event
    const isIt =
      warning instanceof Error && warning.name === 'ExperimentalWarning' && warning.message.startsWith('SQLite ')
    return name === 'warning' && isIt ? false : /** @type {boolean} */ (Reflect.apply(emit, undefined, event))
  }
  process.emit = /** @type {typeof process.emit} */ (filtered)
}

/**
 * A command uses a tenth of the program. Its modules are put together, and run from code that V8 compiled the last time the
 * same command ran: whatever else is read costs time. So the first run takes each module from the program when it is
 * needed, the second runs them together, and from the third on they are compiled. Node's own compile cache would hold what
 * is compiled before the first line runs and nothing of what runs then: 5 ms more for `aw path`, 8 for `aw create`.
 * @param {string} file
 */
function start(file) {
  const place = keptPlace(file)
  const kept = place === undefined ? undefined : readKept(place)
  /** @type {Program | undefined} */
  let read
  const program = () => (read = read || readProgram(file))
  const numbers = kept === undefined ? [] : kept.numbers
  const source = kept === undefined ? composed(program(), []) : kept.source
  // In stack traces it is where it can be looked up.
  const options = kept === undefined ? { filename: file } : { filename: place, lineOffset: 1, cachedData: kept.code }
  const script = new vm.Script(source, options)
  /** @type {number[]} */
  const added = []
  /** @type {(number: number, ...shared: unknown[]) => unknown} */
  const add = function (number, ...shared) {
    added.push(number)
    return run(new vm.Script(alone(program(), number), { filename: file }), file, ...shared)
  }
  // Also if it fails: a command in a workspace may do so each time.
  process.once('exit', function () {
    if (place === undefined) return
    if (added.length > 0) keep(place, [...numbers, ...added], composed(program(), [...numbers, ...added]))
    else if (script.cachedDataRejected !== false) keep(place, numbers, source, script.createCachedData())
  })
  // What runs for longer must not miss its program when another version has been installed meanwhile.
  setTimeout(function () {
    try {
      program()
    } catch {
      // Already: whatever needs it will say so.
    }
  }, 500).unref()
  const begin = /** @type {(number: number) => void} */ (run(script, file, add))
  begin(0)
}

/**
 * @param {import('vm').Script} script
 * @param {unknown[]} given
 */
function run(script, ...given) {
  const main = /** @type {(require: NodeJS.Require, ...given: unknown[]) => unknown} */ (script.runInThisContext())
  return main(require, ...given)
}

/** @typedef {[before: string, after: string]} Frame */
/** @typedef {{ program: Frame, added: Frame, textOf: (number: number) => string }} Program */

/**
 * A line that says how long the modules are, and then the modules; all of it ASCII.
 * @param {string} file
 * @returns {Program}
 */
function readProgram(file) {
  const bytes = fs.readFileSync(file)
  const end = bytes.indexOf('\n')
  const { program, added, modules } =
    /** @type {{ program: Frame, added: Frame, modules: [name: string, length: number][] }} */ (
      JSON.parse(bytes.toString('latin1', 0, end))
    )
  let at = end + 1
  const places = modules.map(function ([, length]) {
    at += length + 1
    return [at - length - 1, at - 1]
  })
  /** @type {(number: number) => string} */
  const textOf = function (number) {
    const [from, to] = places[number] || []
    return bytes.toString('latin1', from, to)
  }
  return { program, added, textOf }
}

/**
 * @param {Program} program
 * @param {readonly number[]} numbers
 */
function composed({ program: [before, after], textOf }, numbers) {
  return before + numbers.map((number) => number + ':' + textOf(number)).join(',\n') + after
}

/**
 * @param {Program} program
 * @param {number} number
 */
function alone({ added: [before, after], textOf }, number) {
  return before + textOf(number) + after
}

/**
 * One file for each command, as each runs other code, wherever on the line it stands, and other code again where a daemon
 * does it; each program (its name holds a hash) and each Node. Not in the shared /tmp: what others can write there would be
 * run here.
 * @param {string} file
 */
function keptPlace(file) {
  const { HOME, XDG_CACHE_HOME } = process.env
  const caches = XDG_CACHE_HOME || (HOME && path.join(HOME, '.cache'))
  if (!caches || !path.isAbsolute(caches)) return undefined
  // The build puts the first words of all commands here.
  const words = 'WORDS'.split(' ')
  const word = process.argv.slice(2).find((arg) => words.includes(arg)) || 'other'
  const home = process.env['AW_HOME'] || path.join(HOME || '/', '.aw')
  const way = fs.existsSync(home + '/aw.sock') ? 'served' : 'alone'
  const name = [path.basename(file, '.cjs'), process.version, process.arch, way, word].join('-')
  return path.join(caches, 'aw', 'compiled', name)
}

/**
 * Only what this user wrote and nobody else could change: with `sudo` the folder may be another's. It is there twice, and
 * both must be equal: V8 trusts what it is given, and ends with the process on a single wrong byte. To compare costs
 * nothing; to load something that computes a checksum would cost 3 ms.
 * @param {string} file
 * @returns {{ numbers: number[], source: string, code: Buffer | undefined } | undefined}
 */
function readKept(file) {
  let fd
  try {
    fd = fs.openSync(file, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW)
    const { uid, mode } = fs.fstatSync(fd)
    if (!process.geteuid || uid !== process.geteuid() || (mode & 0o022) !== 0) return undefined
    const bytes = fs.readFileSync(fd)
    const half = bytes.length / 2
    if (half === 0 || !bytes.subarray(0, half).equals(bytes.subarray(half))) return undefined
    const end = bytes.indexOf('\n')
    const { numbers, length } = /** @type {{ numbers: number[], length: number }} */ (
      JSON.parse(bytes.toString('latin1', 0, end))
    )
    const source = bytes.toString('latin1', end + 1, end + 1 + length)
    const code = bytes.subarray(end + 1 + length, half)
    return { numbers, source, code: code.length === 0 ? undefined : code }
  } catch {
    return undefined
  } finally {
    if (fd !== undefined) fs.closeSync(fd)
  }
}

/**
 * Whole before it gets its name. If it cannot be kept, so be it.
 * @param {string} file
 * @param {readonly number[]} numbers
 * @param {string} source
 * @param {Buffer} [code]
 */
function keep(file, numbers, source, code = Buffer.alloc(0)) {
  const fresh = file + '.' + process.pid
  const head = JSON.stringify({ numbers, length: source.length }) + '\n'
  const bytes = Buffer.concat([Buffer.from(head + source, 'latin1'), code])
  try {
    fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 })
    try {
      fs.writeFileSync(fresh, Buffer.concat([bytes, bytes]), { mode: 0o600, flag: 'wx' })
      fs.renameSync(fresh, file)
    } catch {
      fs.unlinkSync(fresh)
    }
    forgetOld(file)
  } catch {
    // A read-only home, a full disk: then the next start is as slow as this one was.
  }
}

/**
 * What other versions kept goes when it is a week old: one that is still in use keeps it anew.
 * @param {string} file
 */
function forgetOld(file) {
  const folder = path.dirname(file)
  const ours = path.basename(file).split('-', 2).join('-') + '-'
  for (const name of fs.readdirSync(folder)) {
    if (!name.startsWith('cli-') || name.startsWith(ours)) continue
    const old = path.join(folder, name)
    if (Date.now() - fs.lstatSync(old).mtimeMs > 7 * 24 * 3600 * 1000) fs.unlinkSync(old)
  }
}
