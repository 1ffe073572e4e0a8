import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { place } from '../cli/built-command.ts'

test('a socket of another user is not asked, whatever it would answer', async () => {
  using at = place('ordinary')
  expect(at.aw('create', 'a').code).toBe(0)
  const socket = join(at.home, 'aw.sock')
  let asked = 0
  const other = createServer((connection) => {
    asked += 1
    connection.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]')
  })
  await new Promise<void>((resolve) => other.listen(socket, resolve))
  const listed = new Promise<string>((resolve) => {
    const program = at.start('list', '-q')
    let text = ''
    program.stdout.on('data', (part: Buffer) => (text += part.toString()))
    program.on('close', () => resolve(text))
  })
  const isOther = process.getuid?.() === 0
  expect((await listed).includes('a/main')).toBe(isOther)
  expect(asked > 0).toBe(!isOther)
  await new Promise((resolve) => other.close(resolve))
})
