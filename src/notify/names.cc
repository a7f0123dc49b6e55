// Calls that make, move and remove directory entries, on behalf of a command.
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "notify/handler.h"
#include "notify/parse.h"

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1u
#define RENAME_EXCHANGE 2u
#endif

namespace cordon::notify {

using jail::wire::Action;
using policy::FileKind;
using policy::NameVerdict;

namespace {

FileKind KindOfMode(mode_t mode) {
  if (S_ISREG(mode)) return FileKind::kFile;
  if (S_ISDIR(mode)) return FileKind::kDirectory;
  return S_ISLNK(mode) ? FileKind::kSymlink : FileKind::kOther;
}

// The kernel moves and links only within one mount.
bool SameMount(const UniqueFd& a, const UniqueFd& b) {
  struct statx first{}, second{};
  constexpr unsigned kMountId = 0x1000;  // STATX_MNT_ID, Linux 5.8
  return ::statx(a.get(), "", AT_EMPTY_PATH, kMountId, &first) == 0 &&
         ::statx(b.get(), "", AT_EMPTY_PATH, kMountId, &second) == 0 &&
         first.stx_mnt_id == second.stx_mnt_id;
}

// In the session's own namespace the kernel would refuse to move or remove what is a mount point;
// the broker's is another one (broker.h).
bool IsMountPoint(const Place& place) {
  struct statx st{};
  constexpr std::uint64_t kMountRoot = 0x2000;  // STATX_ATTR_MOUNT_ROOT, Linux 5.8
  return ::statx(place.directory.get(), place.name.c_str(), AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
                 STATX_TYPE, &st) == 0 &&
         (st.stx_attributes & kMountRoot) != 0;
}

// The whole of a small regular file; false when it is none, or larger.
bool ReadWhole(int directory, const std::string& name, std::string& out, mode_t& mode) {
  UniqueFd fd = OpenAt2(directory, name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0,
                        RESOLVE_NO_SYMLINKS);
  struct stat st{};
  if (!fd.valid() || ::fstat(fd.get(), &st) != 0 || !S_ISREG(st.st_mode)) return false;
  mode = st.st_mode & 07777;
  out.resize(policy::NameJudge::kMaxGitConfig + 1);
  std::size_t size = 0;
  while (size < out.size()) {
    ssize_t n = ::read(fd.get(), out.data() + size, out.size() - size);
    if (n < 0) return false;
    if (n == 0) break;
    size += static_cast<std::size_t>(n);
  }
  out.resize(size);
  return size <= policy::NameJudge::kMaxGitConfig;
}

bool WriteWhole(int fd, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    ssize_t n = ::write(fd, text.data() + done, text.size() - done);
    if (n <= 0) return false;
    done += static_cast<std::size_t>(n);
  }
  return true;
}

}  // namespace

Answer Handler::MakeDirectory(int directory, std::uint64_t address, mode_t mode) {
  Place place = Read(directory, address);
  if (place.error != 0) return Unresolved(directory, place.error, Action::kFileCreate);
  if (!place.Special()) {
    NameVerdict verdict = session_.judge->Create(place.path, FileKind::kDirectory);
    if (!verdict.allowed) {
      const bool there = KindAt(place) != FileKind::kMissing;
      return Refuse(verdict, Action::kFileCreate, place.path, there ? EEXIST : 0);
    }
  }
  SetUmask();
  Answer answer =
      Answer::Of(::mkdirat(place.directory.get(), place.NameForCall().c_str(), mode & 07777));
  if (answer.error == 0) session_.judge->Made(place.path, FileKind::kDirectory);
  return answer;
}

Answer Handler::MakeNode(int directory, std::uint64_t address, mode_t mode) {
  const mode_t type = mode & S_IFMT;
  if (type == S_IFCHR || type == S_IFBLK || type == S_IFDIR) return Answer::Error(EPERM);
  if (type != 0 && type != S_IFREG && type != S_IFIFO && type != S_IFSOCK)
    return Answer::Error(EINVAL);
  Place place = Read(directory, address);
  if (place.error == ESRCH) return Answer::Gone();
  if (place.error != 0) return Answer::Error(place.error);
  const FileKind kind = type == 0 || type == S_IFREG ? FileKind::kFile : FileKind::kOther;
  if (!place.Special()) {
    NameVerdict verdict = session_.judge->Create(place.path, kind);
    if (!verdict.allowed) {
      const bool there = KindAt(place) != FileKind::kMissing;
      return Refuse(verdict, Action::kFileCreate, place.path, there ? EEXIST : 0);
    }
  }
  SetUmask();
  Answer answer =
      Answer::Of(::mknodat(place.directory.get(), place.NameForCall().c_str(), mode, 0));
  if (answer.error == 0) session_.judge->Made(place.path, kind);
  return answer;
}

