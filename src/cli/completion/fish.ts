import type { Table } from '../../api/table.ts'
import { positionsAfter } from './cases.ts'
import { completionModel, nextWords, programCommands, type CommandModel, type FlagModel, type Values } from './model.ts'

export function fishScript(table: Table): string {
  const commands = completionModel(table)
  const valued = commands.flatMap(({ name, flags }) =>
    flags.flatMap((flag) => (flag.values === undefined ? [] : spellings(flag).map((one) => quote(`${name} ${one}`)))),
  )
  const prefixes = new Set(commands.flatMap(({ name }) => [name, ...parents(name)]))
  return `# fish completion for aw. For this shell: aw completion fish | source
# For every shell: aw completion fish > ~/.config/fish/completions/aw.fish

set -g __aw_commands ${[...prefixes].map(quote).join(' ')}
set -g __aw_valued ${valued.join(' ')}
set -g __aw_running ${programCommands(commands).map(quote).join(' ')}

# The words of the command so far, how many arguments follow them, and which workspace it is about.
function __aw_state
    set -l command ''
    set -l position 0
    set -l first ''
    set -l origin ''
    set -l skip 0
    for word in (commandline -opc)[2..-1]
        if test $skip != 0
            test $skip = --from-workspace; and set origin $word
            set skip 0
            continue
        end
        if test "$word" = --; and contains -- "$command" $__aw_running
            set position 99
            break
        end
        switch $word
            case '--*=*'
            case '-*'
                if contains -- "$command $word" $__aw_valued; or contains -- $word --home --config-file --set --format
                    set skip $word
                end
            case '*'
                set -l longer (string trim -- "$command $word")
                if test $position = 0; and contains -- $longer $__aw_commands
                    set command $longer
                else
                    test $position = 0; and set first $word
                    set position (math $position + 1)
                end
        end
    end
    # What follows there is the program's.
    test $position -gt 1; and contains -- "$command" $__aw_running; and set command '?'
    # Its snapshots are meant, not those of the one that is made.
    test -n "$origin"; and set first $origin
    echo $command
    echo $position
    echo $first
end

function __aw_first
    set -l state (__aw_state)
    echo $state[3]
end

function __aw_at
    set -l state (__aw_state)
    test "$state[1]" = "$argv[1]"; or return 1
    test (count $argv) = 1; or contains -- $state[2] $argv[2..-1]
end

complete -c aw -f
${[...nextWords(commands)].flatMap(([prefix, words]) => words.map(({ word, about }) => offer(prefix, '0', word, about))).join('\n')}
${commands.flatMap(flagLines).join('\n')}
${commands.flatMap(positionLines).join('\n')}
`
}

const offer = (command: string, positions: string, words: string, about?: string): string =>
  `complete -c aw -n ${quote(`__aw_at ${quote(command)} ${positions}`)} -a ${quote(words)}${about === undefined ? '' : ` -d ${quote(about)}`}`

function flagLines({ name, flags }: CommandModel): string[] {
  return flags.map((flag) => {
    const at = `complete -c aw -n ${quote(`__aw_at ${quote(name)}`)} -l ${flag.name} -d ${quote(flag.about)}`
    const short = flag.short === undefined ? '' : ` -s ${flag.short}`
    return flag.values === undefined ? at + short : `${at}${short} ${valueOptions(flag.values)}`
  })
}

function positionLines({ name, positions, repeated }: CommandModel): string[] {
  return positions.flatMap((values, i) => {
    if (values === 'none') return []
    const at = i === repeated ? [i, ...positionsAfter(i)] : [i]
    return [offer(name, at.join(' '), lookup(values))]
  })
}

function valueOptions(values: Values): string {
  if (values === 'files') return '-r -F'
  return values === 'none' ? '-x' : `-x -a ${quote(lookup(values))}`
}

function lookup(values: Values): string {
  if (typeof values !== 'string') return values.join(' ')
  if (values === 'folders') return '(__fish_complete_directories)'
  if (values === 'files') return '(__fish_complete_path)'
  if (values === 'places') return '(aw __names live 2>/dev/null): (__fish_complete_path)'
  const whose = ['snapshots', 'branches', 'env'].includes(values) ? ' (__aw_first)' : ''
  return `(aw __names ${values}${whose} 2>/dev/null)`
}

const spellings = ({ name, short }: FlagModel): string[] => [`--${name}`, ...(short === undefined ? [] : [`-${short}`])]

const parents = (name: string): string[] => {
  const words = name.split(' ')
  return words.slice(1).map((_, i) => words.slice(0, i + 1).join(' '))
}

const quote = (word: string): string => `'${word.replaceAll('\\', '\\\\').replaceAll("'", String.raw`\'`)}'`
