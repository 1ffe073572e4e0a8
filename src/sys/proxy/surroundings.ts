import { lookup } from 'node:dns/promises'
import { networkInterfaces } from 'node:os'

/** What the proxy asks the machine. */
export interface Surroundings {
  /** The addresses of a name, the best first. Rejects if there are none. */
  lookup(name: string): Promise<readonly string[]>
  /** The machine's own, on every interface. */
  ownAddresses(): readonly string[]
}

export const machine: Surroundings = {
  async lookup(name) {
    const found = await lookup(name, { all: true, order: 'verbatim' })
    return found.map(({ address }) => address)
  },
  ownAddresses: () => Object.values(networkInterfaces()).flatMap((all = []) => all.map(({ address }) => address)),
}
