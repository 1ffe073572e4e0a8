import { readFileSync } from 'node:fs'
import { isIPv4, type Socket } from 'node:net'
import { endianness } from 'node:os'

/** An end of a connection stays the same user's. */
const known = new WeakMap<Socket, number>()

/**
 * Which user is at the other end of a connection of this machine's loopback, from the kernel's list of sockets: the other
 * end is in it, too. Undefined if it is not, or not any more.
 */
export function tcpPeers(): (socket: Socket) => number | undefined {
  let table: string | undefined
  return (socket) => {
    const before = known.get(socket)
    if (before !== undefined) return before
    table ??= tableOf('/proc/net/tcp') + tableOf('/proc/net/tcp6')
    const uid = ownerIn(table, socket)
    if (uid !== undefined) known.set(socket, uid)
    return uid
  }
}

function tableOf(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    // Without IPv6, or without /proc: then nobody can be told from another.
    return ''
  }
}

/** A line is: its number, our end as they see it, state, four fields, uid. They may use IPv6 to come by IPv4. */
function ownerIn(table: string, { remoteAddress = '', remotePort = 0, localAddress = '', localPort = 0 }: Socket) {
  for (const mapped of [false, true]) {
    const ends = `${endOf(remoteAddress, remotePort, mapped)} ${endOf(localAddress, localPort, mapped)} 01 `
    const at = table.indexOf(`: ${ends}`)
    if (at < 0) continue
    const uid = table
      .slice(at + ends.length + 2, at + ends.length + 200)
      .trim()
      .split(/\s+/)[3]
    return Number(uid)
  }
  return undefined
}

/** `0100007F:1F90`: the words of the address in the order of this machine's bytes, and the port. */
function endOf(given: string, port: number, mapped: boolean): string {
  const address = given.replace(/^::ffff:/i, '')
  const prefix = mapped ? [0, 0, 0xffff] : []
  const words = isIPv4(address) ? [...prefix, wordOf(address)] : [0, 0, 0, 1]
  return `${words.map(hex).join('')}:${port.toString(16).toUpperCase().padStart(4, '0')}`
}

const wordOf = (address: string): number => address.split('.').reduce((word, part) => word * 256 + Number(part), 0)

function hex(word: number): string {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(word)
  return (endianness() === 'LE' ? bytes.reverse() : bytes).toString('hex').toUpperCase()
}
