#include "cli/channel.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace cordon::cli {

Channel::Channel(int from, int to, std::size_t write_limit)
    : from_(from), to_(to), write_limit_(write_limit), buffer_(new char[kCapacity]) {}

// A lone "\r" at the end stays away until its successor is known.
std::size_t Channel::JoinLineEnds(char* data, std::size_t size) {
  std::size_t out = 0;
  for (std::size_t i = 0; i < size; ++i) {
    if (data[i] == '\r' && (i + 1 == size || data[i + 1] == '\n')) {
      held_return_ = i + 1 == size;
      continue;
    }
    data[out++] = data[i];
  }
  return out;
}

Channel::Read Channel::ReadOnce() {
  char* at = buffer_.get() + end_;
  std::size_t room = kCapacity - end_;
  std::size_t held = 0;
  if (held_return_) {
    at[0] = '\r';
    held = 1;
  }
  const ssize_t n = ::read(from_, at + held, room - held);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return Read::kNothingNow;
  if (n <= 0) {
    ended_ = true;
    read_error_ = n < 0 ? errno : 0;
    end_ += held;
    held_return_ = false;
    return Read::kEnd;
  }
  held_return_ = false;
  read_anything_ = true;
  std::size_t size = held + static_cast<std::size_t>(n);
  last_byte_ = at[size - 1];
  if (join_line_ends_) size = JoinLineEnds(at, size);
  end_ += size;
  return Read::kSome;
}

bool Channel::WriteOnce() {
  const std::size_t size = std::min(end_ - begin_, write_limit_);
  const ssize_t n = ::write(to_, buffer_.get() + begin_, size);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (n < 0) {
    broken_ = true;
    write_error_ = errno;
    begin_ = end_ = 0;
    return false;
  }
  begin_ += static_cast<std::size_t>(n);
  if (begin_ == end_) {
    begin_ = end_ = 0;
  } else if (end_ + 1 >= kCapacity && begin_ >= kCapacity / 2) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  return n > 0;
}

void Channel::ReleaseHeld() {
  if (!held_return_ || broken_) return;
  held_return_ = false;
  buffer_[end_++] = '\r';
}

bool Channel::Append(std::string_view bytes) {
  if (kCapacity - end_ < bytes.size()) return false;
  std::memcpy(buffer_.get() + end_, bytes.data(), bytes.size());
  end_ += bytes.size();
  return true;
}

}  // namespace cordon::cli
