import { operation } from '../operation.ts'
import { bytes, integer, object, optional, string } from '../schema.ts'
import { fileView } from '../views.ts'
import { absolute, id, path, pathErrors, writeErrors, writeFields } from './file-fields.ts'

export const fileStreamOperations = [
  operation({
    name: 'fs download',
    kind: 'read',
    group: 'Files',
    routes: ['GET /workspaces/:id/files/download'],
    scope: 'fs:read',
    names: { id: 'workspace' },
    gives: 'bytes',
    summary: 'Print a file of any size, piece by piece',
    details: 'All of it is of the file that was there at the beginning, also if another one takes its place meanwhile.',
    input: object({
      id,
      path,
      absolute,
      offset: optional(integer('Start here', { minimum: 0 })),
      length: optional(integer('Read so many bytes', { minimum: 0 })),
    }),
    output: object({
      size: integer('Of the whole file'),
      offset: integer('Where this piece begins'),
      mtime: string('When it was changed (ISO 8601)'),
      data: bytes('The piece; the only one of an empty file is empty'),
    }),
    form: 'stream',
    ends: true,
    positional: ['id', 'path'],
    states: 'files_read',
    errors: [...pathErrors, 'not_a_file', 'aborted'],
    examples: ['aw fs download fix-login output/disk.img > disk.img'],
  }),
  operation({
    name: 'fs upload',
    kind: 'write',
    group: 'Files',
    routes: ['PUT /workspaces/:id/files/upload'],
    scope: 'fs:write',
    names: { id: 'workspace' },
    takes: 'bytes',
    summary: 'Write a file of any size from standard input, whole or not at all',
    details: 'Nothing is to be seen of it before all of it is there, and nothing is left of it if it breaks off.',
    input: object({
      id,
      path,
      ...writeFields,
      size: optional(
        integer('Its size: refused at once if there is no room, and if other than that comes', { minimum: 0 }),
      ),
      max_bytes: optional(integer('Refuse more than this', { minimum: 0 })),
    }),
    output: fileView,
    positional: ['id', 'path'],
    states: 'files_write',
    errors: [...writeErrors, 'invalid_input', 'workspace_busy', 'aborted'],
    examples: ['aw fs upload fix-login work/disk.img < disk.img'],
  }),
] as const
