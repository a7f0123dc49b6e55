#include "base/error.h"

#include <cerrno>
#include <cstring>

namespace cordon {

std::string_view ErrorCodeName(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalid: return "invalid";
    case ErrorCode::kDenied: return "denied";
    case ErrorCode::kNotFound: return "not-found";
    case ErrorCode::kUnsupported: return "unsupported";
    case ErrorCode::kExhausted: return "exhausted";
    case ErrorCode::kTimeout: return "timeout";
    case ErrorCode::kSystem: return "system";
    case ErrorCode::kInternal: return "internal";
  }
  return "internal";
}

std::string Error::ToString() const {
  std::string out = message;
  if (sys_errno != 0) {
    char buf[128];
    out += ": ";
    out += strerror_r(sys_errno, buf, sizeof buf);
  }
  if (!remedy.empty()) {
    out += "; ";
    out += remedy;
  }
  return out;
}

Error MakeError(ErrorCode code, std::string message, std::string remedy) {
  return Error{code, std::move(message), std::move(remedy), 0};
}

Error ErrnoError(std::string what, int err) {
  ErrorCode code = ErrorCode::kSystem;
  switch (err) {
    case EACCES:
    case EPERM:
    case EROFS: code = ErrorCode::kDenied; break;
    case ENOENT:
    case ESRCH:
    case ENOTDIR: code = ErrorCode::kNotFound; break;
    case ENOSYS:
    case EOPNOTSUPP: code = ErrorCode::kUnsupported; break;
    case ENOMEM:
    case EMFILE:
    case ENFILE:
    case ENOSPC:
    case EDQUOT:
    case EAGAIN: code = ErrorCode::kExhausted; break;
    case ETIMEDOUT: code = ErrorCode::kTimeout; break;
    case EINVAL:
    case ENAMETOOLONG:
    case ELOOP: code = ErrorCode::kInvalid; break;
    default: break;
  }
  return Error{code, std::move(what), {}, err};
}

Error ErrnoError(std::string what) { return ErrnoError(std::move(what), errno); }

Error Annotate(Error e, std::string_view context) {
  e.message = std::string(context) + ": " + e.message;
  return e;
}

}  // namespace cordon
