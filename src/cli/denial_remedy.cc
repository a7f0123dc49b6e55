#include "cli/denial_remedy.h"

#include <utility>

#include <algorithm>
#include <array>
#include <cstdio>

#include "cli/text.h"
#include "glob/glob.h"
#include "policy/path.h"

namespace cordon::cli {
namespace {

using policy::RuleKind;
using session::Action;
using session::RefusedBy;
using session::Violation;

constexpr std::string_view kCommandLine = "command line: ";
constexpr const char* kOnlyDisabled = "nothing lifts it but filesystem.disabled in a --spec file";

// Directories that hold what everybody needs unchanged, and every directory directly in the second
// group.
constexpr auto kWide = std::to_array<std::string_view>(
    {"/",       "/bin",   "/boot", "/etc", "/home", "/lib",  "/lib32", "/lib64",
     "/libx32", "/media", "/mnt",  "/nix", "/opt",  "/root", "/sbin",  "/srv",
     "/usr",    "/var",   "/tmp",  "/dev", "/proc", "/run",  "/sys"});
constexpr auto kWideBelow =
    std::to_array<std::string_view>({"/usr", "/usr/local", "/var", "/home", "/boot"});
constexpr auto kWideInHome = std::to_array<std::string_view>(
    {".config", ".local", ".local/bin", ".local/lib", ".local/share", ".ssh", "bin"});

// Services that do for a caller what the sandbox refuses to the command itself.
constexpr auto kPowerfulSockets = std::to_array<std::string_view>(
    {"docker", "podman", "containerd", "crio", "buildkit", "dbus", "systemd", "/bus", "X11-unix",
     "wayland", "ssh-", "agent", "gnupg", "lxd", "incus", "libvirt", "snapd"});

// The session's own, whatever the rules say.
constexpr auto kOwnTrees = std::to_array<std::string_view>({"/proc", "/sys", "/dev", "/run"});

Remedy Nothing(std::string text) {
  return {Remedy::Kind::kNothing, "", "", "", false, std::move(text)};
}
Remedy TooWide(std::string text) {
  return {Remedy::Kind::kTooWide, "", "", "", false, std::move(text)};
}
Remedy OwnRule(std::string text) {
  return {Remedy::Kind::kRule, "", "", "", false, std::move(text)};
}

Remedy Option(std::string_view option, std::string_view field, std::string value,
              Remedy::Kind kind = Remedy::Kind::kOption) {
  Remedy r{kind, std::string(option), std::move(value), std::string(field), false, ""};
  r.text = OptionText(r.option, r.value);
  return r;
}

// A rule that a person wrote: on the command line, or in a file.
Remedy TakeOut(const Violation& v, std::string_view field) {
  if (v.source.starts_with(kCommandLine)) {
    const std::string option = v.source.substr(kCommandLine.size());
    return OwnRule("leave out " + option + " " + ShellWord(v.rule_text));
  }
  return OwnRule("take " + Printable(v.rule_text) + " out of " + std::string(field) + " in " +
                 Printable(v.source));
}

Remedy ForDenyName(const Violation& v) {
  const std::string name(policy::BaseName(v.host_path));
  const std::string exception = ShellWord("!" + glob::Escape(name));
  if (v.built_in)
    return OwnRule("--deny-name " + exception + " makes an exception to the built-in names");
  Remedy r = TakeOut(v, "denyNames");
  r.text += v.source.starts_with(kCommandLine) ? ", or add --deny-name " + exception
                                               : ", or add " + exception + " to it";
  return r;
}

bool IsGitConfig(const std::string& path) {
  return policy::BaseName(path) == "config" && path.find("/.git/") != std::string::npos;
}

Remedy ForProtected(const Violation& v) {
  if (v.by == RefusedBy::kRule && !v.built_in) return TakeOut(v, "protectedPaths");
  if (IsGitConfig(v.host_path)) {
    return Nothing(
        "git's own harmless changes pass; filesystem.allowGitConfig in a --spec file opens this "
        "file");
  }
  return Nothing(kOnlyDisabled);
}

Remedy ForHidden(const Violation& v) {
  const bool write = v.action != Action::kFileRead;
  const std::string_view option = write ? "--write" : "--allow-read";
  const std::string_view field = write ? "filesystem.allowWrite" : "filesystem.allowRead";
  if (v.built_in_default) return Option(option, field, v.host_path, Remedy::Kind::kSecret);
  if (v.rule_names_target) return TakeOut(v, "denyRead");
  Remedy r = Option(option, field, v.host_path);
  r.kind = Remedy::Kind::kRule;
  return r;
}

// No rule opens the path. A name can be made or taken away only where its directory is writable.
Remedy Open(const Violation& v, const policy::EffectivePolicy& policy) {
  for (const std::string_view own : kOwnTrees) {
    if (policy::IsAtOrBelow(v.target, own)) {
      return Nothing(std::string(own) + " is the session's own and stays as it is");
    }
  }
  const bool read = v.action == Action::kFileRead;
  if ((read || v.action == Action::kFileWrite) && IsTooWide(v.host_path, policy.home)) {
    return TooWide("all of " + Printable(v.host_path) + " would have to be " +
                   (read ? "readable" : "writable"));
  }
  if (read) return Option("--allow-read", "filesystem.allowRead", v.host_path);
  if (v.action == Action::kFileWrite)
    return Option("--write", "filesystem.allowWrite", v.host_path);
  const std::string parent(policy::ParentPath(v.host_path));
  if (!IsTooWide(parent, policy.home)) {
    Remedy r = Option("--write", "filesystem.allowWrite", parent);
    r.directory = true;
    return r;
  }
  const std::string whole = "all of " + Printable(parent) + " would have to be writable";
  const bool creates = v.action == Action::kFileCreate || v.action == Action::kUnixSocket;
  return TooWide(creates
                     ? whole + "; make it outside first, then " + OptionText("--write", v.host_path)
                     : whole);
}

Remedy ForFile(const Violation& v, const policy::EffectivePolicy& policy) {
  if (v.by == RefusedBy::kMoment) return ForProtected(v);
  const bool writes = v.action != Action::kFileRead;
  if (v.by == RefusedBy::kRule) {
    switch (v.kind) {
      case RuleKind::kProtected: return ForProtected(v);
      case RuleKind::kDenyName: return ForDenyName(v);
      case RuleKind::kDenyWrite: return TakeOut(v, "denyWrite");
      case RuleKind::kDenyRead:
        // A directory above what is hidden: only the move of it is refused.
        if (writes && !v.rule_names_target && v.action == Action::kFileUnlink) break;
        return ForHidden(v);
      default: break;
    }
  }
  if (writes && policy.mode != policy::Mode::kChat)
    return OwnRule(std::string("nothing is writable in mode ") + policy::ModeName(policy.mode) +
                   "; --mode chat");
  const bool mount = v.by == RefusedBy::kRule && v.kind == RuleKind::kMount && v.rule_is_read_only;
  if (writes && mount) return OwnRule("mount " + Printable(v.rule_text) + " without :ro");
  return Open(v, policy);
}

Remedy ForSocket(const Violation& v, const policy::EffectivePolicy& policy) {
  if (v.call == "bind") return ForFile(v, policy);
  if (!v.host_path.starts_with('/')) return Nothing("sockets without a path are the session's own");
  const bool powerful = std::any_of(
      kPowerfulSockets.begin(), kPowerfulSockets.end(),
      [&](std::string_view part) { return v.host_path.find(part) != std::string::npos; });
  return Option("--allow-unix-socket", "network.allowUnixSockets", v.host_path,
                powerful ? Remedy::Kind::kSecret : Remedy::Kind::kOption);
}

bool IsPlain(unsigned char c) {
  return std::isalnum(c) != 0 ||
         std::string_view("_@%+=:,./-").find(static_cast<char>(c)) != std::string_view::npos;
}

}  // namespace

bool IsTooWide(std::string_view directory, std::string_view home) {
  if (std::find(kWide.begin(), kWide.end(), directory) != kWide.end()) return true;
  const std::string_view parent = policy::ParentPath(directory);
  if (std::find(kWideBelow.begin(), kWideBelow.end(), parent) != kWideBelow.end()) return true;
  if (home.empty()) return false;
  if (policy::IsAtOrBelow(home, directory)) return true;
  return std::any_of(kWideInHome.begin(), kWideInHome.end(), [&](std::string_view name) {
    return directory == policy::JoinPath(home, name);
  });
}

Remedy RemedyFor(const Violation& v, const policy::EffectivePolicy& policy) {
  switch (v.action) {
    case Action::kFileRead:
    case Action::kFileWrite:
    case Action::kFileCreate:
    case Action::kFileUnlink: return ForFile(v, policy);
    case Action::kUnixSocket: return ForSocket(v, policy);
    case Action::kExec:
      return OwnRule(
          "exec.defaultDenies: false in a --spec file ends the built-in list of programs, "
          "exec.deny "
          "has your own");
    case Action::kNetworkOutbound:
    case Action::kNetworkBind: return Nothing("no option of this version gives it one");
    default: return Nothing("nothing lifts it");
  }
}

std::string ShellWord(std::string_view word) {
  const std::string shown = Printable(word);
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return IsPlain(static_cast<unsigned char>(c)) || static_cast<unsigned char>(c) >= 0x80;
  });
  if (shown == word && plain) return shown;
  if (shown == word) {
    std::string out = "'";
    for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
  }
  std::string out = "$'";
  for (const char c : word) {
    const auto byte = static_cast<unsigned char>(c);
    char hex[8];
    std::snprintf(hex, sizeof hex, "\\x%02x", byte);
    if (c == '\\' || c == '\'')
      (out += '\\') += c;
    else if (c == '\n' || c == '\t')
      out += c == '\n' ? "\\n" : "\\t";
    else if (byte < 0x20 || byte >= 0x7f)
      out += hex;
    else
      out += c;
  }
  return out + "'";
}

std::string OptionText(std::string_view option, std::string_view path) {
  return std::string(option) + " " +
         ShellWord(option == "--allow-unix-socket" ? std::string(path) : glob::Escape(path));
}

std::string_view VerbOf(const Violation& v) {
  switch (v.action) {
    case Action::kFileRead: return "read";
    case Action::kFileWrite: return "write";
    case Action::kFileCreate: return "create";
    case Action::kFileUnlink: return v.call.starts_with("rename") ? "rename" : "remove";
    case Action::kExec: return "run";
    case Action::kNetworkOutbound: return "connect to";
    case Action::kNetworkBind: return "listen on";
    case Action::kUnixSocket: return v.call == "bind" ? "make socket" : "connect to";
    case Action::kSyscall: return "call";
    case Action::kChanged: return "changed";
    case Action::kLost: return "lost";
  }
  return "use";
}

}  // namespace cordon::cli
