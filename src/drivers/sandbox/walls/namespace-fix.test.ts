import { expect, it } from 'vitest'
import { fixes } from '../../../domain/sandbox/fixes.ts'
import { namespaceFix } from './namespace-fix.ts'

const denied = 'bwrap: No permissions to create new namespace'

/** A machine with these files, and user namespaces in its kernel. */
const machine = (files: Readonly<Record<string, string>>, isRoot = false) => ({
  read: (path: string): string | undefined => files[path],
  exists: (path: string): boolean => path in files || path === '/proc/self/ns/user',
  isRoot,
})

it.each([
  ['a sysctl', { '/proc/sys/user/max_user_namespaces': '0\n' }, denied, fixes.maxUserNamespaces],
  ['the sysctl of Debian', { '/proc/sys/kernel/unprivileged_userns_clone': '0\n' }, denied, fixes.usernsClone],
  [
    'the AppArmor of Ubuntu',
    { '/proc/sys/kernel/apparmor_restrict_unprivileged_userns': '1\n' },
    'bwrap: setting up uid map: Permission denied',
    fixes.apparmor,
  ],
  [
    'the same when the network is set up',
    { '/proc/sys/kernel/apparmor_restrict_unprivileged_userns': '1\n' },
    'bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted',
    fixes.apparmor,
  ],
  ['a container', { '/.dockerenv': '' }, denied, fixes.container],
  ['podman', { '/run/.containerenv': '' }, denied, fixes.container],
  ['a pod', { '/proc/1/cgroup': '0::/kubepods/besteffort/pod1\n' }, denied, fixes.container],
  ['a filter', { '/proc/self/status': 'Name:\taw\nSeccomp:\t2\n' }, denied, fixes.container],
  [
    'a container that hides /proc',
    { '/.dockerenv': '' },
    "bwrap: Can't mount proc on /newroot/proc: Operation not permitted",
    fixes.containerProc,
  ],
])('knows what %s needs', (_, files, said, fix) => {
  expect(namespaceFix(said, machine(files))).toBe(fix)
})

it('knows a kernel without user namespaces', () => {
  expect(namespaceFix(denied, { ...machine({}), exists: () => false })).toBe(fixes.noUserNamespaces)
})

it('does not blame what is no trouble for root', () => {
  const files = {
    '/proc/sys/kernel/unprivileged_userns_clone': '0',
    '/proc/sys/kernel/apparmor_restrict_unprivileged_userns': '1',
  }
  expect(namespaceFix(denied, machine(files, true))).toBeUndefined()
})

it('says nothing about other failures', () => {
  expect(namespaceFix('the box took too long to start', machine({ '/.dockerenv': '' }))).toBeUndefined()
  expect(namespaceFix(denied, machine({}))).toBeUndefined()
})
