#include "policy/builtin.h"

#include <array>

namespace cordon::policy {
namespace {

constexpr auto kDenyNames = std::to_array<DenyNameEntry>({
    {".env", "holds an application's secrets"},
    {".env.*", "holds an application's secrets for one environment"},
    {"*.key", "private key"},
    {"*.pem", "private key or certificate chain"},
    {"*.p12", "key store with private keys"},
    {"*.pfx", "key store with private keys"},
    {"!.env.example", "a sample without secrets that projects keep in the repository"},
    {"!.env.sample", "a sample without secrets that projects keep in the repository"},
    {"!.env.template", "a sample without secrets that projects keep in the repository"},
    {"!**/node_modules/**", "packages ship such names as fixtures"},
    {"!**/site-packages/**", "packages ship such names as fixtures (certifi's cacert.pem)"},
    {"!**/vendor/**", "packages ship such names as fixtures"},
    {"!**/target/**", "build output with copied fixtures"},
});

constexpr auto kNotable = std::to_array<NotableEntry>({
    {".github/workflows", "the repository's host runs it, with the repository's secrets"},
    {".husky", "git hooks, which run at the next commit"},
    {".pre-commit-config.yaml", "names programs that run at the next commit"},
    {".devcontainer", "an editor builds and runs the container that it describes"},
    {".devcontainer.json", "an editor builds and runs the container that it describes"},
    {"package.json", "its scripts run at install and build"},
    {"Makefile", "make runs it"},
    {"makefile", "make runs it"},
    {"GNUmakefile", "make runs it"},
    {"conftest.py", "pytest runs it"},
});

constexpr auto kSystemDirectories = std::to_array<SystemDirectory>({
    {"/usr", "programs and libraries of the distribution"},
    {"/bin", "programs; a link to usr/bin where /usr is merged"},
    {"/sbin", "programs; a link to usr/sbin where /usr is merged"},
    {"/lib", "libraries and the loader; a link where /usr is merged"},
    {"/lib32", "32-bit libraries"},
    {"/lib64", "64-bit libraries and the loader"},
    {"/libx32", "x32 libraries"},
    {"/etc", "configuration: name service, time zone, certificates, alternatives"},
    {"/opt", "programs installed beside the distribution"},
    {"/nix/store", "programs and libraries of Nix and NixOS"},
    {"/run/current-system", "the link through which NixOS names its current programs"},
    {"/gnu/store", "programs and libraries of Guix"},
    {"/home/linuxbrew/.linuxbrew", "programs of Homebrew, at its fixed prefix"},
});

}  // namespace

std::span<const DenyNameEntry> DenyNameDefaults() { return kDenyNames; }
std::span<const NotableEntry> NotableEntries() { return kNotable; }
std::span<const SystemDirectory> SystemDirectories() { return kSystemDirectories; }

}  // namespace cordon::policy
