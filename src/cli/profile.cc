#include "cli/profile.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "cli/text.h"
#include "policy/spec_json.h"

namespace cordon::cli {
namespace {

constexpr std::string_view kSuffix = ".json";

Error Unknown(const std::string& name, const std::string& directory) {
  const std::vector<std::string> known = ListProfiles(directory);
  const std::string message = "--profile: there is no profile '" + name + "' in " + directory;
  if (known.empty()) {
    return MakeError(ErrorCode::kNotFound, message,
                     "put a sandbox description into " + directory + "/" + name + ".json");
  }
  std::string list;
  for (const std::string& one : known) list += (list.empty() ? "" : ", ") + one;
  const std::vector<std::string_view> views(known.begin(), known.end());
  const std::string_view nearest = Nearest(name, views);
  std::string remedy = "known profiles: " + list;
  if (!nearest.empty()) remedy = "--profile " + std::string(nearest) + "; " + remedy;
  return MakeError(ErrorCode::kNotFound, message, remedy);
}

}  // namespace

bool IsProfileName(std::string_view name) {
  if (name.empty() || name.size() > 200 || name == "." || name == "..") return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  });
}

Result<std::string> ProfileDirectory(const std::map<std::string, std::string>& environment) {
  // The base directory specification: a relative XDG_CONFIG_HOME is to be ignored.
  const auto config = environment.find("XDG_CONFIG_HOME");
  if (config != environment.end() && config->second.starts_with('/')) {
    return config->second + "/cordon/profiles";
  }
  const auto home = environment.find("HOME");
  if (home != environment.end() && home->second.starts_with('/')) {
    return home->second + "/.config/cordon/profiles";
  }
  return MakeError(ErrorCode::kNotFound, "--profile: neither HOME nor XDG_CONFIG_HOME is set",
                   "set HOME, or name the file with --spec");
}

std::vector<std::string> ListProfiles(const std::string& directory) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(directory.c_str()), &::closedir);
  while (dir != nullptr) {
    const dirent* entry = ::readdir(dir.get());
    if (entry == nullptr) break;
    std::string_view name = entry->d_name;
    if (!name.ends_with(kSuffix)) continue;
    name.remove_suffix(kSuffix.size());
    if (IsProfileName(name)) names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<policy::SandboxSpec> ReadProfile(const std::string& name, const std::string& directory) {
  if (!IsProfileName(name)) {
    return MakeError(ErrorCode::kInvalid, "--profile: '" + name + "' is no name of a profile",
                     "letters, digits, '.', '_' and '-'; for a file use --spec");
  }
  const std::string path = directory + "/" + name + std::string(kSuffix);
  if (::access(path.c_str(), F_OK) != 0) return Unknown(name, directory);
  return policy::ReadSpecFile(path, policy::Ids::kOptional);
}

}  // namespace cordon::cli
