// open(2), openat(2), creat(2), truncate(2) on behalf of a command.
#include <linux/magic.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "notify/handler.h"
#include "notify/helper.h"
#include "notify/parse.h"

namespace cordon::notify {

using jail::wire::Action;
using policy::FileKind;
using policy::NameVerdict;

namespace {

constexpr int kTemporary = O_TMPFILE & ~O_DIRECTORY;
// Flags that open(2) knows; it drops all others, where openat2(2) would refuse them.
constexpr int kKnownFlags = O_ACCMODE | O_CREAT | O_EXCL | O_NOCTTY | O_TRUNC | O_APPEND |
                            O_NONBLOCK | O_SYNC | O_DSYNC | O_ASYNC | O_DIRECT | kLargeFile |
                            O_DIRECTORY | O_NOFOLLOW | O_NOATIME | O_CLOEXEC | O_PATH | kTemporary;

bool Writes(int flags) { return (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC) != 0; }

// File systems whose files act with the rights of the process that opened them.
bool ActsForOpener(std::uint64_t type) {
  constexpr std::uint64_t kConfigFs = 0x62656570, kBpf = 0xcafe4a11;
  switch (type) {
    case PROC_SUPER_MAGIC:
    case SYSFS_MAGIC:
    case CGROUP_SUPER_MAGIC:
    case CGROUP2_SUPER_MAGIC:
    case DEBUGFS_MAGIC:
    case TRACEFS_MAGIC:
    case SECURITYFS_MAGIC:
    case SELINUX_MAGIC:
    case kConfigFs:
    case kBpf: return true;
    default: return false;
  }
}

// Character devices that mean the same whoever opens them.
bool IsPlainDevice(dev_t device) {
  constexpr unsigned kMemory = 1, kTty = 5, kFirstPty = 136, kLastPty = 143;
  const unsigned major = major(device), minor = minor(device);
  if (major >= kFirstPty && major <= kLastPty) return true;
  if (major == kTty) return minor == 2;  // ptmx
  if (major == kMemory) return minor == 3 || minor == 5 || minor == 7 || minor == 8 || minor == 9;
  return false;
}

// Files of protected and denied paths, and in those that are directories, up to a bound. Not known
// where somebody has closed the way to one: that is looked for again the next time.
void FindProtectedFiles(SessionState& session) {
  int budget = 20'000;
  session.protected_files_known = true;
  const auto add = [&](const std::string& path, const policy::Rule* rule) {
    UniqueFd fd(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    FileIdentity identity;
    if (!fd.valid() && errno == EACCES) session.protected_files_known = false;
    if (fd.valid() && IdentityOf(fd.get(), identity))
      session.protected_files.emplace(identity, rule);
  };
  for (const policy::Rule& rule : session.policy.rules) {
    if (rule.kind != policy::RuleKind::kProtected && rule.kind != policy::RuleKind::kDenyWrite)
      continue;
    std::vector<std::string> directories;
    for (const policy::ExistingPath& e : rule.existing) {
      add(e.path, &rule);
      if (e.kind == FileKind::kDirectory) directories.push_back(e.path);
    }
    while (!directories.empty() && budget > 0) {
      const std::string directory = std::move(directories.back());
      directories.pop_back();
      session.view.List(directory, [&](std::string_view name, FileKind kind) {
        const std::string path = directory + "/" + std::string(name);
        if (kind == FileKind::kFile) add(path, &rule);
        if (kind == FileKind::kDirectory) directories.push_back(path);
        return --budget > 0;
      });
    }
  }
}

NameVerdict Refusal(const char* reason) { return {false, nullptr, reason, false, false}; }

}  // namespace

Answer Handler::Open(int directory, std::uint64_t address, int flags, mode_t mode) {
  flags &= kKnownFlags;
  // Combinations that make no sense are refused before the path is looked at.
  const bool unusual =
      (flags & kTemporary) != 0 || (flags & (O_CREAT | O_DIRECTORY)) == (O_CREAT | O_DIRECTORY);
  if (unusual && ::open("", flags, 0) < 0 && errno == EINVAL) return Answer::Error(EINVAL);
  mode = (flags & (O_CREAT | kTemporary)) != 0 ? mode & 07777 : 0;
  Place place = Read(directory, address);
  if (place.error != 0)
    return Unresolved(
        directory, place.error,
        Writes(flags) || (flags & O_CREAT) != 0 ? Action::kFileWrite : Action::kFileRead);
  return OpenPlace(std::move(place), flags, mode);
}

Answer Handler::OpenPlace(Place place, int flags, mode_t mode) {
  const bool exclusive = (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
  for (int links = 0; links <= kMostLinks; ++links) {
    if (place.error != 0) return Answer::Error(place.error);
    if (place.Special() || place.slash || (flags & kTemporary) != 0)
      return OpenNoPlace(place, flags);
    struct stat st{};
    int error = ENOENT;
    // An exclusive creation either makes the name or fails, so that the kernel may look by itself.
    const FileKind kind = exclusive ? FileKind::kMissing : KindAt(place, &st, &error);
    if (kind == FileKind::kMissing && error == EACCES && OwnDescriptor(place) >= 0)
      return OpenMagic(place, flags);
    if (kind == FileKind::kMissing && error != ENOENT) {
      const NameVerdict hidden = session_.judge->Read(place.path);
      if (error == EACCES && !hidden.allowed && hidden.rule != nullptr)
        Report(hidden, Writes(flags) ? Action::kFileWrite : Action::kFileRead, place.path, error);
      return Answer::Error(error);
    }
    if (kind == FileKind::kMissing) {
      if ((flags & O_CREAT) == 0) {
        // Below a mask with openings what is hidden looks missing (12.3).
        NameVerdict hidden = session_.judge->Read(place.path);
        if (!hidden.allowed && hidden.rule != nullptr)
          Report(hidden, Writes(flags) ? Action::kFileWrite : Action::kFileRead, place.path,
                 ENOENT);
        return Answer::Error(ENOENT);
      }
      NameVerdict verdict = session_.judge->Create(place.path, FileKind::kFile);
      if (!verdict.allowed) {
        const bool there = exclusive && KindAt(place) != FileKind::kMissing;
        return Refuse(verdict, Action::kFileCreate, place.path, there ? EEXIST : 0);
      }
      // Exclusive: what somebody else puts there in between was not judged, and may be a pipe,
      // whose opening would block.
      Answer answer = Perform(place, flags | O_EXCL, mode);
      if (answer.kind == Answer::Kind::kDescriptor) {
        // Two changes of processes less. To execute it is to ask the broker, which has closed its
        // copy by then. Other creations may be of lock files, which must be free as soon as the
        // caller closes them, and have no other holder when a lease is asked for.
        answer.at_once = exclusive && (flags & O_ACCMODE) == O_WRONLY;
        answer.made_in = std::move(place.directory);
        answer.made_name = place.name;
        session_.judge->Made(place.path, FileKind::kFile);
        Note(verdict, place.path);
      }
      const bool there = answer.kind == Answer::Kind::kResult && answer.error == EEXIST;
      if (!there || exclusive) return answer;
      continue;
    }
    if (kind != FileKind::kSymlink) return OpenExisting(place, st, flags, mode);
    if ((flags & O_NOFOLLOW) != 0)
      return Answer::Error((flags & O_DIRECTORY) != 0 ? ENOTDIR : ELOOP);
    if (!session_.walker->Follow(caller_, place)) return OpenMagic(place, flags);
  }
  return Answer::Error(ELOOP);
}

// A path that names a directory: ".", a trailing slash; and unnamed files, which are made in one.
Answer Handler::OpenNoPlace(const Place& place, int flags) {
  Place copy;
  copy.directory = UniqueFd(::fcntl(place.directory.get(), F_DUPFD_CLOEXEC, 0));
  copy.path = place.path;
  copy.name = place.name;
  const bool exclusive = (flags & O_EXCL) != 0 && place.Special();
  if ((flags & O_CREAT) != 0) return Answer::Error(exclusive ? EEXIST : EISDIR);
  Target target = session_.walker->Open(caller_, std::move(copy));
  if (target.error != 0) return Answer::Error(target.error);
  if (!S_ISDIR(target.st.st_mode)) return Answer::Error(ENOTDIR);
  if ((flags & kTemporary) == 0) {
    if (Writes(flags)) return Answer::Error(EISDIR);
    // Strict reads: a listing.
    NameVerdict verdict = session_.judge->Read(target.path);
    if (!verdict.allowed) return Refuse(verdict, Action::kFileRead, target.path);
    Answer answer;
    answer.kind = Answer::Kind::kDescriptor;
    answer.close_on_exec = (flags & O_CLOEXEC) != 0;
    answer.descriptor = OpenAt2(target.object.get(), ".",
                                static_cast<std::uint64_t>(flags | O_CLOEXEC | kLargeFile), 0, 0);
    return answer.descriptor.valid() ? std::move(answer) : Answer::Error(errno);
  }
  Place inside;
  inside.directory = std::move(target.object);
  inside.path = std::move(target.path);
  if (inside.path.back() != '/') inside.path += '/';
  inside.path += "#tmpfile";  // as the kernel names it in /proc/PID/fd
  inside.name = ".";
  return OpenTemporary(
      inside, flags,
      static_cast<mode_t>(caller_.argument(caller_.number() == SYS_openat ? 3 : 2)) & 07777);
}

Answer Handler::OpenTemporary(const Place& place, int flags, mode_t mode) {
  if ((flags & O_DIRECTORY) == 0 || (flags & O_ACCMODE) == O_RDONLY) return Answer::Error(EINVAL);
  NameVerdict verdict = session_.judge->Create(place.path, FileKind::kFile);
  if (!verdict.allowed) return Refuse(verdict, Action::kFileCreate, place.path);
  return Perform(place, flags, mode);
}

// The call itself. No link is followed: each was, by the steps before.
Answer Handler::Perform(const Place& place, int flags, mode_t mode) {
  if ((flags & (O_CREAT | kTemporary)) != 0) SetUmask();
  const auto own = static_cast<std::uint64_t>(flags | O_CLOEXEC | O_NOCTTY | kLargeFile);
  Answer answer;
  answer.descriptor =
      OpenAt2(place.directory.get(), place.name.c_str(), own, mode, RESOLVE_NO_SYMLINKS);
  if (!answer.descriptor.valid()) return Answer::Error(errno);
  answer.kind = Answer::Kind::kDescriptor;
  answer.close_on_exec = (flags & O_CLOEXEC) != 0;
  return answer;
}

Answer Handler::OpenExisting(Place& place, const struct stat& st, int flags, mode_t mode) {
  if (S_ISDIR(st.st_mode)) {
    if ((flags & O_CREAT) != 0 || Writes(flags)) return Answer::Error(EISDIR);
  } else if ((flags & O_DIRECTORY) != 0) {
    return Answer::Error(ENOTDIR);
  }
  if (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode)) return OpenDevice(place, st, flags);
  const bool writes = Writes(flags);
  if (!writes) {
    NameVerdict verdict = session_.judge->Read(place.path);
    if (!verdict.allowed) return Refuse(verdict, Action::kFileRead, place.path);
  }
  if (major(st.st_dev) == 0 && ActsForOpener(FileSystemType(place.directory.get(), st))) {
    if (writes && (st.st_mode & 0222) == 0) return Answer::Error(EACCES);
    if (writes && !(session_.walker->InProc(st) && IsHarmlessProc(place.path)))
      return Refuse(Refusal("the kernel would take it for the supervisor's own act"),
                    Action::kFileWrite, place.path);
    // What belongs to a process that keeps others out has another owner.
    if (!writes && st.st_uid != ::geteuid() && place.path.find("/task/") != std::string::npos)
      return Answer::Error(EACCES);
    return Perform(place, flags & ~(O_CREAT | O_TRUNC), 0);
  }
  if (writes) {
    NameVerdict verdict = session_.judge->Write(place.path);
    if (!verdict.allowed) return Refuse(verdict, Action::kFileWrite, place.path);
    if (st.st_nlink > 1 && S_ISREG(st.st_mode)) {
      UniqueFd object(
          ::openat(place.directory.get(), place.name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
      if (!MayWriteLinked(object.get(), place.path)) return Answer::Error(EROFS);
    }
    Note(verdict, place.path);
  }
  const bool may_wait = (flags & O_NONBLOCK) == 0;
  if (S_ISFIFO(st.st_mode) && may_wait && (flags & O_ACCMODE) != O_RDWR)
    return OpenFifo(place, flags);
  if (!S_ISREG(st.st_mode) || !may_wait) return Perform(place, flags, mode);
  // Another process may hold a lease, and would be waited for (fcntl(2), F_SETLEASE).
  Answer answer = Perform(place, flags | O_NONBLOCK, mode);
  if (answer.kind == Answer::Kind::kDescriptor) {
    const int status = ::fcntl(answer.descriptor.get(), F_GETFL);
    ::fcntl(answer.descriptor.get(), F_SETFL, status & ~O_NONBLOCK);
    return answer;
  }
  if (answer.error != EWOULDBLOCK) return answer;
  UniqueFd file(
      ::openat(place.directory.get(), place.name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat again{};
  if (!file.valid() || ::fstat(file.get(), &again) != 0) return Answer::Error(errno);
  // What is opened later must be what was judged.
  if (again.st_dev != st.st_dev || again.st_ino != st.st_ino) return Answer::Error(EAGAIN);
  return Reopen(file, true, flags);
}

// Another name of a file that is protected under one of its names (12.19).
bool Handler::MayWriteLinked(int object, const std::string& path) {
  if (!session_.protected_files_known) FindProtectedFiles(session_);
  FileIdentity identity;
  if (object < 0 || !IdentityOf(object, identity)) return false;
  NameVerdict verdict{false, nullptr, "another name of a protected file", false, false};
  auto it = session_.protected_files.find(identity);
  if (it != session_.protected_files.end()) {
    verdict.rule = it->second;
  } else if (session_.protected_files_known) {
    return true;
  } else {
    verdict.reason = "a protected file, the way to which is closed, may be the same file";
  }
  Report(verdict, Action::kFileWrite, path, EROFS);
  return false;
}

// The number of the caller's descriptor that a link of /proc names, or -1.
int Handler::OwnDescriptor(const Place& place) const {
  const auto descriptor = ParseProcDescriptor(place.path);
  return descriptor && descriptor->process == caller_.Ids().inner_process ? descriptor->fd : -1;
}

// A file that is open for reading, to be opened for writing without a name of it being used: by
// the name that it has, when that still leads to it, or that it had when it was removed. A file
// of the host's that has been passed in has neither in this view.
NameVerdict Handler::WriteOpenFile(const Target& target) {
  constexpr std::string_view kRemoved = " (deleted)";
  std::string path = target.path;
  struct stat st{};
  bool same = false;
  if (target.st.st_nlink == 0 && path.ends_with(kRemoved)) {
    path.resize(path.size() - kRemoved.size());
    const std::string parent = path.substr(0, path.rfind('/') + 1);
    same = ::stat(parent.c_str(), &st) == 0 && st.st_dev == target.st.st_dev;
  } else {
    same = ::lstat(path.c_str(), &st) == 0 && st.st_dev == target.st.st_dev &&
           st.st_ino == target.st.st_ino;
  }
  NameVerdict verdict = session_.judge->Write(path);
  if (verdict.allowed && !same) return Refusal("no path leads to the open file any more");
  return verdict;
}

// A link of /proc to a file that is open already: /dev/stdout, /dev/fd/3, /proc/self/exe.
Answer Handler::OpenMagic(const Place& place, int flags) {
  Target target;
  bool open_for_writing = false;
  if (const int own = OwnDescriptor(place); own >= 0) {
    // The caller's own: also one that keeps its files in /proc to itself.
    target.object = caller_.CopyDescriptor(own);
    if (!target.object.valid() || ::fstat(target.object.get(), &target.st) != 0)
      return Answer::Error(ENOENT);
    if (!caller_.Valid()) return Answer::Gone();
    target.path = NameOf(target.object.get());
    // Open for writing already: opening it once more gives nothing new.
    const int mode = ::fcntl(target.object.get(), F_GETFL);
    open_for_writing = (mode & O_PATH) == 0 && (mode & O_ACCMODE) != O_RDONLY;
  } else {
    Place copy;
    copy.directory = UniqueFd(::fcntl(place.directory.get(), F_DUPFD_CLOEXEC, 0));
    copy.path = place.path;
    copy.name = place.name;
    target = session_.walker->Open(caller_, std::move(copy));
    if (target.error != 0) return Answer::Error(target.error);
  }
  if (S_ISDIR(target.st.st_mode) && (Writes(flags) || (flags & O_CREAT) != 0))
    return Answer::Error(EISDIR);
  if (S_ISBLK(target.st.st_mode)) return Answer::Error(EACCES);
  if (S_ISREG(target.st.st_mode) && Writes(flags) && !open_for_writing) {
    NameVerdict verdict = WriteOpenFile(target);
    if (!verdict.allowed) return Refuse(verdict, Action::kFileWrite, target.path);
    if (target.st.st_nlink > 1 && !MayWriteLinked(target.object.get(), target.path))
      return Answer::Error(EROFS);
  }
  if (S_ISCHR(target.st.st_mode) && !IsPlainDevice(target.st.st_rdev))
    return Refuse(Refusal("this device is not opened on behalf of a command"), Action::kFileWrite,
                  target.path);
  if (major(target.st.st_dev) == 0 &&
      ActsForOpener(FileSystemType(target.object.get(), target.st)) && Writes(flags) &&
      !IsHarmlessProc(target.path))
    return Refuse(Refusal("the kernel would take it for the supervisor's own act"),
                  Action::kFileWrite, target.path);
  const bool waits =
      S_ISFIFO(target.st.st_mode) && (flags & O_NONBLOCK) == 0 && (flags & O_ACCMODE) != O_RDWR;
  return Reopen(target.object, waits, flags);
}

Answer Handler::OpenDevice(const Place& place, const struct stat& st, int flags) {
  constexpr unsigned kTtyMajor = 5;
  if (S_ISCHR(st.st_mode) && major(st.st_rdev) == kTtyMajor && minor(st.st_rdev) == 0)
    return OpenTerminal(flags);
  if (S_ISCHR(st.st_mode) && IsPlainDevice(st.st_rdev)) return Perform(place, flags & ~O_CREAT, 0);
  return Refuse(Refusal("this device is not opened on behalf of a command"), Action::kFileWrite,
                place.path);
}

// /dev/tty is the caller's controlling terminal, of which its number is known.
Answer Handler::OpenTerminal(int flags) {
  UniqueFd fd(::open(caller_.Proc("stat").c_str(), O_RDONLY | O_CLOEXEC));
  char text[1024];
  const ssize_t n = fd.valid() ? ::read(fd.get(), text, sizeof text) : -1;
  const auto number = TerminalNumber({text, n > 0 ? static_cast<std::size_t>(n) : 0});
  if (!number) return Answer::Error(ENXIO);
  char path[48];
  std::snprintf(path, sizeof path, "/dev/pts/%u", *number);
  Answer answer;
  answer.descriptor =
      UniqueFd(::open(path, (flags & ~(O_CREAT | O_NOFOLLOW)) | O_NOCTTY | O_CLOEXEC));
  struct stat st{};
  if (!answer.descriptor.valid()) return Answer::Error(errno == ENOENT ? ENXIO : errno);
  // A terminal of another instance of devpts may have the same number; only this one is ours.
  if (::fstat(answer.descriptor.get(), &st) != 0 || !S_ISCHR(st.st_mode))
    return Answer::Error(ENXIO);
  answer.kind = Answer::Kind::kDescriptor;
  answer.close_on_exec = (flags & O_CLOEXEC) != 0;
  return answer;
}

// Waits for the other side, in a helper. The broker goes on meanwhile, and with it every rename:
// what the helper opens is the very pipe that was judged, not its name.
Answer Handler::OpenFifo(const Place& place, int flags) {
  UniqueFd pipe(
      ::openat(place.directory.get(), place.name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat st{};
  if (!pipe.valid() || ::fstat(pipe.get(), &st) != 0) return Answer::Error(errno);
  if (!S_ISFIFO(st.st_mode)) return Answer::Error(ENXIO);
  return Reopen(pipe, true, flags);
}

// Opens once more what an O_PATH descriptor of the broker's names; in a helper when it may wait.
Answer Handler::Reopen(const UniqueFd& object, bool waits, int flags) {
  const int fd = object.get();
  const int own = (flags & ~(O_CREAT | O_EXCL | O_NOFOLLOW)) | O_CLOEXEC | O_NOCTTY;
  const auto open = [fd, own, flags]() {
    char path[32];
    std::snprintf(path, sizeof path, "self/fd/%d", fd);
    Answer answer;
    answer.descriptor = UniqueFd(::open(path, own));
    if (!answer.descriptor.valid()) return Answer::Error(errno);
    answer.kind = Answer::Kind::kDescriptor;
    answer.close_on_exec = (flags & O_CLOEXEC) != 0;
    return answer;
  };
  return waits ? InHelper(open) : open();
}

Answer Handler::Truncate() {
  const auto length = static_cast<off_t>(caller_.argument(1));
  if (length < 0) return Answer::Error(EINVAL);
  Place place = Read(AT_FDCWD, caller_.argument(0));
  if (place.error == ESRCH) return Answer::Gone();
  if (place.error != 0) return Answer::Error(place.error);
  Target target = session_.walker->Open(caller_, std::move(place));
  if (target.error != 0) return Answer::Error(target.error);
  if (S_ISREG(target.st.st_mode)) {
    NameVerdict verdict = target.magic ? WriteOpenFile(target) : session_.judge->Write(target.path);
    if (!verdict.allowed) return Refuse(verdict, Action::kFileWrite, target.path);
    if (target.st.st_nlink > 1 && !MayWriteLinked(target.object.get(), target.path))
      return Answer::Error(EROFS);
    Note(verdict, target.path);
  }
  // The limit is the caller's own, and so is the signal.
  rlimit limit{};
  if (S_ISREG(target.st.st_mode) && length > target.st.st_size &&
      ::prlimit(caller_.thread(), RLIMIT_FSIZE, nullptr, &limit) == 0 &&
      limit.rlim_cur != RLIM_INFINITY && static_cast<rlim_t>(length) > limit.rlim_cur) {
    ::syscall(SYS_tgkill, caller_.Ids().process, caller_.thread(), SIGXFSZ);
    return Answer::Error(EFBIG);
  }
  const int fd = target.object.get();
  const auto truncate = [fd, length]() {
    char again[32];
    std::snprintf(again, sizeof again, "self/fd/%d", fd);
    return Answer::Of(::truncate(again, length));
  };
  // As above: a lease is waited for.
  return S_ISREG(target.st.st_mode) ? InHelper(truncate) : truncate();
}

}  // namespace cordon::notify
