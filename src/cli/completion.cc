#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "cli/help.h"

namespace cordon::cli {
namespace {

// Shell text that lists the profiles; it must stay silent where there are none.
constexpr std::string_view kListProfiles =
    "ls \"${XDG_CONFIG_HOME:-$HOME/.config}/cordon/profiles\" 2>/dev/null | sed -n 's/\\.json$//p'";
constexpr std::string_view kListSessions = "cordon ps 2>/dev/null | awk 'NR > 1 { print $1 }'";

std::string Spaced(std::string_view choices) {
  std::string out(choices);
  std::replace(out.begin(), out.end(), '|', ' ');
  return out;
}

std::string Names(std::span<const Option> options) {
  std::string out;
  for (const Option& option : options) {
    if (!out.empty()) out += ' ';
    out += option.name;
  }
  return out;
}

std::string CommandNames() {
  std::string out;
  for (const Command& command : Commands()) {
    if (!out.empty()) out += ' ';
    out += command.name;
  }
  return out;
}

// The body of a bash case arm that completes the argument of `option`.
std::string BashArgument(const Option& option) {
  switch (option.completes) {
    case Completes::kFile: return "compopt -o filenames; COMPREPLY=($(compgen -f -- \"$cur\"))";
    case Completes::kDirectory:
      return "compopt -o filenames; COMPREPLY=($(compgen -d -- \"$cur\"))";
    case Completes::kChoice:
      return "COMPREPLY=($(compgen -W \"" + Spaced(option.choices) + "\" -- \"$cur\"))";
    case Completes::kVariable: return "COMPREPLY=($(compgen -v -- \"$cur\"))";
    case Completes::kProfile:
      return "COMPREPLY=($(compgen -W \"$(" + std::string(kListProfiles) + ")\" -- \"$cur\"))";
    case Completes::kNothing: break;
  }
  return "COMPREPLY=()";
}

std::string BashCommand(const Command& command) {
  std::string out = "    " + std::string(command.name) + ")\n";
  std::string with_argument;
  std::string arms;
  for (const Option& option : command.options) {
    if (option.argument.empty()) continue;
    with_argument += (with_argument.empty() ? "" : "|") + std::string(option.name);
    arms += "        " + std::string(option.name) + ") " + BashArgument(option) + "; return ;;\n";
  }
  if (command.options_end_at_operand) {
    out +=
        "      # The first word that is neither an option nor its argument begins the command.\n"
        "      local i\n"
        "      for ((i = 2; i < COMP_CWORD; i++)); do\n"
        "        case ${COMP_WORDS[i]} in\n"
        "          --) ((i++)); break ;;\n"
        "          " +
        with_argument +
        ") ((i++)) ;;\n"
        "          -*) ;;\n"
        "          *) break ;;\n"
        "        esac\n"
        "      done\n"
        "      if ((i < COMP_CWORD)) || [[ $prev == -- ]]; then\n"
        "        if declare -F _command_offset >/dev/null; then _command_offset \"$i\"; return; "
        "fi\n"
        "        compopt -o filenames\n"
        "        if ((i == COMP_CWORD)); then COMPREPLY=($(compgen -c -- \"$cur\")); else"
        " COMPREPLY=($(compgen -f -- \"$cur\")); fi\n"
        "        return\n"
        "      fi\n";
  }
  if (!arms.empty()) out += "      case $prev in\n" + arms + "      esac\n";
  out += "      if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W \"" + Names(command.options) +
         "\" -- \"$cur\")); return; fi\n";
  if (command.options_end_at_operand) {
    out += "      COMPREPLY=($(compgen -c -- \"$cur\"))\n";
  } else if (!command.choices.empty()) {
    out += "      COMPREPLY=($(compgen -W \"" + Spaced(command.choices) + "\" -- \"$cur\"))\n";
  } else if (command.name == "kill") {
    out +=
        "      COMPREPLY=($(compgen -W \"$(" + std::string(kListSessions) + ")\" -- \"$cur\"))\n";
  } else if (command.name == "explain") {
    out += "      compopt -o filenames; COMPREPLY=($(compgen -f -- \"$cur\"))\n";
  }
  return out + "      ;;\n";
}

std::string Bash() {
  std::string out =
      "# bash completion for cordon; made by `cordon completion bash`.\n"
      "_cordon() {\n"
      "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  COMPREPLY=()\n"
      "  if ((COMP_CWORD == 1)); then\n"
      "    COMPREPLY=($(compgen -W \"" +
      CommandNames() + " " + Names(GlobalOptions()) +
      "\" -- \"$cur\"))\n"
      "    return\n"
      "  fi\n"
      "  case ${COMP_WORDS[1]} in\n";
  for (const Command& command : Commands()) out += BashCommand(command);
  return out +
         "  esac\n"
         "}\n"
         "complete -F _cordon cordon\n";
}

// Inside single quotes of zsh's _arguments: quotes, brackets and colons mean something.
std::string ZshText(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '\'') {
      out += "'\\''";
      continue;
    }
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string ZshOption(const Option& option) {
  std::string out = "'";
  if (option.repeatable) out += "*";
  out += option.name;
  if (!option.argument.empty() && option.name.starts_with("--")) out += "=";
  out += "[" + ZshText(option.help) + "]";
  if (!option.argument.empty()) {
    out += ":" + ZshText(option.argument) + ":";
    switch (option.completes) {
      case Completes::kFile: out += "_files"; break;
      case Completes::kDirectory: out += "_files -/"; break;
      case Completes::kChoice: out += "(" + Spaced(option.choices) + ")"; break;
      case Completes::kVariable: out += "_parameters -g \"*export*\""; break;
      case Completes::kProfile: out += "_cordon_profiles"; break;
      case Completes::kNothing: break;
    }
  }
  return out + "'";
}

std::string Zsh() {
  std::string out =
      "#compdef cordon\n"
      "# zsh completion for cordon; made by `cordon completion zsh`.\n"
      "_cordon_profiles() {\n"
      "  local -a names\n"
      "  names=(${(f)\"$(" +
      std::string(kListProfiles) +
      ")\"})\n"
      "  compadd -a names\n"
      "}\n"
      "_cordon_sessions() {\n"
      "  local -a ids\n"
      "  ids=(${(f)\"$(" +
      std::string(kListSessions) +
      ")\"})\n"
      "  compadd -a ids\n"
      "}\n"
      "_cordon() {\n"
      "  local -a commands\n"
      "  if ((CURRENT == 2)); then\n"
      "    commands=(\n";
  for (const Command& command : Commands()) {
    out += "      '" + std::string(command.name) + ":" + ZshText(command.summary) + "'\n";
  }
  out +=
      "    )\n"
      "    _describe command commands\n"
      "    _arguments";
  for (const Option& option : GlobalOptions()) out += " " + ZshOption(option);
  out +=
      "\n"
      "    return\n"
      "  fi\n"
      "  local command=${words[2]}\n"
      "  shift words\n"
      "  ((CURRENT--))\n"
      "  case $command in\n";
  for (const Command& command : Commands()) {
    out += "    " + std::string(command.name) + ")\n      _arguments -S";
    for (const Option& option : command.options) out += " \\\n        " + ZshOption(option);
    if (command.options_end_at_operand) {
      out += " \\\n        '*::command:_normal'";
    } else if (!command.choices.empty()) {
      out += " \\\n        '1:argument:(" + Spaced(command.choices) + ")'";
    } else if (command.name == "kill") {
      out += " \\\n        '*:session:_cordon_sessions'";
    } else if (command.name == "explain") {
      out += " \\\n        '*:path:_files'";
    }
    out += "\n      ;;\n";
  }
  return out +
         "  esac\n"
         "}\n"
         "_cordon \"$@\"\n";
}

std::string FishText(std::string_view text) {
  std::string out = "'";
  for (char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

std::string FishOption(const Option& option, std::string_view condition) {
  std::string out = "complete -c cordon -n '" + std::string(condition) + "'";
  if (option.name.starts_with("--")) {
    out += " -l " + std::string(option.name.substr(2));
    if (!option.alias.empty()) out += " -s " + std::string(option.alias.substr(1));
  } else {
    out += " -s " + std::string(option.name.substr(1));
  }
  if (!option.argument.empty()) {
    switch (option.completes) {
      case Completes::kFile: out += " -r -F"; break;
      case Completes::kDirectory: out += " -x -a '(__fish_complete_directories)'"; break;
      case Completes::kChoice: out += " -x -a '" + Spaced(option.choices) + "'"; break;
      case Completes::kVariable: out += " -x -a '(set -xn)'"; break;
      case Completes::kProfile: out += " -x -a '(__cordon_profiles)'"; break;
      case Completes::kNothing: out += " -x"; break;
    }
  }
  return out + " -d " + FishText(option.help) + "\n";
}

std::string Fish() {
  std::string out =
      "# fish completion for cordon; made by `cordon completion fish`.\n"
      "function __cordon_profiles\n"
      "    set -l base $XDG_CONFIG_HOME\n"
      "    test -n \"$base\"; or set base $HOME/.config\n"
      "    ls $base/cordon/profiles 2>/dev/null | string replace -rf '\\.json$' ''\n"
      "end\n"
      "function __cordon_sessions\n"
      "    cordon ps 2>/dev/null | awk 'NR > 1 { print $1 }'\n"
      "end\n"
      "complete -c cordon -f\n";
  for (const Option& option : GlobalOptions()) out += FishOption(option, "__fish_use_subcommand");
  for (const Command& command : Commands()) {
    const std::string name(command.name);
    const std::string condition = "__fish_seen_subcommand_from " + name;
    out += "complete -c cordon -n '__fish_use_subcommand' -a " + name + " -d " +
           FishText(command.summary) + "\n";
    for (const Option& option : command.options) out += FishOption(option, condition);
    if (command.options_end_at_operand) {
      out += "complete -c cordon -n '" + condition + "' -x -a '(__fish_complete_subcommand)'\n";
    } else if (!command.choices.empty()) {
      out += "complete -c cordon -n '" + condition + "' -a '" + Spaced(command.choices) + "'\n";
    } else if (name == "kill") {
      out += "complete -c cordon -n '" + condition + "' -a '(__cordon_sessions)'\n";
    } else if (name == "explain") {
      out += "complete -c cordon -n '" + condition + "' -F\n";
    }
  }
  return out;
}

}  // namespace

Result<std::string> CompletionScript(std::string_view shell) {
  if (shell == "bash") return Bash();
  if (shell == "zsh") return Zsh();
  if (shell == "fish") return Fish();
  return MakeError(ErrorCode::kInvalid, "no completion for '" + std::string(shell) + "'",
                   "bash, zsh or fish");
}

}  // namespace cordon::cli
