import { AwError } from '../errors.ts'

export interface TcpAddress {
  readonly host: string
  readonly port: number
}

/** A port of this machine's loopback, and nothing else: whoever can be reached from elsewhere belongs behind a proxy. */
export function parseTcpAddress(text: string): TcpAddress | undefined {
  if (text === '') return undefined
  const [, host = '', port = ''] = /^(\[[^\]]*\]|[^:]*):(\d{1,5})$/.exec(text) ?? []
  const address = { localhost: '127.0.0.1', '127.0.0.1': '127.0.0.1', '[::1]': '::1' }[host.toLowerCase()]
  if (address === undefined || Number(port) > 65_535)
    throw new AwError('invalid_config', `aw does not listen at ${text}`, {
      hint: 'It listens at the loopback alone: 127.0.0.1:PORT, [::1]:PORT or localhost:PORT; 0 takes any free port',
      data: { listen: text },
    })
  return { host: address, port: Number(port) }
}
