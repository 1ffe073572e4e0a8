import { AwError } from '../../../domain/errors.ts'

/**
 * Root becomes a user of its own for good, with no other group: what is sent by a box is never read by root. Its own
 * files may be where only root gets to, so that it is done here, after they were read, and not before. Throws unless it
 * is done.
 */
export function becomeUser(user: number | undefined): void {
  const { getuid, geteuid, getgid, getgroups, setgroups, setgid, setuid } = process
  if (!getuid || !geteuid || !getgid || !getgroups || !setgroups || !setgid || !setuid) throw refusal()
  if (getuid() === 0 && user !== undefined) {
    setgroups([])
    setgid(user)
    setuid(user)
    if (getgid() !== user || getgroups().some((group) => group !== user)) throw refusal()
  }
  if (getuid() === 0 || geteuid() === 0 || getuid() !== (user ?? getuid())) throw refusal()
}

const refusal = (): AwError => new AwError('sandbox_unenforceable', 'The proxy of a sandbox never runs as root')
