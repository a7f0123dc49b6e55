#include "policy/compiler.h"
#include "policy/path.h"

namespace cordon::policy {
namespace {

constexpr int kListAfter = 8;     // a listing costs about as much as so many single questions
constexpr int kListAtMost = 512;  // entries; a larger directory is asked about one by one

}  // namespace

FileKind CachedFileSystem::Kind(const std::string& path) const {
  const auto known = kinds_.find(path);
  if (known != kinds_.end()) return known->second;
  const std::string parent(ParentPath(path));
  Directory& directory = directories_[parent];
  if (++directory.asked == kListAfter) {
    ListOnce(parent, &directory);
    const auto listed = kinds_.find(path);
    if (listed != kinds_.end()) return listed->second;
  }
  const FileKind kind = directory.complete ? FileKind::kMissing : fs_.Kind(path);
  return kinds_.emplace(path, kind).first->second;
}

void CachedFileSystem::ListOnce(const std::string& directory, Directory* known) const {
  if (CaseFolds(directory)) return;  // other spellings than the listed ones exist as well
  int entries = 0;
  const bool listed = fs_.List(directory, [&](std::string_view name, FileKind kind) {
    kinds_.emplace(JoinPath(directory, name), kind);
    return ++entries < kListAtMost;
  });
  known->complete = listed && entries < kListAtMost;
}

bool CachedFileSystem::CaseFolds(const std::string& directory) const {
  const auto known = folds_.find(directory);
  if (known != folds_.end()) return known->second;
  return folds_.emplace(directory, fs_.CaseFolds(directory)).first->second;
}

}  // namespace cordon::policy
