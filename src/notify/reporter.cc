#include "notify/reporter.h"

#include "notify/link.h"

namespace cordon::notify {
namespace {

using jail::wire::Action;
using jail::wire::PutNumber;
using jail::wire::PutString;
using jail::wire::Type;

std::string Encode(const Denial& d, std::uint64_t count) {
  std::string out;
  PutNumber(out, static_cast<std::uint32_t>(d.action));
  PutNumber(out, d.exec);
  PutNumber(out, count > 0xffffffffu ? 0xffffffffu : static_cast<std::uint32_t>(count));
  PutNumber(out, d.host_pid);
  PutNumber(out, d.pid);
  PutNumber(out, d.rule);
  PutNumber(out, static_cast<std::uint32_t>(d.error));
  for (const std::string* text : {&d.call, &d.target, &d.raw, &d.program, &d.reason})
    PutString(out, *text);
  return out;
}

}  // namespace

std::string Reporter::KeyOf(const Denial& d) {
  std::string key = d.target;
  key += '\0';
  key += d.program;
  key += '\0';
  PutNumber(key, static_cast<std::uint32_t>(d.action));
  PutNumber(key, d.rule);
  PutNumber(key, d.exec);
  return key;
}

bool Reporter::Say(Entry& entry) {
  std::uint64_t count = entry.total - entry.said;
  if (count == 0) return true;
  if (!SendLink(socket_, Type::kReport, 0, Encode(entry.denial, count))) {
    waiting_ = true;
    return false;
  }
  entry.said = entry.total;
  return true;
}

bool Reporter::Count(const Denial& denial) {
  std::string key = KeyOf(denial);
  auto it = entries_.find(key);
  if (it == entries_.end()) {
    if (entries_.size() >= kMostKept) {
      Flush();
      if (waiting_) {
        ++lost_;
        return false;
      }
      entries_.clear();
    }
    it = entries_.emplace(std::move(key), Entry{denial, 0, 0}).first;
  }
  Entry& entry = it->second;
  ++entry.total;
  // The first one, and whenever the number has doubled.
  return (entry.total & (entry.total - 1)) == 0;
}

void Reporter::Send(const Denial& denial) {
  auto it = entries_.find(KeyOf(denial));
  if (it == entries_.end()) return;
  it->second.denial = denial;
  Say(it->second);
}

void Reporter::Flush() {
  waiting_ = false;
  for (auto& [key, entry] : entries_) {
    if (!Say(entry)) return;
  }
  if (lost_ == 0) return;
  Denial lost;
  lost.action = Action::kLost;
  if (SendLink(socket_, Type::kReport, 0, Encode(lost, lost_)))
    lost_ = 0;
  else
    waiting_ = true;
}

}  // namespace cordon::notify
