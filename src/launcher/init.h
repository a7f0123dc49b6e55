// Pid 1 of a session: builds the view, starts commands, reaps, and dies with its host.
#pragma once

#include "jail/wire.h"

namespace cordon::launcher {

struct InitOptions {
  int go_fd = -1;          // one byte arrives when the id maps are written; end of file: give up
  bool keep_base = false;  // keep an untouched mount namespace for a later View message
  jail::wire::Reader base{{}};  // at the store's base in the Boot message; its bytes stay valid
  bool by_bubblewrap = false;   // namespaces and view are there already, capabilities are gone
};

// Never returns. Runs in fresh namespaces, with all capabilities over them unless by_bubblewrap.
[[noreturn]] void RunInit(const InitOptions& options);

}  // namespace cordon::launcher
