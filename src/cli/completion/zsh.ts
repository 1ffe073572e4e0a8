import type { Table } from '../../api/table.ts'
import { positionCases, quote, valueCases } from './cases.ts'
import {
  completionModel,
  globalFlagsModel,
  knownNames,
  nextWords,
  programCommands,
  type CommandModel,
} from './model.ts'

export function zshScript(table: Table): string {
  const commands = completionModel(table)
  const words = [...nextWords(commands)].map(([prefix, next]): [string, string[]] => [
    prefix,
    next.map(({ word, about }) => `${word}:${about}`),
  ])
  return `#compdef aw
# zsh completion for aw. For this shell: source <(aw completion zsh)
# For every shell: aw completion zsh > "\${fpath[1]}/_aw"

_aw_words() {
  case "$1" in
${lists(words)}
    *) reply=(); return 1 ;;
  esac
}

_aw_flags() {
  case "$1" in
${lists(commands.map((command) => [command.name, described(command)]))}
    *) reply=(${described(globalFlagsModel()).map(quote).join(' ')}) ;;
  esac
}

_aw_value() {
  case "$1 $2" in
${valueCases(commands, globalFlagsModel())}
    *) return 1 ;;
  esac
}

_aw_position() {
  case "$1 $2" in
${positionCases(commands)}
    *) REPLY='none' ;;
  esac
}

_aw_runs() {
  case "$1" in
    ${programCommands(commands).map(quote).join('|')}) return 0 ;;
    *) return 1 ;;
  esac
}

_aw_offer() {
  case "$1" in
    none) ;;
    ${knownNames.join('|')})
      compadd -- \${(f)"$("\${words[1]}" "\${home[@]}" __names "$1" "\${origin:-$first}" 2>/dev/null)"}
      ;;
    places)
      [[ "\${words[CURRENT]}" == *:* ]] && return
      compadd -S : -- \${(f)"$("\${words[1]}" "\${home[@]}" __names live 2>/dev/null)"}
      _files
      ;;
    files) _files ;;
    folders) _files -/ ;;
    *) compadd -- \${=1} ;;
  esac
}

_aw() {
  local REPLY='' command='' first='' origin='' flag='' word='' i
  local -i position=0
  local -a home reply
  for ((i = 2; i < CURRENT; i++)); do
    word="\${words[i]}"
    flag=''
    if [[ "$word" == -- ]]; then
      _aw_runs "$command" && return
    elif [[ "$word" == -*=* ]]; then
      continue
    elif [[ "$word" == -* ]]; then
      _aw_value "$command" "$word" || continue
      [[ "$word" == --home ]] && home=(--home "\${words[i+1]}")
      [[ "$word" == --from-workspace ]] && origin="\${words[i+1]}"
      flag="$word"
      ((i++))
    elif ((position == 0)) && _aw_words "$command" && [[ -n "\${(M)reply:#\${word}:*}" ]]; then
      command="\${command:+$command }$word"
    else
      ((position)) || first="$word"
      ((position++))
    fi
  done
  ((position > 1)) && _aw_runs "$command" && return
  if [[ -n "$flag" ]] && ((i > CURRENT)); then
    _aw_value "$command" "$flag" && _aw_offer "$REPLY"
  elif [[ "\${words[CURRENT]}" == -* ]]; then
    _aw_flags "$command"
    _describe 'flag' reply
  else
    # Some words are a command and the beginning of others.
    ((position == 0)) && _aw_words "$command" && _describe 'command' reply
    _aw_position "$command" "$position"
    _aw_offer "$REPLY"
  fi
}

if [[ "\${funcstack[1]}" == _aw ]]; then
  _aw "$@"
else
  compdef _aw aw
fi
`
}

const lists = (entries: readonly (readonly [string, readonly string[]])[]): string =>
  entries.map(([pattern, items]) => `    ${quote(pattern)}) reply=(${items.map(quote).join(' ')}) ;;`).join('\n')

const described = ({ flags }: CommandModel): string[] => flags.map((flag) => `--${flag.name}:${flag.about}`)
