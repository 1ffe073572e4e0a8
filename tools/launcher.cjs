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
  // The build puts the names here.
  start(['FILES'].map((name) => path.join(__dirname, name)))
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
 * Runs the files from code that V8 compiled the last time the same command ran. Node's own compile cache would hold what
 * is compiled before the first line runs and nothing of what runs then: 5 ms more for `aw path`, 8 for `aw create`.
 * @param {readonly string[]} files The first is the program; it asks for the others when it needs them.
 */
function start(files) {
  /** @type {[string, import('vm').Script][]} */
  const fresh = []
  /** @type {string[]} */
  const texts = []
  const textOf = (/** @type {number} */ place) => texts[place] || fs.readFileSync(files[place] || '', 'latin1')
  /** @type {(place: number) => unknown} */
  const load = function (place) {
    const filename = files[place] || ''
    const kept = keptCode(filename)
    const cachedData = kept === undefined ? undefined : readOwn(kept)
    // The file is one function expression, in ASCII.
    const script = new vm.Script(textOf(place), { filename, cachedData })
    if (kept !== undefined && script.cachedDataRejected !== false) fresh.push([kept, script])
    return /** @type {unknown} */ (script.runInThisContext())
  }
  process.once('exit', function (code) {
    if (code === 0) for (const [kept, script] of fresh) keep(kept, script.createCachedData())
  })
  // What runs for longer must not miss a file when another version has been installed meanwhile.
  setTimeout(function () {
    for (const place of files.keys()) texts[place] = textOf(place)
  }, 500).unref()
  const program = /** @type {(require: NodeJS.Require, file: string, load: (place: number) => unknown) => void} */ (
    load(0)
  )
  program(require, files[0] || '', load)
}

/**
 * One file for each command, as each runs other code, each file of ours (its name holds a hash; V8 compares only the
 * length) and each Node. Not in the shared /tmp: what others can write there would be run here.
 * @param {string} file
 */
function keptCode(file) {
  const { HOME, XDG_CACHE_HOME } = process.env
  const caches = XDG_CACHE_HOME || (HOME && path.join(HOME, '.cache'))
  if (!caches || !path.isAbsolute(caches)) return undefined
  const [, , command = ''] = process.argv
  const word = /^[a-z]{1,16}$/.test(command) ? command : 'other'
  const name = [path.basename(file, '.cjs'), process.version, process.arch, word].join('-')
  return path.join(caches, 'aw', 'compiled', name)
}

/**
 * Only what this user wrote and nobody else could change: with `sudo` the folder may be another's. It is there twice, and
 * both must be equal: V8 trusts what it is given, and ends with the process on a single wrong byte. To compare costs
 * nothing; to load something that computes a checksum would cost 3 ms.
 * @param {string} file
 */
function readOwn(file) {
  let fd
  try {
    fd = fs.openSync(file, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW)
    const { uid, mode } = fs.fstatSync(fd)
    if (!process.geteuid || uid !== process.geteuid() || (mode & 0o022) !== 0) return undefined
    const bytes = fs.readFileSync(fd)
    const code = bytes.subarray(0, bytes.length / 2)
    return code.equals(bytes.subarray(bytes.length / 2)) ? code : undefined
  } catch {
    return undefined
  } finally {
    if (fd !== undefined) fs.closeSync(fd)
  }
}

/**
 * Whole before it gets its name. If it cannot be kept, so be it.
 * @param {string} file
 * @param {Buffer} code
 */
function keep(file, code) {
  const fresh = file + '.' + process.pid
  try {
    fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 })
    try {
      fs.writeFileSync(fresh, Buffer.concat([code, code]), { mode: 0o600, flag: 'wx' })
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
