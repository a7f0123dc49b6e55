// What the policy tests share: a home and a project in memory, and short ways to write a spec.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "policy/memory_file_system.h"
#include "policy/policy.h"

namespace cordon::policy {

struct PolicyWorld {
  PolicyWorld() {
    fs.AddDirectory("/home/u/w/src")
        .AddFile("/home/u/w/readme")
        .AddDirectory("/usr/bin")
        .AddFile("/etc/passwd");
    fs.AddDirectory("/tmp").AddDirectory("/var/tmp").AddDirectory("/dev/shm").AddDirectory("/run");
    context.home = "/home/u";
    context.workdir = "/home/u/w";
    context.workdir_writable = true;
    spec.view = View::kHost;
    spec.filesystem.default_denies = false;
  }

  static std::vector<PathEntry> Entries(const std::vector<std::string>& texts,
                                        const std::string& origin) {
    std::vector<PathEntry> out;
    for (const std::string& text : texts) out.push_back({text, false, {origin, 0, 0}});
    return out;
  }
  PolicyWorld& AllowWrite(const std::vector<std::string>& texts) {
    spec.filesystem.allow_write = Entries(texts, "test:allowWrite");
    return *this;
  }
  PolicyWorld& DenyWrite(const std::vector<std::string>& texts) {
    spec.filesystem.deny_write = Entries(texts, "test:denyWrite");
    return *this;
  }
  PolicyWorld& AllowRead(const std::vector<std::string>& texts) {
    spec.filesystem.allow_read = Entries(texts, "test:allowRead");
    return *this;
  }
  PolicyWorld& DenyRead(const std::vector<std::string>& texts) {
    spec.filesystem.deny_read = Entries(texts, "test:denyRead");
    return *this;
  }

  Result<EffectivePolicy> TryCompile() const { return policy::Compile(spec, context, fs); }
  EffectivePolicy Compile() const {
    auto policy = TryCompile();
    EXPECT_TRUE(policy.ok()) << (policy.ok() ? "" : policy.error().ToString());
    return policy.ok() ? *std::move(policy) : EffectivePolicy{};
  }
  // REQUIRES: compiling fails.
  Error CompileError() const {
    auto policy = TryCompile();
    EXPECT_FALSE(policy.ok());
    return policy.ok() ? Error{} : policy.error();
  }

  MemoryFileSystem fs;
  SandboxSpec spec;
  Context context;
};

inline bool May(const EffectivePolicy& policy, Operation op, const std::string& path) {
  return policy.Decide(op, path).allowed;
}
inline bool Reads(const EffectivePolicy& policy, const std::string& path) {
  return May(policy, Operation::kRead, path);
}
inline bool Writes(const EffectivePolicy& policy, const std::string& path) {
  return May(policy, Operation::kWrite, path);
}
inline bool Removes(const EffectivePolicy& policy, const std::string& path) {
  return May(policy, Operation::kRemove, path);
}
inline bool Warns(const EffectivePolicy& policy, const std::string& text) {
  for (const std::string& warning : policy.warnings) {
    if (warning.find(text) != std::string::npos) return true;
  }
  return false;
}
inline const Rule* FindRule(const EffectivePolicy& policy, RuleKind kind, const std::string& text) {
  for (const Rule& rule : policy.rules) {
    if (rule.kind == kind && rule.text == text) return &rule;
  }
  return nullptr;
}

}  // namespace cordon::policy
