import type { Operation } from '../api/operation.ts'
import type { JsonSchema } from '../api/schema.ts'
import { operations, type Inputs, type OperationName } from '../api/table.ts'
import { AwError } from '../domain/errors.ts'
import type { CallContext, Manager } from '../ports/manager.ts'
import { limits } from './limits.ts'
import { pickFields, publicSchema } from './schema.ts'

/** What an agent can call, made from an entry of the operation table. */
export interface Tool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly input: JsonSchema
  readonly output: JsonSchema
  readonly annotations: Annotations
  readonly call: (manager: Manager, input: never, context: ToolContext) => Promise<Answer>
}

export interface Annotations {
  readonly readOnlyHint: boolean
  readonly destructiveHint: boolean
  readonly idempotentHint: boolean
  readonly openWorldHint: boolean
}

export interface ToolContext {
  readonly call: Omit<CallContext, 'input' | 'within'>
  /** Told what a command writes, as it comes. */
  readonly onOutput: (data: Uint8Array) => void
}

export interface Answer {
  readonly structured: Readonly<Record<string, unknown>>
  /** The same for those who read only text. */
  readonly text: string
}

/** How a tool is written down. `N`: the operation that it stands for; `A`: fields that the operation does not have. */
export interface ToolEntry<N extends OperationName, A extends object = object> {
  readonly name: string
  readonly title: string
  readonly of: N
  readonly description: string
  /** The fields of the operation that are an agent's business, and no others: what is new there is not so by itself. */
  readonly fields: readonly (keyof Inputs[N] & string)[]
  /** Fields that are not offered by a server for one workspace: other workspaces, and what its walls are. */
  readonly outward?: readonly string[]
  /** Fields of the tool's own, or others in the place of the operation's. */
  readonly add?: { readonly [K in Exclude<keyof A, 'id'>]-?: JsonSchema }
  readonly required?: readonly string[]
  readonly output: JsonSchema
  /** Where the kind of the operation does not say it all. */
  readonly hints?: Partial<Annotations>
  /** `home`: about many workspaces, or what makes or ends them. `one`: only for a server for one workspace. */
  readonly where?: 'home' | 'one'
  readonly run: (manager: Manager, input: Inputs[N] & A, context: ToolContext) => Promise<Answer>
}

/** Tools of different operations in one list. */
export type AnyEntry = { [N in OperationName]: ToolEntry<N, never> }[OperationName]

export const entry = <N extends OperationName, A extends object = object>(given: ToolEntry<N, A>): AnyEntry =>
  given as never

/** For all workspaces; or for one, whose tools take no id: they are given it. */
export function toolOf(given: AnyEntry, workspace: string | undefined): Tool {
  const {
    name,
    title,
    description,
    of,
    fields,
    outward = [],
    add = {},
    required = [],
    output,
    hints,
  } = given as unknown as ToolEntry<OperationName>
  const operation = operations.find((one) => one.name === of) as Operation
  const own: readonly string[] =
    workspace === undefined ? fields : fields.filter((field) => field !== 'id' && !outward.includes(field))
  const added = Object.entries(add as Readonly<Record<string, JsonSchema>>).filter(
    ([field]) => workspace === undefined || !outward.includes(field),
  )
  const run = given.run as ToolEntry<OperationName>['run']
  return {
    name,
    title,
    description,
    input: pickFields(operation.input, own, {
      add: Object.fromEntries(added),
      required: required.filter((field) => field !== 'id' || workspace === undefined),
    }),
    output: publicSchema(output),
    annotations: { ...annotationsOf(operation), ...hints },
    call: (manager, input, context) =>
      run(manager, workspace === undefined ? input : { ...(input as object), id: workspace }, context),
  }
}

const annotationsOf = ({ kind }: Operation): Annotations => ({
  readOnlyHint: kind === 'read',
  destructiveHint: kind === 'destructive',
  idempotentHint: kind === 'read',
  openWorldHint: false,
})

/** Fields of a list that comes in pages. */
export interface Paged {
  readonly cursor?: string
  readonly limit?: number
}

export const paging: { readonly [K in keyof Paged]-?: JsonSchema } = {
  cursor: { type: 'string', description: 'next_cursor of the answer before, for what follows it' },
  limit: {
    type: 'integer',
    description: `At most so many (default ${limits.items})`,
    minimum: 1,
    maximum: limits.mostItems,
  },
}

export const nextCursor: JsonSchema = {
  description: 'There is more: give it as cursor. null: this is the end',
  anyOf: [{ type: 'string' }, { type: 'null' }],
}

/** A cursor that counts. */
export function countIn(cursor = '0'): number {
  const count = /^\d{1,12}$/.test(cursor) ? Number(cursor) : Number.NaN
  if (Number.isSafeInteger(count)) return count
  throw new AwError('invalid_input', `cursor is ${JSON.stringify(cursor.slice(0, 60))}; it is not one of this tool’s`, {
    hint: 'Give next_cursor of the answer before, or leave it out to begin anew',
    data: { field: 'cursor' },
  })
}
