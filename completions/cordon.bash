# bash completion for cordon; made by `cordon completion bash`.
_cordon() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W "run trace explain doctor ps kill completion schema help --help --version" -- "$cur"))
    return
  fi
  case ${COMP_WORDS[1]} in
    run)
      # The first word that is neither an option nor its argument begins the command.
      local i
      for ((i = 2; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
          --) ((i++)); break ;;
          -c|--spec|--profile|--view|--mode|--workdir|--write|--deny-write|--deny-name|--allow-read|--deny-read|--mount|--allow-unix-socket|--env|--keep-env|--timeout|--memory|--pids|--uid|--events) ((i++)) ;;
          -*) ;;
          *) break ;;
        esac
      done
      if ((i < COMP_CWORD)) || [[ $prev == -- ]]; then
        if declare -F _command_offset >/dev/null; then _command_offset "$i"; return; fi
        compopt -o filenames
        if ((i == COMP_CWORD)); then COMPREPLY=($(compgen -c -- "$cur")); else COMPREPLY=($(compgen -f -- "$cur")); fi
        return
      fi
      case $prev in
        -c) COMPREPLY=(); return ;;
        --spec) compopt -o filenames; COMPREPLY=($(compgen -f -- "$cur")); return ;;
        --profile) COMPREPLY=($(compgen -W "$(ls "${XDG_CONFIG_HOME:-$HOME/.config}/cordon/profiles" 2>/dev/null | sed -n 's/\.json$//p')" -- "$cur")); return ;;
        --view) COMPREPLY=($(compgen -W "bound host" -- "$cur")); return ;;
        --mode) COMPREPLY=($(compgen -W "chat review plan orchestrate" -- "$cur")); return ;;
        --workdir) compopt -o filenames; COMPREPLY=($(compgen -d -- "$cur")); return ;;
        --write) compopt -o filenames; COMPREPLY=($(compgen -f -- "$cur")); return ;;
        --deny-write) compopt -o filenames; COMPREPLY=($(compgen -f -- "$cur")); return ;;
        --deny-name) COMPREPLY=(); return ;;
        --allow-read) compopt -o filenames; COMPREPLY=($(compgen -f -- "$cur")); return ;;
        --deny-read) compopt -o filenames; COMPREPLY=($(compgen -f -- "$cur")); return ;;
        --mount) compopt -o filenames; COMPREPLY=($(compgen -f -- "$cur")); return ;;
        --allow-unix-socket) compopt -o filenames; COMPREPLY=($(compgen -f -- "$cur")); return ;;
        --env) COMPREPLY=($(compgen -v -- "$cur")); return ;;
        --keep-env) COMPREPLY=($(compgen -v -- "$cur")); return ;;
        --timeout) COMPREPLY=(); return ;;
        --memory) COMPREPLY=(); return ;;
        --pids) COMPREPLY=(); return ;;
        --uid) COMPREPLY=(); return ;;
        --events) compopt -o filenames; COMPREPLY=($(compgen -f -- "$cur")); return ;;
      esac
      if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W "-c --spec --profile --view --mode --workdir --write --deny-write --deny-name --default-deny-names --allow-read --deny-read --mount --allow-unix-socket --no-default-denies --env --keep-env --timeout --memory --pids --uid --tty --no-tty --events --quiet --debug --strict-reads --dry-run --json --help" -- "$cur")); return; fi
      COMPREPLY=($(compgen -c -- "$cur"))
      ;;
    trace)
      # The first word that is neither an option nor its argument begins the command.
      local i
      for ((i = 2; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
          --) ((i++)); break ;;
          -c|--spec|--profile|--view|--mode|--workdir|--write|--deny-write|--deny-name|--allow-read|--deny-read|--mount|--allow-unix-socket|--env|--keep-env|--timeout|--memory|--pids|--uid|--events|--output) ((i++)) ;;
          -*) ;;
          *) break ;;
        esac
      done
      if ((i < COMP_CWORD)) || [[ $prev == -- ]]; then
        if declare -F _command_offset >/dev/null; then _command_offset "$i"; return; fi
        compopt -o filenames
        if ((i == COMP_CWORD)); then COMPREPLY=($(compgen -c -- "$cur")); else COMPREPLY=($(compgen -f -- "$cur")); fi
        return
      fi
      case $prev in
        -c) COMPREPLY=(); return ;;
        --spec) compopt -o filenames; COMPREPLY=($(compgen -f -- "$cur")); return ;;
        --profile) COMPREPLY=($(compgen -W "$(ls "${XDG_CONFIG_HOME:-$HOME/.config}/cordon/profiles" 2>/dev/null | sed -n 's/\.json$//p')" -- "$cur")); return ;;
        --view) COMPREPLY=($(compgen -W "bound host" -- "$cur")); return ;;
        --mode) COMPREPLY=($(compgen -W "chat review plan orchestrate" -- "$cur")); return ;;
        --workdir) compopt -o filenames; COMPREPLY=($(compgen -d -- "$cur")); return ;;
        --write) compopt -o filenames; COMPREPLY=($(compgen -f -- "$cur")); return ;;
        --deny-write) compopt -o filenames; COMPREPLY=($(compgen -f -- "$cur")); return ;;
        --deny-name) COMPREPLY=(); return ;;
        --allow-read) compopt -o filenames; COMPREPLY=($(compgen -f -- "$cur")); return ;;
        --deny-read) compopt -o filenames; COMPREPLY=($(compgen -f -- "$cur")); return ;;
        --mount) compopt -o filenames; COMPREPLY=($(compgen -f -- "$cur")); return ;;
        --allow-unix-socket) compopt -o filenames; COMPREPLY=($(compgen -f -- "$cur")); return ;;
        --env) COMPREPLY=($(compgen -v -- "$cur")); return ;;
        --keep-env) COMPREPLY=($(compgen -v -- "$cur")); return ;;
        --timeout) COMPREPLY=(); return ;;
        --memory) COMPREPLY=(); return ;;
        --pids) COMPREPLY=(); return ;;
        --uid) COMPREPLY=(); return ;;
        --events) compopt -o filenames; COMPREPLY=($(compgen -f -- "$cur")); return ;;
        --output) compopt -o filenames; COMPREPLY=($(compgen -f -- "$cur")); return ;;
      esac
      if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W "-c --spec --profile --view --mode --workdir --write --deny-write --deny-name --default-deny-names --allow-read --deny-read --mount --allow-unix-socket --no-default-denies --env --keep-env --timeout --memory --pids --uid --tty --no-tty --events --quiet --debug --output --help" -- "$cur")); return; fi
      COMPREPLY=($(compgen -c -- "$cur"))
      ;;
    explain)
      case $prev in
        --change) compopt -o filenames; COMPREPLY=($(compgen -f -- "$cur")); return ;;
        --create) compopt -o filenames; COMPREPLY=($(compgen -f -- "$cur")); return ;;
        --remove) compopt -o filenames; COMPREPLY=($(compgen -f -- "$cur")); return ;;
        --rename) compopt -o filenames; COMPREPLY=($(compgen -f -- "$cur")); return ;;
        --connect) compopt -o filenames; COMPREPLY=($(compgen -f -- "$cur")); return ;;
        --spec) compopt -o filenames; COMPREPLY=($(compgen -f -- "$cur")); return ;;
        --profile) COMPREPLY=($(compgen -W "$(ls "${XDG_CONFIG_HOME:-$HOME/.config}/cordon/profiles" 2>/dev/null | sed -n 's/\.json$//p')" -- "$cur")); return ;;
        --view) COMPREPLY=($(compgen -W "bound host" -- "$cur")); return ;;
        --mode) COMPREPLY=($(compgen -W "chat review plan orchestrate" -- "$cur")); return ;;
        --workdir) compopt -o filenames; COMPREPLY=($(compgen -d -- "$cur")); return ;;
        --write) compopt -o filenames; COMPREPLY=($(compgen -f -- "$cur")); return ;;
        --deny-write) compopt -o filenames; COMPREPLY=($(compgen -f -- "$cur")); return ;;
        --deny-name) COMPREPLY=(); return ;;
        --allow-read) compopt -o filenames; COMPREPLY=($(compgen -f -- "$cur")); return ;;
        --deny-read) compopt -o filenames; COMPREPLY=($(compgen -f -- "$cur")); return ;;
        --mount) compopt -o filenames; COMPREPLY=($(compgen -f -- "$cur")); return ;;
        --allow-unix-socket) compopt -o filenames; COMPREPLY=($(compgen -f -- "$cur")); return ;;
      esac
      if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W "--change --create --remove --rename --connect --json --help --spec --profile --view --mode --workdir --write --deny-write --deny-name --default-deny-names --allow-read --deny-read --mount --allow-unix-socket --no-default-denies" -- "$cur")); return; fi
      compopt -o filenames; COMPREPLY=($(compgen -f -- "$cur"))
      ;;
    doctor)
      if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W "--json --help" -- "$cur")); return; fi
      ;;
    ps)
      if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W "--json --help" -- "$cur")); return; fi
      ;;
    kill)
      if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W "--all --help" -- "$cur")); return; fi
      COMPREPLY=($(compgen -W "$(cordon ps 2>/dev/null | awk 'NR > 1 { print $1 }')" -- "$cur"))
      ;;
    completion)
      if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W "--help" -- "$cur")); return; fi
      COMPREPLY=($(compgen -W "bash zsh fish" -- "$cur"))
      ;;
    schema)
      if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W "--help" -- "$cur")); return; fi
      ;;
    help)
      if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W "--help" -- "$cur")); return; fi
      COMPREPLY=($(compgen -W "run trace explain doctor ps kill completion schema help" -- "$cur"))
      ;;
  esac
}
complete -F _cordon cordon
