// Pattern text and path, separated by the first newline. Nothing crashes, and a walk that prunes
// by CouldMatchBelow reaches everything that Matches.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "glob/glob.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using cordon::glob::Case;
  using cordon::glob::Pattern;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t cut = input.find('\n');
  const std::string_view text = input.substr(0, cut);
  const std::string_view path = cut == std::string_view::npos ? "/a/b" : input.substr(cut + 1);
  for (const Case fold : {Case::kSensitive, Case::kFolded}) {
    auto pattern = Pattern::Parse(text, fold);
    if (!pattern.ok()) continue;
    const std::size_t length = pattern->MatchLength(path);
    if (length > path.size()) std::abort();
    const bool matches = pattern->Matches(path);
    // A path without names ("", "//") is the root, whose match has no length of its own.
    if (matches && length == 0 && path.find_first_not_of('/') != std::string_view::npos)
      std::abort();
    if (matches && !path.empty() && path.back() != '/') {
      for (std::size_t slash = path.rfind('/'); slash != std::string_view::npos && slash > 0;
           slash = path.rfind('/', slash - 1)) {
        if (!pattern->CouldMatchBelow(path.substr(0, slash))) std::abort();
      }
    }
  }
  auto exact = Pattern::Parse(cordon::glob::Escape(path));
  if (exact.ok() && !exact->Matches(path) && path.find("//") == std::string_view::npos)
    std::abort();
  return 0;
}
