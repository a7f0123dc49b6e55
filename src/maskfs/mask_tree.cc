#include "maskfs/mask_tree.h"

#include <linux/fuse.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

namespace cordon::maskfs {
namespace {

using jail::wire::MaskKind;

constexpr std::uint64_t kRoot = FUSE_ROOT_ID;
constexpr std::uint64_t kFirstNode = kRoot + 1;
constexpr std::uint32_t kMajor = 7, kMinor = 31;
// A node never changes, so that the kernel need not ask twice. What is below one is never kept:
// each attempt is to be seen.
constexpr std::uint64_t kForEver = 1u << 30;
constexpr std::uint32_t kMayRead = 4, kMayWrite = 2, kMayExecute = 1;
constexpr std::size_t kMostListed = 64 * 1024;

constexpr std::uint32_t kDirectoryBit = 0040000, kRegularBit = 0100000;

std::uint64_t NodeOf(const Mask& mask) { return kFirstNode + mask.number; }

}  // namespace

std::optional<MaskTable> DecodeMasks(std::string_view payload) {
  jail::wire::Reader reader(payload);
  MaskTable table;
  table.uid = reader.U32();
  table.gid = reader.U32();
  for (std::uint32_t n = reader.U32(); n > 0 && reader.ok(); --n) {
    Mask mask;
    mask.number = reader.U32();
    const std::uint32_t kind = reader.U32();
    if (kind > static_cast<std::uint32_t>(MaskKind::kEmptyFile)) return std::nullopt;
    mask.kind = static_cast<MaskKind>(kind);
    mask.rule = reader.U32();
    mask.path = std::string(reader.String());
    if (!table.masks.empty() && table.masks.back().number >= mask.number) return std::nullopt;
    table.masks.push_back(std::move(mask));
  }
  if (!reader.ok() || !reader.AtEnd()) return std::nullopt;
  return table;
}

struct MaskTree::Request {
  fuse_in_header header{};
  std::string_view rest;

  // A structure at the beginning of what follows the header; zeros where it is cut.
  template <typename T>
  T As() const {
    T value{};
    std::memcpy(&value, rest.data(), std::min(sizeof value, rest.size()));
    return value;
  }
};

const Mask* MaskTree::Find(std::uint64_t node) const {
  auto it = std::lower_bound(table_.masks.begin(), table_.masks.end(), node,
                             [](const Mask& m, std::uint64_t n) { return NodeOf(m) < n; });
  return it != table_.masks.end() && NodeOf(*it) == node ? &*it : nullptr;
}

template <typename T>
void MaskTree::SetBody(Answer& answer, const T& value) {
  body_.assign(reinterpret_cast<const char*>(&value), sizeof value);
  answer.error = 0;
  answer.body = body_;
}

// Null: the root.
template <typename T>
void MaskTree::FillAttributes(const Mask* mask, T& a) const {
  const bool directory = mask == nullptr || mask->kind == MaskKind::kDirectory;
  const std::uint32_t mode = mask == nullptr ? 0755 : mask->kind == MaskKind::kEmptyFile ? 0444 : 0;
  a.ino = mask == nullptr ? kRoot : NodeOf(*mask);
  a.mode = (directory ? kDirectoryBit : kRegularBit) | mode;
  a.nlink = directory ? 2 : 1;
  a.uid = table_.uid;
  a.gid = table_.gid;
  a.atime = a.mtime = a.ctime = seconds_;
  a.blksize = 4096;
}

void MaskTree::Initialise(const Request& request, Answer& answer) {
  const auto in = request.As<fuse_init_in>();
  answer.error = EPROTO;
  if (in.major < kMajor) return;
  fuse_init_out out{};
  out.major = kMajor;
  out.minor = kMinor;
  out.max_readahead = 4096;
  out.max_write = 4096;
  out.time_gran = 1;
  out.flags = in.flags & (FUSE_PARALLEL_DIROPS | FUSE_DO_READDIRPLUS);
  SetBody(answer, out);
}

void MaskTree::LookUpInRoot(std::string_view name, Answer& answer) {
  answer.from_launcher = true;
  answer.error = ENOENT;
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size()) return;
  const Mask* mask = Find(kFirstNode + number);
  if (mask == nullptr) return;
  fuse_entry_out out{};
  out.nodeid = NodeOf(*mask);
  out.entry_valid = out.attr_valid = kForEver;
  FillAttributes(mask, out.attr);
  SetBody(answer, out);
}

void MaskTree::LookUp(const Request& request, Answer& answer) {
  const std::size_t end = request.rest.find('\0');
  answer.error = EINVAL;
  if (end == std::string_view::npos) return;
  const std::string_view name = request.rest.substr(0, end);
  if (request.header.nodeid == kRoot) return LookUpInRoot(name, answer);
  const Mask* mask = Find(request.header.nodeid);
  answer.error = EACCES;
  // "." and ".." come from file handles alone, not from a path.
  if (mask == nullptr || name.empty() || name == "." || name == "..") return;
  answer.attempt = Attempt{mask, name, "", EACCES};
}

void MaskTree::Open(const Request& request, Answer& answer) {
  const Mask* mask = Find(request.header.nodeid);
  answer.error = EACCES;
  const bool root = request.header.nodeid == kRoot && request.header.opcode == FUSE_OPENDIR;
  answer.from_launcher = root;
  if (mask == nullptr && !root) return;
  const bool opens = root || mask->kind == MaskKind::kEmptyFile;
  if (opens) SetBody(answer, fuse_open_out{});
  if (!root) answer.attempt = Attempt{mask, "", "open", answer.error};
}

