// One trapped call: what it asks for, the judgement, and the call itself on behalf of its maker.
//
// Every handler works on the broker's own copies of the arguments, and answers in one of these
// ways; nothing is done before the whole of the caller's state has been read and found valid.
#pragma once

#include <optional>
#include <string>

#include "notify/caller.h"
#include "notify/place.h"
#include "notify/session_state.h"

namespace cordon::notify {

struct Answer {
  enum class Kind {
    kResult,      // `error` (errno) or, when that is 0, `value`
    kDescriptor,  // `descriptor` is added to the caller
    kContinue,    // the kernel makes the call: nothing was decided, or by registers alone
    kDeferred,    // a helper answers
    kGone,        // the caller is gone
  } kind = Kind::kResult;
  int error = 0;
  std::int64_t value = 0;
  UniqueFd descriptor{};
  bool close_on_exec = false;
  // kDescriptor: the answer may come before the broker has closed its copy (SendAnswer).
  bool at_once = false;
  // Where kDescriptor made a new file: it is taken away again when the caller has no room for the
  // descriptor.
  UniqueFd made_in{};
  std::string made_name{};

  static Answer Error(int error) { return {Kind::kResult, error, 0, {}, false, false, {}, {}}; }
  static Answer Value(std::int64_t value) {
    return {Kind::kResult, 0, value, {}, false, false, {}, {}};
  }
  // What a system call returned: -1 with errno, or a value.
  static Answer Of(long result);
  static Answer Continue() { return {Kind::kContinue, 0, 0, {}, false, false, {}, {}}; }
  static Answer Deferred() { return {Kind::kDeferred, 0, 0, {}, false, false, {}, {}}; }
  static Answer Gone() { return {Kind::kGone, 0, 0, {}, false, false, {}, {}}; }
};

class Handler {
 public:
  Handler(SessionState& session, UmaskCache& umask, const Caller& caller, std::uint32_t exec)
      : session_(session), umask_(umask), caller_(caller), exec_(exec) {}

  Answer Handle();

 private:
  // open.cc
  Answer Open(int directory, std::uint64_t address, int flags, mode_t mode);
  Answer OpenPlace(Place place, int flags, mode_t mode);
  Answer OpenExisting(Place& place, const struct stat& st, int flags, mode_t mode);
  Answer OpenMagic(const Place& place, int flags);
  Answer OpenDevice(const Place& place, const struct stat& st, int flags);
  Answer OpenTerminal(int flags);
  Answer OpenFifo(const Place& place, int flags);
  Answer OpenNoPlace(const Place& place, int flags);
  Answer OpenTemporary(const Place& place, int flags, mode_t mode);
  Answer Perform(const Place& place, int flags, mode_t mode);
  Answer Truncate();
  Answer Reopen(const UniqueFd& object, bool waits, int flags);
  // `object`: an O_PATH descriptor of a file with more than one name, of which `path` is one.
  bool MayWriteLinked(int object, const std::string& path);
  int OwnDescriptor(const Place& place) const;
  policy::NameVerdict WriteOpenFile(const Target& target);

  // names.cc
  Answer MakeDirectory(int directory, std::uint64_t address, mode_t mode);
  Answer MakeNode(int directory, std::uint64_t address, mode_t mode);
  Answer MakeSymlink(std::uint64_t target, int directory, std::uint64_t address);
  Answer MakeLink(int from, std::uint64_t from_address, int to, std::uint64_t to_address,
                  int flags);
  Answer Rename(int from, std::uint64_t from_address, int to, std::uint64_t to_address,
                unsigned flags);
  Answer ReplaceConfig(const Place& from, const Place& to);
  void NoteMoveAcross(const Place& from, policy::FileKind kind, const Place& to,
                      policy::FileKind replaced);
  Answer RemoveDirectory(int directory, std::uint64_t address);

  // sockets.cc
  Answer Connect();
  Answer ConnectUnix(UniqueFd socket, std::string_view path, std::string raw);
  Answer ConnectCopy(UniqueFd socket, const char* address, unsigned length);
  Answer Bind();
  Answer BindUnix(UniqueFd socket, std::string_view address, std::string_view path);
  bool MayConnect(const Target& target, policy::NameVerdict& verdict) const;

  // programs.cc
  Answer ReportProgram(int directory, std::uint64_t address);

  // handler.cc
  // Reads a path and resolves it; 0 or an errno, as in Place::error.
  Place Read(int directory, std::uint64_t address);
  // kMissing also when it cannot be looked at: `error` is then the reason, ENOENT or another.
  policy::FileKind KindAt(const Place& place, struct stat* st = nullptr,
                          int* error = nullptr) const;
  void SetUmask();
  // Reports and gives the errno of a refusal: `natural` when it is not 0, for calls that would
  // have failed anyway (then nothing is reported).
  Answer Refuse(const policy::NameVerdict& verdict, jail::wire::Action action,
                const std::string& target, int natural = 0);
  void Report(const policy::NameVerdict& verdict, jail::wire::Action action,
              const std::string& target, int error);
  void Note(const policy::NameVerdict& verdict, const std::string& target);
  // The answer for a path that could not be resolved. Below a mask the kernel does not get far
  // enough to say where; by the words of the path it may be known that a rule hides it.
  Answer Unresolved(int directory, int error, jail::wire::Action action);
  // Runs `work` in a child, which answers the call with what it returns.
  template <typename Work>
  Answer InHelper(Work work);
  std::uint64_t FileSystemType(int fd, const struct stat& st) const;

  SessionState& session_;
  UmaskCache& umask_;
  const Caller& caller_;
  std::uint32_t exec_;
  const char* call_ = "";
  std::string raw_;  // the path as given
};

// Sends the answer; false when the caller is gone.
bool SendAnswer(const Caller& caller, Answer& answer);

}  // namespace cordon::notify
