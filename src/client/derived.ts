import type { Inputs, OperationName, operations, Outputs, StreamName } from '../api/table.ts'
import type { CallContext } from '../ports/manager.ts'

/** The methods that follow from the table alone; ADR 0008 tells how. */
export type Derived = { [N in CallName as One<N>]: Method<N> } & {
  readonly [G in Group<CallName>]: {
    readonly [N in CallName as N extends `${G} ${infer Word}` ? Word : never]: Method<N>
  }
}

type CallName = Exclude<OperationName, StreamName>
type Entry<N> = Extract<(typeof operations)[number], { name: N }>
type First<N> = Entry<N> extends { positional: readonly [infer P extends string, ...unknown[]] } ? P : never
type Rest<N extends CallName> = Omit<Inputs[N], First<N>>
type AllOptional<T> = Record<string, never> extends T ? true : Partial<T> extends T ? true : false
type Method<N extends CallName> =
  'id' extends First<N>
    ? AllOptional<Inputs[N]> extends true
      ? (id?: string, input?: Rest<N>, context?: CallContext) => Promise<Outputs[N]>
      : AllOptional<Rest<N>> extends true
        ? (id: string, input?: Rest<N>, context?: CallContext) => Promise<Outputs[N]>
        : (id: string, input: Rest<N>, context?: CallContext) => Promise<Outputs[N]>
    : (input?: Inputs[N], context?: CallContext) => Promise<Outputs[N]>

type One<N extends CallName> = N extends `${string} ${string}` ? never : N
type Group<N extends CallName> = N extends `${infer G} ${string}` ? G : never
