#include "notify/processor.h"

namespace cordon::notify {
namespace {

constexpr int kRounds = 256;  // hand-overs until the kernel may choose again

cpu_set_t everywhere;
bool everywhere_known = false;
int rounds = 0;

// The processor to stay on, or -1.
int StayHere() {
  if (!everywhere_known) {
    everywhere_known = true;
    if (::sched_getaffinity(0, sizeof everywhere, &everywhere) != 0) CPU_ZERO(&everywhere);
  }
  if (CPU_COUNT(&everywhere) < 2) return -1;
  if (rounds++ % kRounds != 0) return ::sched_getcpu();
  ::sched_setaffinity(0, sizeof everywhere, &everywhere);
  const int cpu = ::sched_getcpu();
  if (cpu < 0) return -1;
  cpu_set_t here;
  CPU_ZERO(&here);
  CPU_SET(cpu, &here);
  return ::sched_setaffinity(0, sizeof here, &here) == 0 ? cpu : -1;
}

}  // namespace

SameProcessor::SameProcessor(pid_t caller) : caller_(caller) {
  const int cpu = StayHere();
  if (cpu < 0 || ::sched_getaffinity(caller_, sizeof own_, &own_) != 0) return;
  // A caller that may not run here, or nowhere else, stays as it is.
  if (!CPU_ISSET(cpu, &own_) || CPU_COUNT(&own_) < 2) return;
  cpu_set_t here;
  CPU_ZERO(&here);
  CPU_SET(cpu, &here);
  held_ = ::sched_setaffinity(caller_, sizeof here, &here) == 0;
}

void SameProcessor::Release() {
  if (held_) ::sched_setaffinity(caller_, sizeof own_, &own_);
  held_ = false;
}

}  // namespace cordon::notify
