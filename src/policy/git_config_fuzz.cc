// Two configurations, cut at the first NUL. Nothing crashes; a file may stay as it is; and what is
// allowed from nothing holds no key that is not in the table.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "policy/git_config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cordon::policy;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t cut = input.find('\0');
  const std::string_view before = cut == std::string_view::npos ? "" : input.substr(0, cut);
  const std::string_view after = cut == std::string_view::npos ? input : input.substr(cut + 1);
  for (const RepositoryOrigin origin : {RepositoryOrigin::kExisted, RepositoryOrigin::kMade}) {
    const GitConfigVerdict v = JudgeGitConfig(before, after, origin);
    if (v.allowed != v.reason.empty()) std::abort();
    if (v.allowed && (!ParseGitConfig(before) || !ParseGitConfig(after))) std::abort();
    if (ParseGitConfig(after) && !JudgeGitConfig(after, after, origin).allowed) std::abort();
  }
  const auto entries = ParseGitConfig(after);
  if (!entries || !JudgeGitConfig("", after, RepositoryOrigin::kMade).allowed) return 0;
  for (const GitConfigEntry& entry : *entries) {
    for (const char* section : {"include", "includeif", "filter", "alias", "url", "credential"}) {
      if (entry.section == section) std::abort();
    }
    if (entry.key == "url" && !IsPlainGitUrl(entry.value.value_or(""))) std::abort();
  }
  return 0;
}
