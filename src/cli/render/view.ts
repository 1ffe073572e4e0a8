import type { Paint } from '../output/color.ts'

/** What a renderer may know about where its text goes. */
export interface View {
  readonly paint: Paint
  readonly terminal: boolean
  /** Width of the terminal; infinite in a pipe. */
  readonly columns: number
  readonly quiet: boolean
  readonly now: number
  readonly input: Readonly<Record<string, unknown>>
  /** Names of what was printed already, as it was made. */
  readonly told: ReadonlySet<string>
}

export interface Rendered {
  /** For standard output, without the last line break. */
  readonly out: string | Uint8Array
  /** It begins with the name of what it is about, which need not stand before it where there are several. */
  readonly named?: true
  /** One line for a person at a terminal, on standard error. */
  readonly note?: string
  /** The way back, or what else even a script's reader needs: on standard error, wherever that goes. */
  readonly notice?: string
  /** What must not go unnoticed, wherever standard error goes. */
  readonly warning?: string
  /** What did not come off though the rest did; told as errors are, on standard error. */
  readonly failures?: readonly Failure[]
}

export interface Failure {
  readonly code: string
  readonly message: string
  readonly hint: string | null
}

export type Renderer = (output: never, view: View) => Rendered

/** Shows the items of one stream as they come. */
export interface StreamRenderer {
  readonly item: Renderer
  /** Asked once, after the last item. */
  readonly end?: (view: View) => Rendered
}
