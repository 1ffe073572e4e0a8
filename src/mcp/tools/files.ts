import { join } from 'node:path/posix'
import { boolean, choice, integer, list, object, string } from '../../api/schema.ts'
import type { Outputs } from '../../api/table.ts'
import { fileView } from '../../api/views.ts'
import { AwError } from '../../domain/errors.ts'
import { isText } from '../../domain/text/diff.ts'
import { limits } from '../limits.ts'
import { wholeCharacters } from '../output.ts'
import { pickFields, pickValues } from '../schema.ts'
import { entry, nextCursor, paging, type Paged } from '../tool.ts'
import { cutField } from './commands.ts'

type File = Outputs['fs stat']

const shown = ['path', 'kind', 'size', 'mode', 'mtime', 'target', 'escapes'] as const satisfies readonly (keyof File)[]
const file = pickFields(fileView, shown)
const summaryOf = (view: File): Pick<File, (typeof shown)[number]> => pickValues(view, shown)
const line = ({ path, kind, size, target, escapes }: File): string => {
  const leads = target === undefined ? '' : ` -> ${target}${escapes === true ? ' (leads out of the workspace)' : ''}`
  return `${path}${kind === 'directory' ? '/' : ''}${leads}  ${kind === 'file' ? `${size} bytes` : kind}`
}

const encodings = ['utf-8', 'base64'] as const
const where = 'Paths are below the workspace; what its source held is below work/, unless its profile is repo.'

interface Content {
  readonly content: string
  readonly encoding?: (typeof encodings)[number]
}

export const fileTools = [
  entry<'fs read', { length?: number }>({
    name: 'read_file',
    title: 'Read a file',
    of: 'fs read',
    description: `Read a file of a workspace, or with offset and length a part of it, in bytes. ${where} What is not text comes as base64.`,
    fields: ['id', 'path', 'offset'],
    add: {
      length: integer(`Read so many bytes (default ${limits.readBytes}, at most ${limits.mostReadBytes})`, {
        minimum: 1,
        maximum: limits.mostReadBytes,
      }),
    },
    output: object({
      path: string('The path'),
      encoding: choice(encodings, 'How content is written'),
      content: string('What it holds'),
      offset: integer('Where this part begins, in bytes'),
      bytes: integer('How many bytes of the file this is'),
      size: integer('How large the file is'),
      cut: cutField,
    }),
    async run(manager, { id, path, offset = 0, length = limits.readBytes }, { call }) {
      // One byte more tells whether there is more.
      const read = Buffer.from(await manager.call('fs read', { id, path, offset, length: length + 1 }, call))
      const isCut = read.length > length
      const part = isCut ? wholeCharacters(read.subarray(0, length)) : read
      const bytes = part.length > 0 || !isCut ? part : read.subarray(0, length)
      const size = isCut ? (await manager.call('fs stat', { id, path }, call)).size : offset + bytes.length
      const encoding = isText(bytes) ? 'utf-8' : 'base64'
      const content = Buffer.from(bytes).toString(encoding)
      const cut = isCut
        ? `This is ${bytes.length} of ${size} bytes; go on with offset ${offset + bytes.length}`
        : undefined
      return {
        structured: { path, encoding, content, offset, bytes: bytes.length, size, ...(isCut && { cut }) },
        text: [encoding === 'base64' ? `[base64]\n${content}` : content, ...(isCut ? [`[${cut}]`] : [])].join('\n'),
      }
    },
  }),
  entry<'fs write', Content>({
    name: 'write_file',
    title: 'Write a file',
    of: 'fs write',
    description: `Write a file of a workspace, whole or not at all: a new one, or in the place of one that is there. Missing directories are made. ${where}`,
    fields: ['id', 'path', 'existing', 'mode'],
    add: {
      content: string('What it is to hold: text, or base64 if encoding says so'),
      encoding: choice(encodings, 'How content is written (default utf-8)'),
    },
    required: ['content'],
    output: file,
    hints: { destructiveHint: true, idempotentHint: true },
    async run(manager, { encoding = 'utf-8', content, ...input }, { call }) {
      const bytes = encoding === 'base64' ? fromBase64(content) : Buffer.from(content)
      const written = await manager.call('fs write', { parents: true, ...input, content: bytes }, call)
      return { structured: summaryOf(written), text: `Wrote ${written.size} bytes to ${written.path}` }
    },
  }),
  entry<'fs list', Paged & { recursive?: boolean }>({
    name: 'list_files',
    title: 'List files',
    of: 'fs list',
    description: `List a directory of a workspace, by name and in pages. ${where}`,
    fields: ['id', 'path'],
    add: {
      ...paging,
      recursive: boolean('Everything below it instead, with paths and kinds only; it has no next page'),
    },
    output: object({
      entries: list({ ...file, required: ['path', 'kind'] }),
      next_cursor: nextCursor,
      cut: cutField,
    }),
    async run(manager, { id, path, cursor, limit = limits.items, recursive }, { call }) {
      if (recursive === true) {
        const { entries: found = [], truncated } = await manager.call('fs tree', { id, path, max_entries: limit }, call)
        const entries = found.map((one) => ({ ...one, path: join(path ?? '', one.path) }))
        const cut = `There is more than ${limit} paths: list a directory below, or give a larger limit`
        return {
          structured: { entries, next_cursor: null, ...(truncated && { cut }) },
          text: [...entries.map((one) => one.path), ...(truncated ? [`[${cut}]`] : [])].join('\n'),
        }
      }
      const { entries, next } = await manager.call('fs list', { id, path, limit, after: cursor }, call)
      const more = next === null ? [] : [`There are more; next_cursor is ${next}`]
      return {
        structured: { entries: entries.map(summaryOf), next_cursor: next },
        text: entries.length === 0 ? 'It is empty' : [...entries.map(line), ...more].join('\n'),
      }
    },
  }),
] as const

function fromBase64(content: string): Buffer {
  // No character can be read in two ways, so it takes no longer for what is none.
  if (/^[A-Za-z0-9+/\s]*(?:=\s*){0,2}$/.test(content)) return Buffer.from(content, 'base64')
  throw new AwError('invalid_input', 'content is not base64', { data: { field: 'content' } })
}
