/** Files that are larger than anybody would want to hold in memory go through the daemon piece by piece. */
import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { killableHome } from './killable.ts'

const mb = 2 ** 20
const size = 300 * mb
const piece = Buffer.alloc(mb)

/** Each piece is another. */
function* pieces(): Generator<{ readonly kind: 'data'; readonly data: Buffer }> {
  for (let i = 0; i < size / mb; i++) {
    piece.writeUInt32LE(i)
    yield { kind: 'data', data: Buffer.from(piece) }
  }
}

async function* slowed(): AsyncGenerator<{ readonly kind: 'data'; readonly data: Buffer }> {
  yield* pieces()
}

test('300 MB go up and come down whole, and the daemon holds a small part of them at a time', async () => {
  // How fast it goes is not what is tried here.
  await using home = killableHome(['server.request_timeout_ms=30000'])
  const daemon = await home.serve()
  const manager = home.client()
  const { id } = await manager.call('create', { id: 'a' })
  const before = daemon.memory()
  let most = before
  const watch = setInterval(() => (most = Math.max(most, daemon.memory())), 20)
  try {
    const sent = createHash('sha256')
    for (const { data } of pieces()) sent.update(data)
    await manager.call('fs upload', { id, path: 'work/large' }, { input: slowed() })
    const got = createHash('sha256')
    let bytes = 0
    for await (const { data } of manager.stream('fs download', { id, path: 'work/large' })) {
      got.update(data)
      bytes += data.length
    }
    expect([bytes, got.digest('hex')]).toEqual([size, sent.digest('hex')])
  } finally {
    clearInterval(watch)
  }
  expect(most - before).toBeLessThan(150)
})
