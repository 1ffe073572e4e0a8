/** The documents are part of the product: their commands parse, their programs run, their links lead somewhere. */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { operations, type Table } from '../../src/api/table.ts'
import { sortArguments } from '../../src/cli/input/arguments.ts'
import { findCommand, flagsOfCommand } from '../../src/cli/command.ts'
import { inputsOf } from '../../src/cli/input/input.ts'
import { processIo } from '../../src/cli/io.ts'
import { inRoot, root } from '../../tools/root.ts'
import { installedAgent } from '../agents/installed.ts'
import { launcher } from '../cli/built-command.ts'
import { anchorsOf, awCallsIn, blocksOf, fileLinksOf, inlineCodeOf, stepsOf, type Step } from './markdown.ts'
import { readFiles, type SourceFile } from '../rules/source-tree.ts'

const pages = readFiles('*.md', 'docs/*.md', 'docs/adr/*.md', 'docs/guides/*.md', 'docs/spec/*.md')
const table: Table = operations

const folder = mkdtempSync(join(tmpdir(), 'aw-docs-'))
const bin = join(folder, 'bin')

beforeAll(() => {
  mkdirSync(bin)
  symlinkSync(launcher, join(bin, 'aw'))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The shell of a page: `sh` blocks, and the typed lines of `console` blocks. */
const shellOf = ({ text }: SourceFile): string =>
  blocksOf(text)
    .flatMap(({ language, text: block }) => {
      if (language === 'sh') return [block]
      return language === 'console' ? stepsOf(block).map(({ command }) => `${command}\n`) : []
    })
    .join('')

const named = (page: SourceFile): [string, SourceFile] => [page.path, page]

describe('commands', () => {
  const commands = pages.flatMap((page) => awCallsIn(shellOf(page)).map((words) => [page.path, words.join(' '), words]))

  test('are found', () => {
    expect(commands.length).toBeGreaterThan(50)
  })

  test.each(commands as [string, string, string[]][])('%s: aw %s', async (_page, _line, words) => {
    if (words[0] === '--version') return
    const command = findCommand(words, table)
    expect(command.kind).not.toBe('group')
    const operation = command.kind === 'operation' ? command.operation : undefined
    const given = sortArguments(command.rest, flagsOfCommand(command))
    const io = { ...processIo(), stdin: async () => Buffer.from('text') }
    const isFile = command.rest.some((word) => word.startsWith('@'))
    if (operation !== undefined && !isFile) expect(await inputsOf(operation, given, io)).not.toEqual([])
  })

  /** In a sentence a command may stand without its arguments, or with names for them. */
  const mentioned = pages.flatMap((page) =>
    inlineCodeOf(page.text)
      .filter((code) => /^aw [a-z-]/.test(code))
      .map((code): [string, string] => [page.path, code]),
  )

  test.each(mentioned)('%s mentions: %s', (_page, code) => {
    const [words = []] = awCallsIn(code.replaceAll(/[[\]]/g, ' '))
    if (words[0]?.startsWith('-') === true) return
    const command = findCommand(words, table)
    expect(() => sortArguments(command.rest, flagsOfCommand(command))).not.toThrow()
  })
})

test.each(pages.map(named))('%s: links lead to what is there', (path, { text }) => {
  const missing = fileLinksOf(text).filter(({ file, fragment }) => {
    const target = join(dirname(path), file)
    if (!existsSync(inRoot(target))) return true
    return fragment !== '' && readFiles(target).every((page) => !anchorsOf(page.text).includes(fragment))
  })
  expect(missing).toEqual([])
})

describe('programs: the TypeScript of a page is one program', () => {
  const programs = pages
    .map((page): [string, string] => [page.path, typescriptOf(page)])
    .filter(([, program]) => program !== '')

  test('are found', () => {
    const pages = ['daemon', 'events', 'results', 'runs', 'sandboxes', 'sdk', 'snapshots', 'sources', 'tokens'].map(
      (name) => `docs/guides/${name}.md`,
    )
    expect(programs.map(([path]) => path)).toEqual(['README.md', ...pages])
  })

  /** A project that has the package installed. */
  const project = join(folder, 'project')

  beforeAll(() => {
    mkdirSync(join(project, 'node_modules'), { recursive: true })
    symlinkSync(root, join(project, 'node_modules/agent-workspaces'))
    writeFileSync(join(project, 'package.json'), '{ "private": true, "type": "module" }')
    const compilerOptions = { typeRoots: [inRoot('node_modules/@types')] }
    writeFileSync(
      join(project, 'tsconfig.json'),
      JSON.stringify({ extends: inRoot('tsconfig.json'), compilerOptions, include: ['*.ts'] }),
    )
    for (const [path, program] of programs) writeFileSync(join(project, fileOf(path)), program)
  })

  const fileOf = (path: string): string => `${path.replaceAll(/\W/g, '-')}.ts`

  test('have the right types', () => {
    const tsc = [inRoot('node_modules/typescript/bin/tsc'), '-p', project]
    expect(spawnSync(process.execPath, tsc, { encoding: 'utf8' })).toMatchObject({ status: 0, stdout: '' })
  })

  test.each(programs)('%s runs', (path) => {
    const home = join(folder, `home-of-${fileOf(path)}`)
    const options = { cwd: project, encoding: 'utf8', env: { ...process.env, AW_HOME: home } } as const
    // The page about the daemon is read by those who have started one.
    const serve = (flag: string): void => {
      if (path.endsWith('daemon.md')) spawnSync(process.execPath, [inRoot('dist/aw.cjs'), 'serve', flag], options)
    }
    serve('--detach')
    const { status, stderr } = spawnSync(process.execPath, [fileOf(path)], options)
    serve('--stop')
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(existsSync(join(home, 'log.db'))).toBe(true)
  })
})

function typescriptOf({ text }: SourceFile): string {
  return blocksOf(text)
    .filter(({ language }) => language === 'ts')
    .map(({ text: block }) => block)
    .join('\n')
}

describe('sessions: the console blocks of a page are what a terminal shows', () => {
  const sessions = pages
    .map((page): [string, readonly Step[]] => [page.path, sessionOf(page)])
    .filter(([, steps]) => steps.length > 0)

  test('are found', () => {
    expect(sessions.map(([path]) => path)).toContain('README.md')
  })

  test.each(sessions)('%s', async (path, steps) => {
    await using model = await playedModel()
    const home = join(folder, `session-of-${path.replaceAll('/', '-')}`)
    mkdirSync(join(home, 'project'), { recursive: true })
    writeFileSync(join(home, 'project', 'app.py'), 'print("hello")\n')
    makeSite(join(home, 'site'))
    const env = {
      PATH: [bin, installedAgent('claude'), dirname(process.execPath), '/usr/bin', '/bin'].join(delimiter),
      HOME: home,
      TERM: 'xterm',
      NO_COLOR: '1',
      // What everybody has, on every file system.
      AW_STORAGE_DRIVER: 'dir',
      ANTHROPIC_API_KEY: 'sk-ant-nobody',
      ANTHROPIC_BASE_URL: model.url,
    }
    /** Runs it in a terminal of its own: what is printed there is for people. */
    const seen = steps.map(({ command }) => {
      const printed = execFileSync('script', ['-qec', `stty cols 100; ${command}`, '/dev/null'], {
        cwd: home,
        encoding: 'utf8',
        env,
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      return { command, output: settled(printed.replaceAll(home, '~')) }
    })
    expect(seen).toEqual(steps.map(({ command, output }) => ({ command, output: settled(output) })))
  })
})

/** A repository of the user's. */
function makeSite(folder: string): void {
  mkdirSync(folder)
  writeFileSync(join(folder, 'clock.py'), 'import datetime\nprint(datetime.datetime.utcnow())\n')
  const who = '-c user.name=Ada -c user.email=ada@example.com'
  execFileSync('sh', ['-c', `git init -q -b main . && git add . && git ${who} commit -qm "A clock"`], { cwd: folder })
}

/** What the model of the agent in the pages says, from a process of its own: this one waits for the commands. */
async function playedModel(): Promise<AsyncDisposable & { url: string }> {
  const command = "sed -i 's/utcnow()/now().astimezone()/' clock.py && git commit -qam 'Show local time'"
  const turns = {
    'an hour late': [
      { tool: 'Bash', input: { command, description: 'Mend it' } },
      { text: 'The clock shows local time now; it was UTC.' },
    ],
    'time zones': [{ tool: 'Bash', input: { command: 'tail -f /dev/null', description: 'Look for them' } }],
  }
  const program = [inRoot('test/agents/stand-in-program.ts'), JSON.stringify(turns)]
  const child = spawn(process.execPath, program, { stdio: ['pipe', 'pipe', 'inherit'] })
  const [address] = (await once(child.stdout, 'data')) as [Buffer]
  return {
    url: address.toString().trim(),
    async [Symbol.asyncDispose]() {
      const ended = once(child, 'exit')
      child.stdin.end()
      await ended
    },
  }
}

function sessionOf({ text }: SourceFile): readonly Step[] {
  return blocksOf(text)
    .filter(({ language }) => language === 'console')
    .flatMap(({ text: block }) => stepsOf(block))
}

/** Without what differs from run to run: sizes, times, ids, spaces for alignment, and what a terminal adds. */
function settled(output: string): string {
  // What a slow machine shows of its progress is erased again.
  // eslint-disable-next-line no-control-regex
  return stripVTControlCharacters(output.replaceAll(/\r\u001b\[K[^\r\n]*(?=\r\u001b\[K)/g, ''))
    .replaceAll(/\d+(\.\d+)? (?:B|[KMG]iB)\b/g, 'SIZE')
    .replaceAll(/\b(?:now|\d+[smhd])\b/g, 'AGE')
    .replaceAll(/\d{4}-\d\d-\d\d[ T][\d:.]+Z?/g, 'TIME')
    .replaceAll(/\b[0-9a-f]{64}\b/g, 'HASH')
    .replaceAll(/\b[0-9a-f]{40}\b/g, 'COMMIT')
    .replaceAll(/\b[0-9a-f]{12}\b/g, 'COMMIT')
    .replaceAll(/\b\d+\.\d s\b/g, 'SECONDS s')
    .replaceAll(/^(\S+ +\d+ +(?:completed|failed|cancelled) +AGE +)\d+\.\d/gm, '$1SECONDS')
    .replaceAll(/\bsnap_[0-9a-z]{26}\b/g, 'SNAPSHOT')
    .replaceAll('\r', '')
    .replaceAll(/ +/g, ' ')
    .replaceAll(milliseconds, '$1 MS ')
    .trimEnd()
}

/** In a row of `aw history`, after how the command ended. */
const milliseconds = /^(AGE (?:\d+|SIG\w+|timed out)) \d+ /gm

test('calls of aw are found in shell, and nothing else is', () => {
  const words = (shell: string): string[] => awCallsIn(shell).map((call) => call.join('|'))
  expect(words(`aw create --id a/b --config '{"x": 1}'  # aw in a comment\naw list`)).toEqual([
    'create|--id|a/b|--config|{"x": 1}',
    'list',
  ])
  expect(words('cd "$(aw path a)/work" && claude')).toEqual(['path|a'])
  expect(words('echo aw list | aw fs write a b > /dev/null; source <(aw completion bash)')).toEqual([
    'fs|write|a|b',
    'completion|bash',
  ])
})
