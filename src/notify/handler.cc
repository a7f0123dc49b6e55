#include "notify/handler.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <cerrno>

#include "notify/processor.h"

#ifndef STATX_BTIME
#define STATX_BTIME 0x800U
#endif

namespace cordon::notify {

using policy::FileKind;
using policy::NameVerdict;

bool IdentityOf(int fd, FileIdentity& out) {
  struct statx st{};
  constexpr unsigned kWanted = STATX_INO | STATX_BTIME;
  if (::statx(fd, "", AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, kWanted, &st) != 0) return false;
  out.device = makedev(st.stx_dev_major, st.stx_dev_minor);
  out.inode = st.stx_ino;
  if ((st.stx_mask & STATX_BTIME) != 0) {
    out.born_seconds = st.stx_btime.tv_sec;
    out.born_nanoseconds = st.stx_btime.tv_nsec;
  }
  return true;
}

Answer Answer::Of(long result) {
  return result < 0 ? Error(errno) : Value(static_cast<std::int64_t>(result));
}

Place Handler::Read(int directory, std::uint64_t address) {
  Place place;
  place.error = caller_.ReadString(address, raw_);
  if (place.error == 0) place = session_.walker->Resolve(caller_, directory, raw_);
  // Until here the id may have become another thread's.
  if (!caller_.Valid()) place.error = ESRCH;
  return place;
}

FileKind Handler::KindAt(const Place& place, struct stat* st, int* error) const {
  struct stat own{};
  if (st == nullptr) st = &own;
  if (::fstatat(place.directory.get(), place.name.c_str(), st, AT_SYMLINK_NOFOLLOW) != 0) {
    if (error != nullptr) *error = errno;
    return FileKind::kMissing;
  }
  if (S_ISREG(st->st_mode)) return FileKind::kFile;
  if (S_ISDIR(st->st_mode)) return FileKind::kDirectory;
  return S_ISLNK(st->st_mode) ? FileKind::kSymlink : FileKind::kOther;
}

void Handler::SetUmask() {
  mode_t wanted = umask_.Of(caller_);
  if (wanted == session_.umask) return;
  ::umask(wanted);
  session_.umask = wanted;
}

void Handler::Report(const NameVerdict& verdict, jail::wire::Action action,
                     const std::string& target, int error) {
  Denial denial;
  denial.action = action;
  denial.exec = exec_;
  denial.error = error;
  denial.target = target;
  denial.program = caller_.Program();
  const auto& rules = session_.policy.rules;
  if (verdict.rule != nullptr && !rules.empty() && verdict.rule >= &rules.front() &&
      verdict.rule <= &rules.back())
    denial.rule = static_cast<std::uint32_t>(verdict.rule - &rules.front());
  if (!session_.reporter->Count(denial)) return;
  denial.call = call_;
  denial.raw = raw_;
  denial.reason = verdict.reason;
  CallerIds ids = caller_.Ids();
  denial.host_pid = static_cast<std::uint32_t>(ids.process);
  denial.pid = static_cast<std::uint32_t>(ids.inner_process);
  session_.reporter->Send(denial);
}

void Handler::Note(const NameVerdict& verdict, const std::string& target) {
  if (verdict.notable) Report(verdict, jail::wire::Action::kChanged, target, 0);
}

Answer Handler::Refuse(const NameVerdict& verdict, jail::wire::Action action,
                       const std::string& target, int natural) {
  if (natural != 0) return Answer::Error(natural);
  // As the mounts answer: what is hidden cannot be entered, what is visible is read-only (12.21).
  const bool hidden = verdict.rule != nullptr && verdict.rule->kind == policy::RuleKind::kDenyRead;
  const int error = hidden || action == jail::wire::Action::kFileRead ? EACCES : EROFS;
  Report(verdict, action, target, error);
  return Answer::Error(error);
}

Answer Handler::Unresolved(int directory, int error, jail::wire::Action action) {
  if (error == ESRCH) return Answer::Gone();
  if (error != EACCES && error != ENOENT) return Answer::Error(error);
  std::string path = raw_;
  if (path.empty() || path.front() != '/') {
    const std::string base =
        directory == AT_FDCWD ? caller_.Proc("cwd") : caller_.ProcDescriptor(directory);
    UniqueFd fd(::open(base.c_str(), O_PATH | O_CLOEXEC));
    if (!fd.valid() || !caller_.Valid()) return Answer::Error(error);
    path = NameOf(fd.get()) + "/" + raw_;
  }
  path = policy::NormalizePath(path);
  const NameVerdict verdict = session_.judge->Read(path);
  const bool hidden = !verdict.allowed && verdict.rule != nullptr &&
                      verdict.rule->kind == policy::RuleKind::kDenyRead;
  if (hidden) Report(verdict, action, path, error);
  return Answer::Error(error);
}

std::uint64_t Handler::FileSystemType(int fd, const struct stat& st) const {
  auto it = session_.file_system_types.find(st.st_dev);
  if (it != session_.file_system_types.end()) return it->second;
  struct statfs fs{};
  if (::fstatfs(fd, &fs) != 0) return 0;
  auto type = static_cast<std::uint64_t>(fs.f_type);
  // The number of a file system without a device may be given to another later.
  if (session_.file_system_types.size() > 256) session_.file_system_types.clear();
  session_.file_system_types.emplace(st.st_dev, type);
  return type;
}

Answer Handler::Handle() {
  const auto path = [&](unsigned i) { return caller_.argument(i); };
  const auto number = [&](unsigned i) { return caller_.integer(i); };
  const auto mode = [&](unsigned i) { return static_cast<mode_t>(caller_.argument(i)); };
  switch (caller_.number()) {
#ifdef SYS_open
    case SYS_open: call_ = "open"; return Open(AT_FDCWD, path(0), number(1), mode(2));
    case SYS_creat:
      call_ = "creat";
      return Open(AT_FDCWD, path(0), O_CREAT | O_WRONLY | O_TRUNC, mode(1));
    case SYS_mkdir: call_ = "mkdir"; return MakeDirectory(AT_FDCWD, path(0), mode(1));
    case SYS_mknod: call_ = "mknod"; return MakeNode(AT_FDCWD, path(0), mode(1));
    case SYS_symlink: call_ = "symlink"; return MakeSymlink(path(0), AT_FDCWD, path(1));
    case SYS_link: call_ = "link"; return MakeLink(AT_FDCWD, path(0), AT_FDCWD, path(1), 0);
    case SYS_rename: call_ = "rename"; return Rename(AT_FDCWD, path(0), AT_FDCWD, path(1), 0);
    case SYS_rmdir: call_ = "rmdir"; return RemoveDirectory(AT_FDCWD, path(0));
#endif
    case SYS_openat: call_ = "openat"; return Open(number(0), path(1), number(2), mode(3));
    case SYS_mkdirat: call_ = "mkdirat"; return MakeDirectory(number(0), path(1), mode(2));
    case SYS_mknodat: call_ = "mknodat"; return MakeNode(number(0), path(1), mode(2));
    case SYS_symlinkat: call_ = "symlinkat"; return MakeSymlink(path(0), number(1), path(2));
    case SYS_linkat:
      call_ = "linkat";
      return MakeLink(number(0), path(1), number(2), path(3), number(4));
#ifdef SYS_renameat
    case SYS_renameat: call_ = "renameat"; return Rename(number(0), path(1), number(2), path(3), 0);
#endif
    case SYS_renameat2:
      call_ = "renameat2";
      return Rename(number(0), path(1), number(2), path(3), static_cast<unsigned>(number(4)));
    case SYS_unlinkat: call_ = "unlinkat"; return RemoveDirectory(number(0), path(1));
    case SYS_truncate: call_ = "truncate"; return Truncate();
    case SYS_umask:
      // The value is in a register, so that the kernel may make the call itself.
      umask_.Changing(caller_, mode(0));
      return Answer::Continue();
    case SYS_connect: call_ = "connect"; return Connect();
    case SYS_bind: call_ = "bind"; return Bind();
    case SYS_execve: call_ = "execve"; return ReportProgram(AT_FDCWD, path(0));
    case SYS_execveat: call_ = "execveat"; return ReportProgram(number(0), path(1));
    default: return Answer::Error(ENOSYS);
  }
}

bool SendAnswer(const Caller& caller, Answer& answer) {
  switch (answer.kind) {
    case Answer::Kind::kDeferred: return true;
    case Answer::Kind::kGone: return false;
    case Answer::Kind::kContinue:
      return Respond(caller.listener(), caller.id(), 0, 0, SECCOMP_USER_NOTIF_FLAG_CONTINUE);
    case Answer::Kind::kResult:
      return Respond(caller.listener(), caller.id(), answer.value, answer.error, 0);
    case Answer::Kind::kDescriptor: break;
  }
  // Added, our copy closed, then answered: else the file would still be open here when the caller
  // goes on, and could not be executed, unlocked or seen as closed (12.9).
  const bool at_once = answer.at_once;
  SameProcessor together(caller.thread());
  int added = AddDescriptor(caller.listener(), caller.id(), answer.descriptor.get(),
                            answer.close_on_exec, at_once);
  int error = added < 0 ? errno : 0;
  answer.descriptor.reset();
  if (error == 0) answer.made_in.reset();
  together.Release();
  if (error == ENOENT) return false;
  if (at_once && error == 0) return true;
  if (error != 0 && answer.made_in.valid())
    ::unlinkat(answer.made_in.get(), answer.made_name.c_str(), 0);
  return Respond(caller.listener(), caller.id(), added, error, 0);
}

}  // namespace cordon::notify
