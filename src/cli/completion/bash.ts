import type { Table } from '../../api/table.ts'
import { cases, positionCases, quote, valueCases } from './cases.ts'
import {
  completionModel,
  globalFlagsModel,
  knownNames,
  nextWords,
  programCommands,
  type CommandModel,
} from './model.ts'

export function bashScript(table: Table): string {
  const commands = completionModel(table)
  return `# bash completion for aw. For this shell: source <(aw completion bash)
# For every shell: aw completion bash > ~/.local/share/bash-completion/completions/aw

# The words that may follow the words of a command.
_aw_words() {
  case "$1" in
${cases([...nextWords(commands)].map(([prefix, words]) => [prefix, words.map(({ word }) => word).join(' ')]))}
    *) return 1 ;;
  esac
}

_aw_flags() {
  case "$1" in
${cases(commands.map((command) => [command.name, spellings(command)]))}
    *) REPLY=${quote(spellings(globalFlagsModel()))} ;;
  esac
}

# What a flag takes; fails if it takes no value.
_aw_value() {
  case "$1 $2" in
${valueCases(commands, globalFlagsModel())}
    *) return 1 ;;
  esac
}

# What a command takes at a position.
_aw_position() {
  case "$1 $2" in
${positionCases(commands)}
    *) REPLY='none' ;;
  esac
}

# Whether a command runs a program, whose words are its own.
_aw_runs() {
  case "$1" in
    ${programCommands(commands).map(quote).join(' | ')}) return 0 ;;
    *) return 1 ;;
  esac
}

_aw_offer() {
  local current="$2"
  case "$1" in
    none) ;;
    ${knownNames.join(' | ')})
      COMPREPLY+=($(compgen -W "$("\${COMP_WORDS[0]}" "\${home[@]}" __names "$1" "\${origin:-$first}" 2>/dev/null)" -- "$current"))
      ;;
    places)
      # The part before the colon is a word of its own; after it, the names are those of another tree.
      [[ \${COMP_WORDS[COMP_CWORD]} == : || \${COMP_WORDS[COMP_CWORD - 1]} == : ]] && return
      COMPREPLY+=($(compgen -S : -W "$("\${COMP_WORDS[0]}" "\${home[@]}" __names live 2>/dev/null)" -- "$current"))
      # As a file's name, the colon would be quoted.
      ((\${#COMPREPLY[@]})) && compopt -o nospace 2>/dev/null || compopt -o filenames 2>/dev/null
      COMPREPLY+=($(compgen -f -- "$current"))
      ;;
    files) compopt -o filenames 2>/dev/null; COMPREPLY+=($(compgen -f -- "$current")) ;;
    folders) compopt -o filenames 2>/dev/null; COMPREPLY+=($(compgen -d -- "$current")) ;;
    *) COMPREPLY+=($(compgen -W "$1" -- "$current")) ;;
  esac
}

_aw() {
  local REPLY='' command='' position=0 first='' origin='' flag='' i word
  local current="\${COMP_WORDS[COMP_CWORD]}"
  local -a home=()
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    flag=''
    if [[ $word == -- ]]; then
      _aw_runs "$command" && return
    elif [[ $word == -* ]]; then
      _aw_value "$command" "$word" || continue
      [[ \${COMP_WORDS[i + 1]} == = ]] && ((i++))
      [[ $word == --home ]] && home=(--home "\${COMP_WORDS[i + 1]}")
      [[ $word == --from-workspace ]] && origin="\${COMP_WORDS[i + 1]}"
      flag="$word"
      ((i++))
    elif ((position == 0)) && _aw_words "$command" && [[ " $REPLY " == *" $word "* ]]; then
      command="\${command:+$command }$word"
    else
      ((position)) || first="$word"
      ((position++))
    fi
  done
  [[ $current == = ]] && current=''
  ((position > 1)) && _aw_runs "$command" && return
  if [[ -n $flag ]] && ((i > COMP_CWORD)); then
    _aw_value "$command" "$flag" && _aw_offer "$REPLY" "$current"
  elif [[ $current == -* ]]; then
    _aw_flags "$command"
    COMPREPLY=($(compgen -W "$REPLY" -- "$current"))
  else
    # Some words are a command and the beginning of others.
    ((position == 0)) && _aw_words "$command" && _aw_offer "$REPLY" "$current"
    _aw_position "$command" "$position"
    _aw_offer "$REPLY" "$current"
  fi
}

complete -F _aw aw
`
}

const spellings = ({ flags }: CommandModel): string => flags.map((flag) => `--${flag.name}`).join(' ')
