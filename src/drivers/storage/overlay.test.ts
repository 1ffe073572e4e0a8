import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hostSubject } from '../../testing/host-subject.ts'
import { everySuite, storageContract } from '../../testing/storage-contract.ts'
import { overlayStorage } from './overlay.ts'

/** Everything that is mounted below a directory. */
function unmountBelow(base: string): void {
  const paths = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .flatMap((line) => line.split(' ')[4] ?? [])
    .filter((path) => path.startsWith(`${base}/`))
  for (const path of paths.toReversed()) execFileSync('umount', [path])
}

storageContract(
  'overlay',
  async () => {
    const base = mkdtempSync(join(tmpdir(), 'aw-overlay-'))
    const root = join(base, 'storage')
    const open = () => overlayStorage({ root, claim: join(base, 'storage.id') })
    return hostSubject({ base, root, open, close: () => unmountBelow(base) })
  },
  everySuite,
)
