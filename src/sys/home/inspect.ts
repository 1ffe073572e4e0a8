import { statSync } from 'node:fs'
import { toAwError } from '../../domain/errors.ts'
import { copyProgram, copyProgramName } from '../copy/helper.ts'
import { fileSystemOf, nearestExisting } from '../fs/file-system.ts'
import { native, nativeHint, nativeProblem } from '../syscalls/native.ts'
import { findProgram, run } from '../processes/run.ts'

export interface Finding {
  readonly name: string
  readonly status: 'ok' | 'warning' | 'problem' | 'info'
  readonly message: string
  readonly hint: string | null
}

/** What this machine gives us, tried and not guessed. */
export async function inspectHost({ home, storageRoot }: { home: string; storageRoot: string }): Promise<Finding[]> {
  return [
    node(),
    files(),
    copies(),
    homeDirectory(home),
    fileSystem(storageRoot),
    partition(storageRoot),
    await git([home, storageRoot]),
  ]
}

function node(): Finding {
  return {
    name: 'node',
    status: 'ok',
    message: `${process.version} on ${process.platform} ${process.arch}`,
    hint: null,
  }
}

function files(): Finding {
  const name = 'file layer'
  const calls = native()
  if (calls?.hasOpenat2)
    return { name, status: 'ok', message: `names are resolved by the kernel (openat2, by addon)`, hint: null }
  const why = calls === undefined ? nativeProblem() : 'the kernel has no openat2, or a filter forbids it'
  return {
    name,
    status: 'warning',
    message: `names are resolved step by step over /proc/self/fd, equally safe but slower: ${why}`,
    hint: calls === undefined ? `${nativeHint}; without it extended attributes are not kept either` : null,
  }
}

function copies(): Finding {
  const name = 'copies of trees'
  if (copyProgram() !== undefined)
    return {
      name,
      status: 'ok',
      message: 'a program copies, makes and looks at trees, with several threads',
      hint: null,
    }
  return {
    name,
    status: 'info',
    message: `trees are copied, made and looked at file after file, equally safe but slower: there is no ${copyProgramName}`,
    hint: 'Build it in a checkout, with the package musl-tools: node tools/build-box.ts',
  }
}

function homeDirectory(home: string): Finding {
  const { mode, uid } = statSync(home)
  const open = (mode & 0o077) !== 0
  return {
    name: 'home',
    status: open ? 'warning' : 'ok',
    message: `${home}, mode ${(mode & 0o777).toString(8)}, owner ${uid}`,
    hint: open ? `Others of this machine can look into it: chmod 700 ${home}` : null,
  }
}

function fileSystem(root: string): Finding {
  const kind = fileSystemOf(root)
  const volatile = kind === 'tmpfs'
  return {
    name: 'file system',
    status: volatile ? 'warning' : 'info',
    message: `workspaces are kept on ${kind}`,
    hint: volatile ? 'Everything is gone after a reboot; set storage.root to a disk' : null,
  }
}

/** Whoever fills a partition that the system writes to as well stops more than its own work. */
function partition(root: string): Finding {
  const device = deviceOf(root)
  const shared = ['/', '/home'].find((path) => deviceOf(path) === device)
  if (shared === undefined)
    return { name: 'partition', status: 'ok', message: 'workspaces have a partition of their own', hint: null }
  return {
    name: 'partition',
    status: 'info',
    message: `workspaces are on the same partition as ${shared}: if they fill it, nobody can write there`,
    hint: 'Set storage.root to another disk, make a pool (aw init --storage btrfs), or set space.budget_mb',
  }
}

const deviceOf = (path: string): number | undefined => statSync(nearestExisting(path), { throwIfNoEntry: false })?.dev

async function git(avoid: readonly string[]): Promise<Finding> {
  const name = 'git'
  const program = findProgram('git', avoid)
  if (program === undefined)
    return {
      name,
      status: 'info',
      message: 'git is not installed',
      hint: 'Install it to create workspaces from repositories and to export commits',
    }
  try {
    const { stdout } = await run(program, ['--version'], { cwd: '/', env: { LC_ALL: 'C' }, timeoutMs: 5000 })
    return { name, status: 'ok', message: stdout.trim(), hint: null }
  } catch (error) {
    const { code, message } = toAwError(error)
    if (code !== 'timeout')
      return { name, status: 'warning', message: `${program} does not work: ${message}`, hint: 'Install git again' }
    return {
      name,
      status: 'warning',
      message: `${program} --version did not answer within 5 s`,
      hint: 'Run it yourself to see what holds it up, or try again when the machine is less busy',
    }
  }
}
