import { parseAddress, type Address } from './address.ts'

/** What an address leads to. A name may only ever lead to `public` ones. */
export type AddressClass =
  | 'public'
  | 'loopback'
  | 'private'
  | 'shared'
  | 'link_local'
  | 'metadata'
  | 'multicast'
  | 'documentation'
  | 'translated'
  | 'reserved'

type Ranges = readonly (readonly [string, AddressClass])[]

/**
 * The first row that holds the address decides. What translates or wraps another address (NAT64, 6to4, Teredo,
 * IPv4-compatible) is refused as a whole: where it ends is decided by machines that we do not know.
 */
const ipv4Classes: Ranges = [
  // Of clouds: Amazon, Google, Azure and most others; Azure's agent; Alibaba; Oracle.
  ['169.254.169.254/32', 'metadata'],
  ['168.63.129.16/32', 'metadata'],
  ['100.100.100.200/32', 'metadata'],
  ['192.0.0.192/32', 'metadata'],
  ['127.0.0.0/8', 'loopback'],
  ['10.0.0.0/8', 'private'],
  ['172.16.0.0/12', 'private'],
  ['192.168.0.0/16', 'private'],
  ['100.64.0.0/10', 'shared'],
  ['169.254.0.0/16', 'link_local'],
  ['224.0.0.0/4', 'multicast'],
  ['192.0.2.0/24', 'documentation'],
  ['198.51.100.0/24', 'documentation'],
  ['203.0.113.0/24', 'documentation'],
  ['192.88.99.0/24', 'translated'],
  // This network, protocol assignments, benchmarks, the future and broadcast.
  ['0.0.0.0/8', 'reserved'],
  ['192.0.0.0/24', 'reserved'],
  ['198.18.0.0/15', 'reserved'],
  ['240.0.0.0/4', 'reserved'],
  ['0.0.0.0/0', 'public'],
]

const ipv6Classes: Ranges = [
  ['fd00:ec2::254/128', 'metadata'],
  ['fd00:ec2::23/128', 'metadata'],
  ['fd20:ce::254/128', 'metadata'],
  ['::1/128', 'loopback'],
  ['64:ff9b::/96', 'translated'],
  ['64:ff9b:1::/48', 'translated'],
  ['2002::/16', 'translated'],
  ['2001::/32', 'translated'],
  ['::/96', 'translated'],
  ['fc00::/7', 'private'],
  ['fec0::/10', 'private'],
  ['fe80::/10', 'link_local'],
  ['ff00::/8', 'multicast'],
  ['2001:db8::/32', 'documentation'],
  ['3fff::/20', 'documentation'],
  // Protocol assignments, of which none is a host of somebody.
  ['2001::/23', 'reserved'],
  ['2000::/3', 'public'],
  ['::/0', 'reserved'],
]

export function classifyAddress(address: Address): AddressClass {
  const table = address.family === 4 ? ipv4Classes : ipv6Classes
  return rowsOf(table).find(({ prefix, bits }) => holds(prefix, bits, address.bytes))?.class ?? 'reserved'
}

interface ClassRow {
  readonly prefix: readonly number[]
  readonly bits: number
  readonly class: AddressClass
}

const known = new Map<Ranges, readonly ClassRow[]>()

/** Made by the first who asks: most commands never meet an address. */
function rowsOf(table: Ranges): readonly ClassRow[] {
  const rows = known.get(table) ?? table.map(rowOf)
  known.set(table, rows)
  return rows
}

function rowOf([range, name]: Ranges[number]): ClassRow {
  const [text = '', bits] = range.split('/')
  return { prefix: parseAddress(text)?.bytes ?? [], bits: Number(bits), class: name }
}

function holds(prefix: readonly number[], bits: number, bytes: readonly number[]): boolean {
  return bytes.every((byte, at) => {
    const counted = Math.min(8, Math.max(0, bits - at * 8))
    const mask = (0xff << (8 - counted)) & 0xff
    return (byte & mask) === ((prefix[at] ?? 0) & mask)
  })
}
