// Executes a jail::Plan (jail/plan.h has the order and the reasons) in the calling process, which
// is alone in fresh user, mount and pid namespaces with all capabilities over them.
#pragma once

#include <string_view>

#include "jail/wire.h"

namespace cordon::launcher {

// Makes the mount tree private. Once, first.
jail::wire::Failure MakePrivate();

// Mounts the store and makes in it what every session has: the nodes and devices at the reader's
// place in the Boot message. Once. REQUIRES: the untouched namespace copy.
jail::wire::Failure MountStore(jail::wire::Reader& base);

// Makes the plan's own nodes in the store; those that exist are kept.
jail::wire::Failure AddToStore(std::string_view plan);

// Builds the view in the calling process's mount namespace. On failure the namespace is in an
// unspecified state and must be left.
// `masks` becomes a descriptor of the directory of masks (O_PATH), a mount of this view that no
// path leads to; it is the caller's. `served`: the masks that may be are taken from kServedMasks
// (launcher/masks.h).
jail::wire::Failure BuildView(std::string_view plan, bool served, int& masks);

}  // namespace cordon::launcher
