#!/usr/bin/env node
// The `aw` command. Syntax and modules that every Node since 12 reads: an old one must be able to say what is missing.
import * as module from 'module'

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)

if (major < 22 || (major === 22 && minor < 18)) {
  console.error(
    'aw needs Node 22.18 or later, and this is Node ' + process.versions.node + ' (' + process.execPath + ').',
  )
  console.error('Install a current Node, 24 is best, and run the same command again.')
  process.exitCode = 1
} else {
  keepCompiledCode()
  // @ts-expect-error: the build puts it beside this file
  void import('./cli.js')
}

// Halves the time to start. Not in the shared /tmp, Node's default: what others can write there would be run here.
function keepCompiledCode() {
  const { HOME, XDG_CACHE_HOME } = process.env
  const caches = XDG_CACHE_HOME || (HOME && HOME + '/.cache')
  if (caches) module.enableCompileCache(caches + '/aw/compiled')
}
