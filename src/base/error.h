// Errors as values: what failed, which errno, and what a person can do about it.
//
//   Result<UniqueFd> OpenPlan(const std::string& path) {
//     int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
//     if (fd < 0) return ErrnoError("open " + path);
//     return UniqueFd(fd);
//   }
//   CORDON_TRY(auto plan, OpenPlan(p));      // returns the error to the caller
//
// A denial by policy is not an Error: it is a policy::Verdict.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace cordon {

enum class ErrorCode {
  kInvalid,      // the caller's input is wrong
  kDenied,       // policy or permission refuses
  kNotFound,     // a file, program or session does not exist
  kUnsupported,  // this host or build cannot do what was asked
  kExhausted,    // out of memory, descriptors, disk, ...
  kTimeout,
  kSystem,    // a system call failed in an unforeseen way
  kInternal,  // a fault of Cordon's own
};

std::string_view ErrorCodeName(ErrorCode code);

// One failure. `message` is lower case and holds the offending value; `remedy`, when known, is one
// sentence that says what would mend it.
struct [[nodiscard]] Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
  std::string remedy;
  int sys_errno = 0;

  // "message (strerror); remedy" as shown to a person.
  std::string ToString() const;
};

Error MakeError(ErrorCode code, std::string message, std::string remedy = {});
// Maps errno (the current one by default) to a code and keeps its number.
Error ErrnoError(std::string what, int err);
Error ErrnoError(std::string what);
// Puts "context: " before the message of `e`.
Error Annotate(Error e, std::string_view context);

// A value or an Error. Not thread-safe, like the T that it holds.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  // REQUIRES: ok()
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  // REQUIRES: !ok()
  Error& error() & { return std::get<1>(state_); }
  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}
  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  Error& error() & { return *error_; }
  const Error& error() const& { return *error_; }
  Error&& error() && { return std::move(*error_); }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;
inline Status Ok() { return {}; }

}  // namespace cordon

#define CORDON_CONCAT_INNER(a, b) a##b
#define CORDON_CONCAT(a, b) CORDON_CONCAT_INNER(a, b)
// CORDON_TRY(decl, expr): evaluates a Result<T>; on error returns it, else binds the value.
#define CORDON_TRY(decl, expr) CORDON_TRY_IMPL(CORDON_CONCAT(cordon_try_, __LINE__), decl, expr)
#define CORDON_TRY_IMPL(tmp, decl, expr)                         \
  auto tmp = (expr);                                             \
  if (!tmp.ok()) return ::cordon::Error(std::move(tmp).error()); \
  decl = std::move(tmp).value()
// CORDON_CHECK(expr): the same for a Status.
#define CORDON_CHECK(expr)                                                             \
  do {                                                                                 \
    auto cordon_check_ = (expr);                                                       \
    if (!cordon_check_.ok()) return ::cordon::Error(std::move(cordon_check_).error()); \
  } while (false)