Answer Handler::MakeSymlink(std::uint64_t target, int directory, std::uint64_t address) {
  std::string text;
  if (int error = caller_.ReadString(target, text); error != 0) return Answer::Error(error);
  Place place = Read(directory, address);
  if (place.error == ESRCH) return Answer::Gone();
  if (text.empty()) return Answer::Error(ENOENT);
  if (place.error != 0) return Answer::Error(place.error);
  if (!place.Special()) {
    NameVerdict verdict = session_.judge->Create(place.path, FileKind::kSymlink);
    if (!verdict.allowed) {
      const bool there = KindAt(place) != FileKind::kMissing;
      return Refuse(verdict, Action::kFileCreate, place.path, there ? EEXIST : 0);
    }
  }
  Answer answer =
      Answer::Of(::symlinkat(text.c_str(), place.directory.get(), place.NameForCall().c_str()));
  if (answer.error == 0) session_.judge->Made(place.path, FileKind::kSymlink);
  return answer;
}

Answer Handler::MakeLink(int from, std::uint64_t from_address, int to, std::uint64_t to_address,
                         int flags) {
  if ((flags & ~(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH)) != 0) return Answer::Error(EINVAL);
  std::string from_path;
  if (int error = caller_.ReadString(from_address, from_path); error != 0)
    return Answer::Error(error);
  Target source;
  if (from_path.empty() && (flags & AT_EMPTY_PATH) != 0) {
    source.object = from == AT_FDCWD
                        ? UniqueFd(::open(caller_.Proc("cwd").c_str(), O_PATH | O_CLOEXEC))
                        : caller_.CopyDescriptor(from);
    if (!source.object.valid() || ::fstat(source.object.get(), &source.st) != 0)
      return Answer::Error(caller_.Valid() ? EBADF : ESRCH);
    source.path = NameOf(source.object.get());
    source.magic = true;
  } else {
    Place place = session_.walker->Resolve(caller_, from, from_path);
    if (place.error != 0) return Answer::Error(place.error);
    if ((flags & AT_SYMLINK_FOLLOW) != 0) {
      source = session_.walker->Open(caller_, std::move(place));
    } else {
      source.object = UniqueFd(::openat(place.directory.get(), place.NameForCall().c_str(),
                                        O_PATH | O_NOFOLLOW | O_CLOEXEC));
      if (!source.object.valid() || ::fstat(source.object.get(), &source.st) != 0)
        source.error = errno;
      source.path = place.path;
    }
  }
  if (source.error != 0) return Answer::Error(source.error);
  Place place = Read(to, to_address);
  if (place.error == ESRCH) return Answer::Gone();
  if (place.error != 0) return Answer::Error(place.error);
  const bool unnamed = S_ISREG(source.st.st_mode) && source.st.st_nlink == 0;
  // The kernel links no directory, and a move to another mount is no link.
  if (!place.Special() && !S_ISDIR(source.st.st_mode)) {
    NameVerdict verdict = unnamed ? session_.judge->Create(place.path, FileKind::kFile)
                                  : session_.judge->Link(source.path, place.path);
    if (!verdict.allowed) {
      const bool there = KindAt(place) != FileKind::kMissing;
      const int natural = there ? EEXIST : SameMount(source.object, place.directory) ? 0 : EXDEV;
      // Which end was refused: the new name, or the file that would get it.
      if (unnamed || !session_.judge->Create(place.path, FileKind::kFile).allowed)
        return Refuse(verdict, Action::kFileCreate, place.path, natural);
      raw_ = from_path;
      return Refuse(verdict, Action::kFileWrite, source.path, natural);
    }
  }
  char link[32];
  std::snprintf(link, sizeof link, "self/fd/%d", source.object.get());
  // Follows the link in /proc to the very file that was judged; a symbolic link is linked itself.
  Answer answer = Answer::Of(::linkat(AT_FDCWD, link, place.directory.get(),
                                      place.NameForCall().c_str(), AT_SYMLINK_FOLLOW));
  if (answer.error == 0) session_.judge->Made(place.path, KindOfMode(source.st.st_mode));
  return answer;
}

