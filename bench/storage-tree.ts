import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export interface SourceTree {
  readonly folder: string
  readonly tree: string
  readonly files: number
  readonly archive: string
}

/** A repository with one commit: about 4 KB a file, eight files a directory, as source trees are. */
export function makeSource(folder: string, files: number): SourceTree {
  const tree = join(folder, 'tree')
  for (let n = 0; n < files; n++) {
    const directory = join(tree, directoryOf(n))
    if (n % 8 === 0) mkdirSync(directory, { recursive: true })
    writeFileSync(join(tree, fileOf(n)), `export const value${n} = ${n}\n`.repeat(20 + (n % 251)))
  }
  git(tree, 'init', '--quiet')
  git(tree, 'add', '--all')
  git(tree, 'commit', '--quiet', '--message', 'all of it')
  git(tree, 'gc', '--quiet')
  const archive = join(folder, 'tree.tar')
  execFileSync('tar', ['-C', tree, '-cf', archive, '.'])
  execFileSync('sync', ['-f', folder])
  return { folder, tree, files, archive }
}

const directoryOf = (n: number): string => {
  const directory = Math.floor(n / 8)
  return `src/part-${Math.floor(directory / 40)}/unit-${directory}`
}

export const fileOf = (n: number): string => `${directoryOf(n)}/file-${n}.ts`

/** The words of a command of git, with settings that do not depend on whose machine it is. */
export const gitWords = (tree: string, ...args: readonly string[]): string[] => [
  'git',
  '-C',
  tree,
  ...['user.name=bench', 'user.email=bench@localhost', 'gc.auto=0', 'advice.detachedHead=false'].flatMap((one) => [
    '-c',
    one,
  ]),
  ...args,
]

export function git(tree: string, ...args: readonly string[]): void {
  const [program = '', ...words] = gitWords(tree, ...args)
  execFileSync(program, words, { stdio: ['ignore', 'ignore', 'pipe'] })
}

let changes = 0

/** Ten files get a content that they never had: some of each of three directories, as of a module, its tests and its docs. */
export function changeTen(tree: string, files: number): void {
  changes += 1
  const directories = Math.floor(files / 8)
  for (const [place, count] of [4, 3, 3].entries()) {
    const directory = Math.floor((directories / 3) * place) + (changes % Math.floor(directories / 3))
    for (let i = 0; i < count; i++) writeFileSync(join(tree, fileOf(directory * 8 + i)), `change ${changes}\n`)
  }
}

/** The same, no two of them near each other: the most that ten files can make it cost. */
export function changeTenAllOver(tree: string, files: number): void {
  changes += 1
  for (let i = 0; i < 10; i++) {
    const n = Math.floor((files / 10) * i + (changes % (files / 10)))
    writeFileSync(join(tree, fileOf(n)), `change ${changes}\n`)
  }
}

/** A burst of new files, as a build makes them. */
export function burst(tree: string, round: number): void {
  const directory = join(tree, `burst-${round}`)
  mkdirSync(directory)
  const content = Buffer.alloc(10_240, `${round}`)
  for (let n = 0; n < 1000; n++) writeFileSync(join(directory, `${n}`), content)
}
