#include "probe/supervisor.h"

#include <gtest/gtest.h>

#include "probe/made_host.h"

namespace cordon::probe {
namespace {

// Only where this kernel has the rest; what it lacks is named before.
bool KernelHasIt() { return FindSupervisor(MadeHost().Files()).lack == SupervisorLack::kNone; }

TEST(SupervisorTest, YamaScopeThreeIsNamed) {
  if (!KernelHasIt()) GTEST_SKIP() << "this kernel has no supervisor at all";
  MadeHost host;
  for (const char* scope : {"0\n", "1\n", "2\n"}) {
    host.File("/proc/sys/kernel/yama/ptrace_scope", scope);
    EXPECT_EQ(FindSupervisor(host.Files()).lack, SupervisorLack::kNone) << scope;
  }
  host.File("/proc/sys/kernel/yama/ptrace_scope", "3\n");
  EXPECT_EQ(FindSupervisor(host.Files()).lack, SupervisorLack::kMemory);
}

TEST(SupervisorTest, AFilterAboveIsTriedAndNotGuessed) {
  if (!KernelHasIt()) GTEST_SKIP() << "this kernel has no supervisor at all";
  MadeHost host;
  // The file says that there is one; the child finds that a listener can be had all the same.
  host.File("/proc/self/status", "Name:\tx\nSeccomp:\t2\nSeccomp_filters:\t1\n");
  EXPECT_EQ(FindSupervisor(host.Files()).lack, SupervisorLack::kNone);
}

TEST(SupervisorTest, EachLackHasWordsAndARemedy) {
  EXPECT_TRUE(DescribeSupervisor(SupervisorLack::kNone).ok());
  for (const SupervisorLack lack :
       {SupervisorLack::kKernel, SupervisorLack::kMemory, SupervisorLack::kListener}) {
    const Status status = DescribeSupervisor(lack);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kUnsupported);
    EXPECT_FALSE(status.error().remedy.empty());
  }
}

}  // namespace
}  // namespace cordon::probe
