// Any bytes: decoding ends, and what it takes is encoded and decoded again to the same bytes.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "policy/policy_codec.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cordon::policy;
  const auto policy = DecodePolicy({reinterpret_cast<const char*>(data), size});
  if (!policy.ok()) return 0;
  const std::string bytes = EncodePolicy(*policy);
  const auto again = DecodePolicy(bytes);
  if (!again.ok() || EncodePolicy(*again) != bytes) std::abort();
  (void)policy->Decide(Operation::kWrite, "/home/u/w/.git/hooks/x");
  (void)policy->Decide(Operation::kRead, "/home/u/w/a.key");
  return 0;
}
