#include "session/violation_filter.h"

#include <gtest/gtest.h>

#include "session/violation_action.h"

namespace cordon::session {
namespace {

ViolationFilter Made(const ViolationFilter::Spec& spec) {
  auto filter = ViolationFilter::Make(spec, "/home/u", "/home/u/w");
  EXPECT_TRUE(filter.ok()) << (filter.ok() ? "" : filter.error().ToString());
  return filter.ok() ? *std::move(filter) : ViolationFilter();
}

std::string MessageOf(const ViolationFilter::Spec& spec) {
  const auto filter = ViolationFilter::Make(spec, "/home/u", "/home/u/w");
  return filter.ok() ? "" : filter.error().message;
}

TEST(ViolationFilterTest, CommandPatterns) {
  const auto ignores = [](const char* pattern, const char* command, const char* program) {
    return Made({{pattern, {"/x"}}}).Ignores(command, program, Action::kFileWrite, "/x");
  };
  EXPECT_TRUE(ignores("*", "npm install", "/usr/bin/node"));
  EXPECT_TRUE(ignores("npm", "npm install", "/usr/bin/node"));
  EXPECT_TRUE(ignores("npm*install", "npm ci && npm install", ""));
  EXPECT_TRUE(ignores("node", "npm install", "/usr/bin/node"));
  EXPECT_FALSE(ignores("install*npm", "npm install", ""));
  EXPECT_FALSE(ignores("cargo", "npm install", "/usr/bin/node"));
}

TEST(ViolationFilterTest, PathsNamesAndActions) {
  const auto ignores = [](const char* entry, Action action, const char* target) {
    return Made({{"*", {entry}}}).Ignores("make", "/bin/make", action, target);
  };
  EXPECT_TRUE(ignores("~/.cache", Action::kFileCreate, "/home/u/.cache/pip/x"));
  EXPECT_FALSE(ignores("~/.cache", Action::kFileCreate, "/home/u/.cache2"));
  EXPECT_TRUE(ignores("./out", Action::kFileCreate, "/home/u/w/out/a"));
  EXPECT_TRUE(ignores("*.pyc", Action::kFileCreate, "/usr/lib/a/b.pyc"));
  EXPECT_TRUE(ignores("node_modules/.cache", Action::kFileCreate, "/a/node_modules/.cache/x"));
  EXPECT_TRUE(ignores("/etc/**/*.lock", Action::kFileCreate, "/etc/a/b.lock"));
  EXPECT_TRUE(ignores("unix-socket", Action::kUnixSocket, "/run/x"));
  EXPECT_FALSE(ignores("unix-socket", Action::kFileWrite, "/run/x"));
  EXPECT_TRUE(ignores("file-write*", Action::kFileUnlink, "/run/x"));
  EXPECT_FALSE(ignores("file-write*", Action::kFileRead, "/run/x"));
  EXPECT_FALSE(ignores("file-write-create", Action::kFileWrite, "/run/x"));
  EXPECT_FALSE(ViolationFilter().Ignores("make", "", Action::kFileRead, "/x"));
}

TEST(ViolationFilterTest, RefusesWhatWouldIgnoreNothing) {
  EXPECT_NE(MessageOf({{"", {"/x"}}}).find("empty command pattern"), std::string::npos);
  EXPECT_NE(MessageOf({{"*", {""}}}).find("empty entry"), std::string::npos);
  EXPECT_NE(MessageOf({{"*", {"file-raed*"}}}).find("is no action"), std::string::npos);
  EXPECT_NE(MessageOf({{"*", {"unix-sockets"}}}).find("is no action"), std::string::npos);
  EXPECT_NE(MessageOf({{"make", {"/x/[a"}}}).find("\"make\""), std::string::npos);
  EXPECT_EQ(MessageOf({{"*", {"file-utils.js", "network.log"}}}), "");
}

TEST(ViolationActionTest, VerbsReadBack) {
  for (const Action action : RefusedActions()) EXPECT_EQ(ActionOf(ActionVerb(action)), action);
  EXPECT_EQ(ActionOf("changed"), std::nullopt);
}

}  // namespace
}  // namespace cordon::session
