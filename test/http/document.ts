import type { JsonSchema } from '../../src/api/schema.ts'

/** The parts of the OpenAPI document that are read here. */

export interface Document {
  readonly openapi: string
  readonly info: object
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentOperation>>>>
}

export interface DocumentOperation {
  readonly operationId: string
  /** Of the table; undefined for what the daemon has beside it. */
  readonly 'x-aw-operation'?: string
  readonly 'x-aw-kind': string
  readonly parameters: readonly {
    readonly name: string
    readonly in: string
    readonly required?: boolean
    readonly schema: JsonSchema
  }[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema?: JsonSchema }>> }
  readonly security?: readonly object[]
  readonly responses: Readonly<Record<string, unknown>>
}

export interface Addressed {
  readonly method: string
  readonly path: string
  readonly operation: DocumentOperation
}

export const operationsIn = ({ paths }: Document): Addressed[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  )
