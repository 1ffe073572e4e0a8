import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

const lingerMs = 1000

/**
 * The last words on a socket that no server looks after any more. It is closed when the other side is done, and
 * soon also where it is not: otherwise it could be held open for as long as they like.
 */
export function endWithLinger(socket: Duplex, text: string): void {
  socket.end(text)
  // To close while something still comes in would throw away what was sent, before it is read.
  socket.resume()
  const late = setTimeout(() => socket.destroy(), lingerMs)
  socket.once('close', () => clearTimeout(late))
}

const readMs = 5000

/** Ends an answer. Whoever does not take the rest of it soon loses it: it would stay here as long as they do. */
export function endResponse(response: ServerResponse): void {
  const late = setTimeout(() => response.destroy(), readMs)
  response.once('close', () => clearTimeout(late))
  response.end()
}
