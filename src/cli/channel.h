// One direction of a relay: at most 64 KiB on the way, read only while there is room.
#pragma once

#include <memory>
#include <string_view>

namespace cordon::cli {

class Channel {
 public:
  static constexpr std::size_t kCapacity = 64 * 1024;

  // Does not own the descriptors. `write_limit` is how much can be written after POLLOUT without
  // blocking; kCapacity for a non-blocking `to`.
  Channel(int from, int to, std::size_t write_limit);

  int from() const { return from_; }
  int to() const { return to_; }
  bool WantsRead() const { return !ended_ && !broken_ && end_ + 1 < kCapacity; }
  bool WantsWrite() const { return !broken_ && begin_ < end_; }
  // Nothing more will come from `from`: its end was read. 0 for a plain end of file.
  bool ended() const { return ended_; }
  int read_error() const { return read_error_; }
  // `to` takes nothing any more; what was on the way is dropped.
  bool broken() const { return broken_; }
  int write_error() const { return write_error_; }

  enum class Read { kSome, kNothingNow, kEnd };
  // REQUIRES: WantsRead(). Reads once.
  Read ReadOnce();
  // REQUIRES: WantsWrite(). Writes once; false when `to` takes nothing now.
  bool WriteOnce();
  // Adds bytes of our own behind what is on the way; false when there is no room.
  bool Append(std::string_view bytes);
  // Lets reading go on after an end (a pty whose other side was closed can be opened again).
  void Reopen() { ended_ = false; }
  // Drops the carriage return of "\r\n": for output that passes a second terminal, which puts it
  // back. Holds from the next read.
  void set_join_line_ends(bool on) { join_line_ends_ = on; }
  // Lets a held "\r" go, when nothing will follow it.
  void ReleaseHeld();
  char last_byte() const { return last_byte_; }
  bool read_anything() const { return read_anything_; }

 private:
  std::size_t JoinLineEnds(char* data, std::size_t size);

  int from_, to_;
  std::size_t write_limit_;
  std::unique_ptr<char[]> buffer_;
  std::size_t begin_ = 0, end_ = 0;
  bool ended_ = false, broken_ = false;
  bool join_line_ends_ = false;
  bool held_return_ = false;  // a "\r" that was read last and waits for what follows
  bool read_anything_ = false;
  char last_byte_ = '\n';
  int read_error_ = 0, write_error_ = 0;
};

}  // namespace cordon::cli
