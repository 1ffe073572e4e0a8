import type { CommandModel, Values } from './model.ts'

/** The parts of the `case` statements that bash and zsh share. */

export const cases = (entries: readonly (readonly [string, string])[]): string =>
  entries.map(([pattern, reply]) => `    ${quote(pattern)}) REPLY=${quote(reply)} ;;`).join('\n')

/** A global flag is looked for after those of the command, so its pattern fits every command. */
export function valueCases(commands: readonly CommandModel[], anywhere: CommandModel): string {
  const own = commands.flatMap(({ name, flags }) =>
    valued(flags).map((flag) => [`${name} ${flag[0]}`, flag[1]] as const),
  )
  const global = valued(anywhere.flags).map(([flag, values]) => `    *${quote(` ${flag}`)}) REPLY=${quote(values)} ;;`)
  return [cases(own), ...global].join('\n')
}

export const positionCases = (commands: readonly CommandModel[]): string =>
  cases(
    commands.flatMap(({ name, positions, repeated }) => {
      const listed = positions.map((values, i) => [`${name} ${i}`, text(values)] as const)
      const more = positionsAfter(repeated).map(
        (i) => [`${name} ${i}`, text(positions[repeated ?? 0] ?? 'none')] as const,
      )
      return [...listed, ...more]
    }),
  )

/** What may be repeated is completed there too; ten words on one line are plenty. */
export const positionsAfter = (repeated: number | undefined): number[] =>
  repeated === undefined ? [] : Array.from({ length: 9 - repeated }, (_, i) => repeated + i + 1)

const valued = (flags: CommandModel['flags']): [string, string][] =>
  flags.flatMap(({ name, short, values }): [string, string][] => {
    if (values === undefined) return []
    const spellings = [`--${name}`, ...(short === undefined ? [] : [`-${short}`])]
    return spellings.map((spelling) => [spelling, text(values)])
  })

const text = (values: Values): string => (typeof values === 'string' ? values : values.join(' '))

export const quote = (word: string): string => `'${word.replaceAll("'", String.raw`'\''`)}'`
