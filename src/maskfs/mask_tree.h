// The masks of one view as a file system, and what each request of the kernel is answered.
//
//   root (never seen inside)
//     +-- 7        a directory of mode 0000: one denied directory; no name below it can be opened
//     +-- 9        a file of mode 0000: one denied file
//     +-- 12       a file of mode 0444 without content (12.28)
//
// The names are the numbers of the plan's operations (jail::EncodeMasks). The launcher binds each
// node to its place; a request for a node thus tells which denied path was meant.
//
// Pure: bytes in, bytes out. The requests carry names that were chosen inside a session: nothing in
// them is trusted (requests_fuzz.cc).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jail/wire_report.h"

namespace cordon::maskfs {

struct Mask {
  std::uint32_t number = 0;
  jail::wire::MaskKind kind = jail::wire::MaskKind::kFile;
  std::uint32_t rule = jail::wire::kNoRule;
  std::string path;  // in the view
};

struct MaskTable {
  std::uint32_t uid = 0, gid = 0;  // inside: whom the nodes belong to
  std::vector<Mask> masks;         // by ascending number
};

// What jail::EncodeMasks wrote; nothing when it is not that.
std::optional<MaskTable> DecodeMasks(std::string_view payload);

// Somebody tried to read what is denied.
struct Attempt {
  const Mask* mask = nullptr;
  std::string_view name;  // below the mask; empty: the mask itself
  const char* call = "";  // where the request tells
  int error = 0;          // what was answered
};

struct Answer {
  bool send = false;           // some requests take no answer
  int error = 0;               // an errno, or 0 and `body`
  std::string_view body;       // valid until the next request
  std::uint64_t unique = 0;    // which request
  std::uint32_t pid = 0;       // who asked: a thread id; 0: not a process of the session
  bool from_launcher = false;  // a look-up in the root, which only the launcher can make
  std::optional<Attempt> attempt;
};

class MaskTree {
 public:
  // `seconds`: the time that the nodes carry.
  MaskTree(MaskTable table, std::uint64_t seconds) : table_(std::move(table)), seconds_(seconds) {}
  // `request`: one message as the kernel gave it. What is no request is answered with an error, or
  // not at all when it has no header.
  Answer Ask(std::string_view request);

 private:
  struct Request;
  const Mask* Find(std::uint64_t node) const;
  void Initialise(const Request& request, Answer& answer);
  void LookUp(const Request& request, Answer& answer);
  void LookUpInRoot(std::string_view name, Answer& answer);
  void Open(const Request& request, Answer& answer);
  void Access(const Request& request, Answer& answer);
  void Read(const Request& request, Answer& answer);
  void List(const Request& request, Answer& answer);
  void Attributes(const Request& request, Answer& answer);
  void Rest(const Request& request, Answer& answer);
  template <typename T>
  void SetBody(Answer& answer, const T& value);
  template <typename T>
  void FillAttributes(const Mask* mask, T& attributes) const;

  MaskTable table_;
  std::uint64_t seconds_;
  std::string body_;
};

}  // namespace cordon::maskfs
