// The file system as the policy sees it; the interface stands in sys/, so that the real one can.
#pragma once

#include "sys/file_system.h"

namespace cordon::policy {

using sys::FileKind;
using sys::FileSystem;

}  // namespace cordon::policy
