/*
 * The first thing every npm script runs, on whatever Node the machine has: it brings the checkout's own packages and its
 * pinned Node, then hands over to that Node.
 *
 *   node tools/setup.mjs run <script> [arguments]
 *   node tools/setup.mjs aw [arguments]       the command line, where npm was started
 *   node tools/setup.mjs start [arguments]    the daemon; root also gets bubblewrap, if a package manager has it
 *   node tools/setup.mjs test [arguments]     also the Debian packages that the tests use
 *   node tools/setup.mjs bench [arguments]    these too
 *   node tools/setup.mjs check [arguments]
 *
 * This file keeps to syntax that old versions read, so that they can say what is missing.
 */
const major = Number(process.versions.node.split('.')[0])

if (major < 18) {
  console.error(
    'This checkout needs Node 18 or later to set itself up, and this is Node ' + process.versions.node + '.',
  )
  console.error('Install a current Node (24 is best) and run the same command again.')
  process.exitCode = 1
} else {
  void import('./setup/main.mjs').then(function (setup) {
    return setup.main(process.argv.slice(2))
  })
}