// A program that hears EXDEV removes what stands at the new place and copies. Removing asks nobody,
// so that what forbids the move must be said here.
void Handler::NoteMoveAcross(const Place& from, FileKind kind, const Place& to, FileKind replaced) {
  if (from.Special() || to.Special()) return;
  const NameVerdict verdict = session_.judge->Rename(from.path, kind, to.path, replaced);
  if (verdict.allowed) return;
  if (session_.judge->Remove(from.path, kind).allowed)
    Report(verdict, Action::kFileCreate, to.path, EXDEV);
  else
    Report(verdict, Action::kFileUnlink, from.path, EXDEV);
}

Answer Handler::Rename(int from, std::uint64_t from_address, int to, std::uint64_t to_address,
                       unsigned flags) {
  constexpr unsigned kExchange = RENAME_EXCHANGE, kNoReplace = RENAME_NOREPLACE;
  const bool exchange = (flags & kExchange) != 0;
  if ((flags & ~(kExchange | kNoReplace)) != 0 || flags == (kExchange | kNoReplace))
    return Answer::Error(EINVAL);
  std::string from_path;
  if (int error = caller_.ReadString(from_address, from_path); error != 0)
    return Answer::Error(error);
  Place source = session_.walker->Resolve(caller_, from, from_path), target;
  target.error = caller_.ReadString(to_address, raw_);
  if (target.error == 0)
    target = session_.walker->ResolveBeside(caller_, to, raw_, source, from, from_path);
  if (!caller_.Valid()) return Answer::Gone();
  if (source.error != 0) return Answer::Error(source.error);
  struct stat source_st{}, target_st{};
  int source_error = 0, target_error = ENOENT;
  const FileKind kind = KindAt(source, &source_st, &source_error);
  // A directory that may not be searched ends the way there, before the other end is looked at.
  if (kind == FileKind::kMissing && source_error == EACCES) return Answer::Error(EACCES);
  if (target.error != 0) return Answer::Error(target.error);
  const FileKind replaced = KindAt(target, &target_st, &target_error);
  if (replaced == FileKind::kMissing && target_error == EACCES) return Answer::Error(EACCES);
  if (!SameMount(source.directory, target.directory)) {
    if (kind != FileKind::kMissing) NoteMoveAcross(source, kind, target, replaced);
    return Answer::Error(EXDEV);
  }
  if (source.Special() || target.Special())
    return Answer::Of(::syscall(SYS_renameat2, source.directory.get(), source.name.c_str(),
                                target.directory.get(), target.name.c_str(), flags));
  if (kind == FileKind::kMissing) return Answer::Error(source_error);
  if (replaced == FileKind::kMissing && target_error != ENOENT) return Answer::Error(target_error);
  if ((flags & kNoReplace) != 0 && replaced != FileKind::kMissing) return Answer::Error(EEXIST);
  if (exchange && replaced == FileKind::kMissing) return Answer::Error(ENOENT);
  const bool same = replaced != FileKind::kMissing && source_st.st_dev == target_st.st_dev &&
                    source_st.st_ino == target_st.st_ino;
  // Two names of one file: the kernel does nothing at all (unless it is one name, or a swap).
  if (same && !exchange && kind != FileKind::kDirectory && !source.slash && !target.slash)
    return Answer::Value(0);

  const auto judge = [&](const Place& a, FileKind a_kind, const Place& b, FileKind b_kind) {
    NameVerdict v = session_.judge->Rename(a.path, a_kind, b.path, b_kind);
    if (exchange && v.git_config)
      v = {false, v.rule, "a git config is not exchanged", false, false};
    return v;
  };
  // Which end was refused: one that may not even lose its name, or the new name.
  const auto refuse = [&](const NameVerdict& v, const Place& a, FileKind a_kind, const Place& b) {
    const bool leaves = session_.judge->Remove(a.path, a_kind).allowed;
    if (&(leaves ? b : a) == &source) raw_ = from_path;
    return Refuse(v, leaves ? Action::kFileCreate : Action::kFileUnlink, leaves ? b.path : a.path);
  };
  const NameVerdict verdict = judge(source, kind, target, replaced);
  if (!verdict.allowed) return refuse(verdict, source, kind, target);
  if (exchange) {
    const NameVerdict back = judge(target, replaced, source, kind);
    if (!back.allowed) return refuse(back, target, replaced, source);
  }
  if (IsMountPoint(source) ||
      (replaced != FileKind::kMissing && !verdict.git_config && IsMountPoint(target)))
    return Answer::Error(EBUSY);
  if (verdict.git_config) return ReplaceConfig(source, target);
  Answer answer =
      Answer::Of(::syscall(SYS_renameat2, source.directory.get(), source.NameForCall().c_str(),
                           target.directory.get(), target.NameForCall().c_str(), flags));
  if (answer.error != 0) return answer;
  if (exchange)
    session_.judge->Exchanged(source.path, target.path);
  else
    session_.judge->Moved(source.path, target.path, kind);
  Note(verdict, target.path);
  return answer;
}

