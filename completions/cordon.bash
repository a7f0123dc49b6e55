# bash completion for cordon; made by `cordon completion bash`.
_cordon() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W "run doctor ps kill completion schema help --help --version" -- "$cur"))
    return
  fi
  case ${COMP_WORDS[1]} in
    run)
      # The first word that is neither an option nor its argument begins the command.
      local i
      for ((i = 2; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
          --) ((i++)); break ;;
          -c|--spec|--profile|--view|--mode|--workdir|--write|--deny-write|--allow-read|--deny-read|--mount|--env|--keep-env|--timeout|--memory|--pids|--uid|--events) ((i++)) ;;
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
        --allow-read) compopt -o filenames; COMPREPLY=($(compgen -f -- "$cur")); return ;;
        --deny-read) compopt -o filenames; COMPREPLY=($(compgen -f -- "$cur")); return ;;
        --mount) compopt -o filenames; COMPREPLY=($(compgen -f -- "$cur")); return ;;
        --env) COMPREPLY=($(compgen -v -- "$cur")); return ;;
        --keep-env) COMPREPLY=($(compgen -v -- "$cur")); return ;;
        --timeout) COMPREPLY=(); return ;;
        --memory) COMPREPLY=(); return ;;
        --pids) COMPREPLY=(); return ;;
        --uid) COMPREPLY=(); return ;;
        --events) compopt -o filenames; COMPREPLY=($(compgen -f -- "$cur")); return ;;
      esac
      if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W "-c --spec --profile --view --mode --workdir --write --deny-write --allow-read --deny-read --mount --no-default-denies --env --keep-env --timeout --memory --pids --uid --tty --no-tty --events --quiet --dry-run --json --debug --help" -- "$cur")); return; fi
      COMPREPLY=($(compgen -c -- "$cur"))
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
      COMPREPLY=($(compgen -W "run doctor ps kill completion schema help" -- "$cur"))
      ;;
  esac
}
complete -F _cordon cordon