// Never ENOSYS: the kernel would take that for a file system that allows everything.
void MaskTree::Access(const Request& request, Answer& answer) {
  const std::uint32_t asked =
      request.As<fuse_access_in>().mask & (kMayRead | kMayWrite | kMayExecute);
  const Mask* mask = Find(request.header.nodeid);
  if (mask == nullptr) {
    answer.error = request.header.nodeid == kRoot ? 0 : EACCES;
    return;
  }
  if (asked == 0 || (mask->kind == MaskKind::kEmptyFile && asked == kMayRead)) {
    answer.error = 0;
    return;
  }
  answer.error = EACCES;
  if ((asked & (kMayRead | kMayExecute)) != 0) answer.attempt = Attempt{mask, "", "access", EACCES};
}

void MaskTree::Read(const Request& request, Answer& answer) {
  const Mask* mask = Find(request.header.nodeid);
  answer.error = mask != nullptr && mask->kind == MaskKind::kEmptyFile ? 0 : EACCES;
}

// All nodes with their attributes in few answers: the launcher lists the root once, and then finds
// each node without asking.
void MaskTree::List(const Request& request, Answer& answer) {
  answer.error = EACCES;
  if (request.header.nodeid != kRoot) return;
  const auto in = request.As<fuse_read_in>();
  const std::size_t room = std::min<std::size_t>(in.size, kMostListed);
  body_.clear();
  for (std::size_t i = in.offset; i < table_.masks.size(); ++i) {
    const Mask& mask = table_.masks[i];
    const std::string name = std::to_string(mask.number);
    fuse_direntplus entry{};
    entry.entry_out.nodeid = NodeOf(mask);
    entry.entry_out.entry_valid = entry.entry_out.attr_valid = kForEver;
    FillAttributes(&mask, entry.entry_out.attr);
    entry.dirent.ino = NodeOf(mask);
    entry.dirent.off = i + 1;
    entry.dirent.namelen = static_cast<std::uint32_t>(name.size());
    entry.dirent.type = mask.kind == MaskKind::kDirectory ? kDirectoryBit >> 12 : kRegularBit >> 12;
    const std::size_t size = FUSE_NAME_OFFSET_DIRENTPLUS + name.size();
    if (body_.size() + FUSE_DIRENT_ALIGN(size) > room) break;
    body_.append(reinterpret_cast<const char*>(&entry), FUSE_NAME_OFFSET_DIRENTPLUS);
    body_ += name;
    body_.append(FUSE_DIRENT_ALIGN(size) - size, '\0');
  }
  answer.error = 0;
  answer.body = body_;
}

void MaskTree::Attributes(const Request& request, Answer& answer) {
  const Mask* mask = Find(request.header.nodeid);
  answer.error = ESTALE;
  if (mask == nullptr && request.header.nodeid != kRoot) return;
  fuse_attr_out out{};
  out.attr_valid = kForEver;
  FillAttributes(mask, out.attr);
  SetBody(answer, out);
}

void MaskTree::Rest(const Request& request, Answer& answer) {
  switch (request.header.opcode) {
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
    case FUSE_INTERRUPT:  // what it speaks of has been answered
    case FUSE_NOTIFY_REPLY: answer.send = false; return;
    case FUSE_RELEASE:
    case FUSE_RELEASEDIR:
    case FUSE_FLUSH:
    case FUSE_FSYNC:
    case FUSE_FSYNCDIR:
    case FUSE_DESTROY: answer.error = 0; return;
    case FUSE_STATFS: {
      fuse_statfs_out out{};
      out.st.bsize = out.st.frsize = 4096;
      out.st.namelen = 255;
      SetBody(answer, out);
      return;
    }
    case FUSE_GETXATTR: answer.error = ENODATA; return;
    case FUSE_LISTXATTR:
      answer.error = 0;
      if (request.As<fuse_getxattr_in>().size == 0) SetBody(answer, fuse_getxattr_out{});
      return;
    case FUSE_READLINK: answer.error = EINVAL; return;
    case FUSE_IOCTL: answer.error = ENOTTY; return;
    // Where ENOSYS means "nothing special here" to the kernel, and opens nothing.
    case FUSE_LSEEK:
    case FUSE_POLL:
    case FUSE_BMAP: answer.error = ENOSYS; return;
    default: answer.error = request.header.opcode > FUSE_LSEEK ? ENOSYS : EACCES;
  }
}

Answer MaskTree::Ask(std::string_view bytes) {
  Answer answer;
  Request request;
  if (bytes.size() < sizeof request.header) return answer;
  std::memcpy(&request.header, bytes.data(), sizeof request.header);
  request.rest = bytes.substr(sizeof request.header);
  answer.send = true;
  answer.unique = request.header.unique;
  answer.pid = request.header.pid;
  answer.error = EIO;
  if (request.header.len != bytes.size()) return answer;
  switch (request.header.opcode) {
    case FUSE_INIT: Initialise(request, answer); break;
    case FUSE_LOOKUP: LookUp(request, answer); break;
    case FUSE_GETATTR: Attributes(request, answer); break;
    case FUSE_OPEN:
    case FUSE_OPENDIR: Open(request, answer); break;
    case FUSE_ACCESS: Access(request, answer); break;
    case FUSE_READ: Read(request, answer); break;
    case FUSE_READDIRPLUS: List(request, answer); break;
    default: Rest(request, answer); break;
  }
  return answer;
}

}  // namespace cordon::maskfs