// The new configuration is a file of our own, whose content was judged: the one that the command
// wrote may still be open in its hands (12.14).
Answer Handler::ReplaceConfig(const Place& from, const Place& to) {
  std::string content, before;
  mode_t mode = 0, ignored = 0;
  if (!ReadWhole(from.directory.get(), from.name, content, mode)) {
    NameVerdict verdict{false, nullptr, "the new git config is no small regular file", false,
                        false};
    return Refuse(verdict, Action::kFileWrite, to.path);
  }
  const bool there = KindAt(to) != FileKind::kMissing;
  if (there && !ReadWhole(to.directory.get(), to.name, before, ignored)) {
    NameVerdict verdict{false, nullptr, "the present git config is no small regular file", false,
                        false};
    return Refuse(verdict, Action::kFileWrite, to.path);
  }
  NameVerdict verdict = session_.judge->GitConfig(to.path, before, content);
  if (!verdict.allowed) return Refuse(verdict, Action::kFileWrite, to.path);
  char name[48];
  static unsigned counter = 0;
  std::snprintf(name, sizeof name, "%s%d-%u", policy::NameJudge::kConfigCopy.data(), ::getpid(),
                ++counter);
  UniqueFd copy = OpenAt2(to.directory.get(), name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600,
                          RESOLVE_NO_SYMLINKS);
  if (!copy.valid()) return Answer::Error(errno);
  if (!WriteWhole(copy.get(), content) || ::fchmod(copy.get(), mode) != 0) {
    int error = errno;
    ::unlinkat(to.directory.get(), name, 0);
    return Answer::Error(error);
  }
  if (::renameat(to.directory.get(), name, to.directory.get(), to.name.c_str()) != 0) {
    int error = errno;
    ::unlinkat(to.directory.get(), name, 0);
    return Answer::Error(error);
  }
  ::unlinkat(from.directory.get(), from.name.c_str(), 0);
  session_.judge->Moved(from.path, to.path, FileKind::kFile);
  return Answer::Value(0);
}

// rmdir(2), and unlinkat(2) with AT_REMOVEDIR, which alone traps.
Answer Handler::RemoveDirectory(int directory, std::uint64_t address) {
  if (caller_.number() == SYS_unlinkat && caller_.integer(2) != AT_REMOVEDIR)
    return Answer::Error(EINVAL);
  Place place = Read(directory, address);
  if (place.error == ESRCH) return Answer::Gone();
  if (place.error != 0) return Answer::Error(place.error);
  if (place.root) return Answer::Error(EBUSY);
  if (!place.Special()) {
    int error = 0;
    const FileKind kind = KindAt(place, nullptr, &error);
    if (kind == FileKind::kMissing) return Answer::Error(error);
    // There only the process itself gets so far as to hear what it is.
    if (ParseProcDescriptor(place.path)) return Answer::Error(ENOTDIR);
    NameVerdict verdict = session_.judge->Remove(place.path, FileKind::kDirectory);
    if (!verdict.allowed)
      return Refuse(verdict, Action::kFileUnlink, place.path,
                    kind == FileKind::kDirectory ? 0 : ENOTDIR);
    if (IsMountPoint(place)) return Answer::Error(EBUSY);
  }
  Answer answer =
      Answer::Of(::unlinkat(place.directory.get(), place.NameForCall().c_str(), AT_REMOVEDIR));
  if (answer.error == 0 && !place.Special()) session_.judge->Removed(place.path);
  return answer;
}

}  // namespace cordon::notify
