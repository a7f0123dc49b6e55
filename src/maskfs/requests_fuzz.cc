// Any bytes as the table and as requests. Nothing crashes, no name below a mask opens, no denied
// file opens, and no answer is larger than what was asked for.
#include <linux/fuse.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "maskfs/mask_tree.h"

namespace {

using cordon::jail::wire::MaskKind;
using namespace cordon::maskfs;

MaskTable MadeTable() {
  MaskTable table;
  table.masks.push_back({0, MaskKind::kDirectory, 1, "/home/u/.ssh"});
  table.masks.push_back({7, MaskKind::kFile, 2, "/home/u/.netrc"});
  table.masks.push_back({9, MaskKind::kEmptyFile, 3, "/home/u/.npmrc"});
  return table;
}

void Check(MaskTree& tree, std::string_view bytes) {
  const Answer answer = tree.Ask(bytes);
  fuse_in_header header{};
  if (bytes.size() < sizeof header) {
    if (answer.send) std::abort();
    return;
  }
  std::memcpy(&header, bytes.data(), sizeof header);
  if (answer.error < 0 || (answer.error != 0 && !answer.body.empty())) std::abort();
  if (answer.body.size() > 64 * 1024 || answer.unique != header.unique) std::abort();
  if (answer.attempt && (answer.attempt->mask == nullptr || answer.from_launcher)) std::abort();
  const bool denied_file = header.nodeid == 2 + 7, denied_directory = header.nodeid == 2;
  const bool opens = header.opcode == FUSE_OPEN || header.opcode == FUSE_OPENDIR;
  if (opens && (denied_file || denied_directory) && answer.error == 0) std::abort();
  if (header.opcode == FUSE_LOOKUP && header.nodeid != FUSE_ROOT_ID && answer.error == 0)
    std::abort();
  const bool lists = header.opcode == FUSE_READDIR || header.opcode == FUSE_READDIRPLUS;
  if (lists && header.nodeid != FUSE_ROOT_ID && answer.error == 0) std::abort();
  // These words of a server would make the kernel allow everything.
  if ((opens || header.opcode == FUSE_ACCESS) && answer.error == ENOSYS) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  MaskTree tree(MadeTable(), 1);
  Check(tree, input);
  if (size >= sizeof(fuse_in_header)) {
    std::string whole(input);
    const auto length = static_cast<std::uint32_t>(size);
    std::memcpy(whole.data(), &length, sizeof length);
    Check(tree, whole);
  }
  if (auto table = DecodeMasks(input)) {
    for (std::size_t i = 1; i < table->masks.size(); ++i)
      if (table->masks[i - 1].number >= table->masks[i].number) std::abort();
    MaskTree other(std::move(*table), 1);
    other.Ask(input);
  }
  return 0;
}
