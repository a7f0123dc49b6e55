// Any bytes: the reader ends, and what it takes is written and read back to the same text. Messages
// name the text and, but for its size, a line and a column.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "policy/json_reader.h"
#include "policy/json_writer.h"
#include "policy/spec_json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cordon::policy;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto json = ParseJson(text, "fuzz");
  if (json.ok()) {
    const std::string written = WriteJson(*json);
    const auto again = ParseJson(written, "fuzz");
    if (!again.ok() || WriteJson(*again) != written) std::abort();
  } else if (!json.error().message.starts_with("fuzz:")) {
    std::abort();
  }
  const auto spec = ParseSpec(text, "fuzz");
  if (!spec.ok()) {
    if (!spec.error().message.starts_with("fuzz:")) std::abort();
    return 0;
  }
  if (!json.ok()) std::abort();
  const std::string written = WriteSpec(*spec);
  const auto again = ParseSpec(written, "fuzz");
  if (!again.ok() || WriteSpec(*again) != written) std::abort();
  return 0;
}
