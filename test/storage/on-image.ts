import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { freemem, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { compileCache } from '../package/compile-cache.ts'

export type FileSystem = 'ext4' | 'btrfs' | 'xfs'

interface ImageRun {
  readonly fileSystem: FileSystem
  /** An ordinary user owns the mounted directory, and has no rights that others lack. */
  readonly as: 'root' | 'an ordinary user'
  /** Test files, from the root of the repository; `*.inside.ts`, so that no other run collects them. */
  readonly files: readonly string[]
  /** Only the tests whose name matches. */
  readonly only?: string | undefined
  readonly env?: Readonly<Record<string, string>> | undefined
  /** Of the file system, as `200M`; 2G without it. */
  readonly size?: string | undefined
  /** A program of root's that runs what is given to it, in surroundings that it makes. */
  readonly wrap?: readonly string[] | undefined
}

export interface Results {
  readonly passed: number
  readonly failures: readonly string[]
}

const make = {
  ext4: 'mkfs.ext4 -q -O has_journal',
  btrfs: 'mkfs.btrfs -q',
  xfs: 'mkfs.xfs -q -m reflink=1',
}

/**
 * The mount is in a namespace of its own and the device is given up as soon as it is mounted: both go with the tests
 * that run there, however they end. The image has no name any more by then. It is in memory where there is enough: none
 * of these tests cuts the power, and to wait for a disk would be most of their time.
 */
const script = `
set -e
base=$1 make=$2 uid=$3 size=$4 memory=$5
shift 5
direct=on
if [ "$memory" = yes ]; then mount -t tmpfs -o size=4G none "$base/image"; direct=off; fi
truncate -s "$size" "$base/image/file"
$make "$base/image/file" >/dev/null
loop=$(losetup --find --show --direct-io=$direct "$base/image/file")
mount -o noatime "$loop" "$base/mount" || { losetup --detach "$loop"; exit 1; }
losetup --detach "$loop"
rm "$base/image/file"
if [ "$memory" = yes ]; then umount --lazy "$base/image"; fi
mkdir "$base/mount/tmp" "$base/mount/cache" "$base/report"
chown "$uid:$uid" "$base/mount" "$base/mount/tmp" "$base/mount/cache" "$base/report"
export TMPDIR="$base/mount/tmp" HOME="$base/mount" AW_TEST_CACHE="$base/mount/cache"
exec "$@"`

const ordinary = 65534
const asOrdinary = ['setpriv', '--reuid', `${ordinary}`, '--regid', `${ordinary}`, '--clear-groups']
const inRepository = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url))

/**
 * Runs test files on a file system of their own: temporary directories are on a fresh image, mounted in a private
 * namespace. Needs root.
 */
export function runOnImage({ fileSystem, as, files, only, env, size = '2G', wrap = [] }: ImageRun): Results {
  const base = fs.mkdtempSync(join(tmpdir(), 'aw-image-'))
  const report = join(base, 'report', 'report.json')
  const [become, uid] = as === 'root' ? [[], 0] : [asOrdinary, ordinary]
  const vitest = [process.execPath, inRepository('node_modules/vitest/vitest.mjs'), 'run']
  // Nothing is written to the repository: it may not be the user's.
  const settings = [`--config=${inRepository('test/storage/inside.config.ts')}`, '--configLoader=runner']
  const told = ['--reporter=json', `--outputFile=${report}`, ...(only === undefined ? [] : ['-t', only])]
  const run = [...wrap, ...become, ...vitest, ...settings, ...told, ...files]
  try {
    fs.chmodSync(base, 0o755)
    for (const name of ['image', 'mount']) fs.mkdirSync(join(base, name))
    const command = ['sh', '-c', script, 'sh', base, make[fileSystem], `${uid}`, size, inMemory(), ...run]
    const { stdout, stderr } = spawnSync('unshare', ['--mount', ...command], {
      encoding: 'utf8',
      cwd: inRepository('.'),
      env: {
        PATH: process.env['PATH'],
        AW_ALL: process.env['AW_ALL'],
        AW_SEED: process.env['AW_SEED'],
        NODE_COMPILE_CACHE: compileCache(uid),
        ...env,
      },
      maxBuffer: 2 ** 28,
    })
    return fs.existsSync(report) ? resultsIn(report) : { passed: 0, failures: [stdout, stderr] }
  } finally {
    fs.rmSync(base, { recursive: true })
  }
}

const inMemory = (): 'yes' | 'no' => (freemem() > 6 * 2 ** 30 ? 'yes' : 'no')

interface Report {
  readonly numPassedTests: number
  readonly testResults: readonly {
    readonly message: string
    readonly assertionResults: readonly { status: string; fullName: string; failureMessages: string[] }[]
  }[]
}

function resultsIn(file: string): Results {
  const { numPassedTests, testResults } = JSON.parse(fs.readFileSync(file, 'utf8')) as Report
  const failures = testResults.flatMap(({ message, assertionResults }) => [
    ...(message === '' ? [] : [message]),
    ...assertionResults
      .filter(({ status }) => status === 'failed')
      .map(({ fullName, failureMessages }) => `${fullName}: ${failureMessages.join('\n')}`),
  ])
  // A misspelt file, or a name that matches nothing, must not look like success.
  if (numPassedTests === 0 && failures.length === 0) return { passed: 0, failures: ['No test ran'] }
  return { passed: numPassedTests, failures }
}
