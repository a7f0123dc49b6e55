#include "policy/environment.h"
#include "policy/path.h"

namespace cordon::policy {
namespace {

std::string Below(const std::string& directory, std::string_view path) {
  if (path.starts_with('/')) return NormalizePath(path);
  return NormalizePath(directory + "/" + std::string(path));
}

// The first entry of PATH that holds `name`; "" when none does.
std::string FindProgram(std::string_view name, std::string_view path_variable,
                        const EffectivePolicy& policy, const FileSystem& fs) {
  while (true) {
    const std::size_t colon = path_variable.find(':');
    const std::string found = Below(Below(policy.workdir, path_variable.substr(0, colon)), name);
    const FileKind kind = fs.Kind(found);
    if (kind == FileKind::kFile || kind == FileKind::kSymlink) return found;
    if (colon == std::string_view::npos) return {};
    path_variable.remove_prefix(colon + 1);
  }
}

// Absolute; a leading ~/ as a shell reads it.
std::string Absolute(std::string_view path, const EffectivePolicy& policy) {
  if (path.starts_with("~/") && !policy.home.empty()) return Below(policy.home, path.substr(2));
  return Below(policy.workdir, path);
}

}  // namespace

EnvironmentFacts FactsFor(const EffectivePolicy& policy, const FileSystem& fs,
                          std::string path_variable) {
  EnvironmentFacts facts;
  facts.readable = [&policy, &fs](std::string_view path) {
    const auto real = ResolvePath(Absolute(path, policy), fs);
    return real.ok() && policy.Decide(Operation::kRead, *real).allowed;
  };
  facts.writable = [&policy, &fs, programs = std::move(path_variable)](std::string_view path) {
    std::string named;
    if (path.find('/') == std::string_view::npos) {
      named = FindProgram(path, programs, policy, fs);
      if (named.empty()) return false;
    } else {
      named = Absolute(path, policy);
    }
    const auto real = ResolvePath(named, fs);
    return !real.ok() || policy.Decide(Operation::kWrite, *real).allowed;
  };
  return facts;
}

}  // namespace cordon::policy
