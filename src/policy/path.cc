#include "policy/path.h"

#include <algorithm>

#include "glob/glob.h"
#include "policy/policy.h"

namespace cordon::policy {
namespace {

constexpr int kMaxLinks = 40;  // as the kernel's own (MAXSYMLINKS)

template <typename Visit>
void ForEachComponent(std::string_view path, Visit visit) {
  for (std::size_t i = 0; i < path.size();) {
    const std::size_t end = std::min(path.find('/', i), path.size());
    if (end > i) visit(path.substr(i, end - i));
    i = end + 1;
  }
}

// ".." takes away the component before it; behind a wildcard nobody can say what that is.
bool ClimbsOutOfMagic(std::string_view pattern) {
  bool magic = false, climbs = false;
  ForEachComponent(pattern, [&](std::string_view name) {
    climbs = climbs || (magic && name == "..");
    magic = magic || glob::HasMagic(name);
  });
  return climbs;
}

}  // namespace

std::string JoinPath(std::string_view directory, std::string_view name) {
  std::string out;
  out.reserve(directory.size() + 1 + name.size());
  out = directory;
  if (out.empty() || out.back() != '/') out += '/';
  return out += name;
}

std::string_view ParentPath(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string_view::npos ? std::string_view("/")
                                                       : path.substr(0, slash);
}

std::string_view BaseName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool IsAtOrBelow(std::string_view path, std::string_view directory) {
  if (directory == "/") return !path.empty() && path.front() == '/';
  return path.substr(0, directory.size()) == directory &&
         (path.size() == directory.size() || path[directory.size()] == '/');
}

std::string PatternStart(const std::string& directory) {
  return directory.size() <= 1 ? "" : glob::Escape(directory);
}

std::string NormalizePath(std::string_view path) {
  std::string out;
  out.reserve(path.size());
  ForEachComponent(path, [&](std::string_view name) {
    if (name == ".") return;
    if (name == "..") {
      out.resize(out.empty() ? 0 : out.rfind('/'));
      return;
    }
    out += '/';
    out += name;
  });
  return out.empty() ? "/" : out;
}

Result<std::string> AbsolutePath(std::string_view text, const std::string& home,
                                 const std::string& base, PathReading reading) {
  const std::string shown = "path \"" + std::string(text.substr(0, text.find('\0'))) + "\"";
  if (text.empty())
    return MakeError(ErrorCode::kInvalid, "empty path", "write . for the directory itself");
  if (text.find('\0') != std::string_view::npos) {
    return MakeError(ErrorCode::kInvalid, shown + " holds a NUL byte");
  }
  const bool pattern = reading == PathReading::kPattern && glob::HasMagic(text);
  const auto anchor = [&](const std::string& directory) {
    return pattern ? glob::Escape(directory) : directory;
  };
  std::string whole(text);
  if (text.front() == '~') {
    if (text.size() > 1 && text[1] != '/') {
      return MakeError(ErrorCode::kInvalid, shown + " names another user's home",
                       "write that directory in full, or ./~name for a file of that name");
    }
    if (home.empty()) {
      return MakeError(ErrorCode::kInvalid, shown + " needs a home directory, and none is known",
                       "set HOME, or write the path in full");
    }
    whole = anchor(home) + whole.substr(1);
  } else if (text.front() != '/') {
    if (base.empty() || base.front() != '/') {
      return MakeError(ErrorCode::kInvalid,
                       shown + " is relative, and no directory is known to start from",
                       "write the path in full");
    }
    whole = anchor(base) + "/" + whole;
  }
  if (!pattern) return NormalizePath(whole);
  if (ClimbsOutOfMagic(whole)) {
    return MakeError(ErrorCode::kInvalid, shown + " has \"..\" after a wildcard",
                     "write it without \"..\"");
  }
  std::string out = NormalizePath(whole);
  if (text.back() == '/') out += "/**";
  return out;
}

Result<ResolvedPath> ResolveLinks(const std::string& path, const FileSystem& fs) {
  ResolvedPath out;
  out.kind = FileKind::kDirectory;
  std::vector<std::string> pending;  // last is next
  const auto push = [&](std::string_view text) {
    const auto at = static_cast<std::ptrdiff_t>(pending.size());
    ForEachComponent(text, [&](std::string_view name) { pending.emplace_back(name); });
    std::reverse(pending.begin() + at, pending.end());
  };
  push(path);
  int links = 0;
  while (!pending.empty()) {
    const std::string name = std::move(pending.back());
    pending.pop_back();
    if (name == ".") continue;
    if (name == "..") {
      out.path.resize(out.path.empty() ? 0 : out.path.rfind('/'));
      out.kind = FileKind::kDirectory;
      continue;
    }
    const std::size_t parent = out.path.size();
    out.path += '/';
    out.path += name;
    // Below what is missing nothing exists: no need to ask.
    if (out.kind != FileKind::kMissing) out.kind = fs.Kind(out.path);
    if (out.kind != FileKind::kSymlink) continue;
    if (++links > kMaxLinks) {
      return MakeError(ErrorCode::kInvalid, "more than 40 symbolic links on the way to " + path,
                       "remove the loop of links");
    }
    const auto target = fs.ReadLink(out.path);
    if (!target) {  // replaced in this moment: what stands there now is no link
      out.kind = FileKind::kOther;
      continue;
    }
    if (pending.empty()) out.links.push_back(out.path);
    out.path.resize(!target->empty() && target->front() == '/' ? 0 : parent);
    out.kind = FileKind::kDirectory;
    push(*target);
  }
  if (out.path.empty()) out.path = "/";
  return out;
}

Result<std::string> ResolvePath(const std::string& path, const FileSystem& fs) {
  CORDON_TRY(ResolvedPath resolved, ResolveLinks(path, fs));
  return std::move(resolved.path);
}

}  // namespace cordon::policy
