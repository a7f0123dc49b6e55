// What a person does about a missing capability, exact for the distribution and container. Pure.
//
// A remedy is a list of lines; each is a command, a file with what to write in it, or a sentence.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "probe/host_facts.h"

namespace cordon::probe {

using Lines = std::vector<std::string>;

// "sudo " or "doas ", or nothing for root.
std::string Elevate(const HostFacts& facts);
// Installs `package` (its Debian name) with the package manager of the distribution.
std::string InstallCommand(const HostFacts& facts, std::string_view package);
// Sets a sysctl now, and keeps it over a restart.
Lines SysctlRemedy(const HostFacts& facts, const std::string& name, long value);
// Puts the AppArmor profile of this installation or build tree in place and loads it.
Lines AppArmorRemedy(const HostFacts& facts);
// Flags and fields that let the container's runtime allow namespaces.
Lines ContainerRemedy(const HostFacts& facts);
// A user namespace (kind "user"), or another one made together with it, was refused with `err`.
Lines NamespaceRemedy(const HostFacts& facts, std::string_view kind, int err);
// A mount inside an own user and mount namespace was refused.
Lines MountRemedy(const HostFacts& facts, std::string_view file_system, int err);
// A system call that Linux `major`.`minor` brought is missing (ENOSYS, EINVAL) or refused (EPERM).
Lines CallRemedy(const HostFacts& facts, std::string_view call, int major, int minor, int err);
Lines LandlockRemedy(const HostFacts& facts, int err);
// Scope 3 was set, and the kernel lets nobody change it back.
Lines YamaRemedy(const HostFacts& facts);
Lines SupervisorRemedy(const HostFacts& facts);
Lines ListenerRemedy(const HostFacts& facts, int err);
Lines FuseRemedy(const HostFacts& facts, int err);
Lines NftablesRemedy(const HostFacts& facts, int err);
Lines CgroupRemedy(const HostFacts& facts);
Lines KvmRemedy(const HostFacts& facts, int err);
Lines BubblewrapRemedy(const HostFacts& facts);

}  // namespace cordon::probe
