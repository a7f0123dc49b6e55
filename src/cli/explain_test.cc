#include "cli/explain.h"

#include <gtest/gtest.h>

#include "cli/denial_test_support.h"
#include "policy/json_reader.h"

namespace cordon::cli {
namespace {

using Kind = Question::Kind;

class ExplainTest : public ::testing::Test {
 protected:
  std::vector<Explanation> Ask(Kind kind, const std::string& path, const std::string& to = {}) {
    session::Preview preview;
    preview.policy = world_.Compile();
    preview.enforcement = {
        {"workdir", "/home/u/w", "writable bind mount"},
        {"protected .git/hooks", "/home/u/w/.git/hooks", "read-only bind mount"},
        {"denyRead ~/.ssh", "/home/u/.ssh", "mask"},
        {"denyWrite x", "/home/u/w/x", "not held yet: the path does not exist"},
    };
    auto answers = Explain({kind, path, to}, preview, world_.fs);
    EXPECT_TRUE(answers.ok());
    return answers.ok() ? *std::move(answers) : std::vector<Explanation>(2);
  }
  Explanation One(Kind kind, const std::string& path, const std::string& to = {}) {
    const auto answers = Ask(kind, path, to);
    EXPECT_EQ(answers.size(), 1u);
    return answers.front();
  }
  DenialWorld world_;
};

TEST_F(ExplainTest, APathIsReadAndWritten) {
  const auto answers = Ask(Kind::kLook, "/home/u/w/readme");
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0].verb, "read");
  EXPECT_TRUE(answers[0].allowed);
  EXPECT_EQ(answers[1].verb, "write");
  EXPECT_TRUE(answers[1].allowed);
  EXPECT_EQ(answers[1].rule, "workdir /home/u/w");
  EXPECT_EQ(answers[1].held_by, "writable bind mount at /home/u/w");
  EXPECT_EQ(answers[1].change, "--deny-write /home/u/w/readme keeps it as it is");
  EXPECT_EQ(Ask(Kind::kLook, "/home/u/w/missing")[1].verb, "create");
}

TEST_F(ExplainTest, NamesRuleSourceMechanismAndWhatChangesIt) {
  const Explanation hook = One(Kind::kCreate, "/home/u/w/.git/hooks/pre-commit");
  EXPECT_FALSE(hook.allowed);
  EXPECT_EQ(hook.source, "built-in protected set");
  EXPECT_NE(hook.held_by.find("read-only bind mount at /home/u/w/.git/hooks"), std::string::npos);
  EXPECT_NE(hook.change.find("filesystem.disabled"), std::string::npos);

  world_.spec.filesystem.deny_names = policy::PolicyWorld::Entries({".env"}, "spec.json");
  const Explanation env = One(Kind::kCreate, "/home/u/w/src/.env");
  EXPECT_FALSE(env.allowed);
  EXPECT_EQ(env.rule, "denyNames .env");
  EXPECT_EQ(env.source, "spec.json");
  EXPECT_NE(env.held_by.find("supervisor"), std::string::npos);

  const Explanation hosts = One(Kind::kChange, "/etc/hosts");
  EXPECT_FALSE(hosts.allowed);
  EXPECT_EQ(hosts.rule, "");
  EXPECT_EQ(hosts.held_by, "the whole tree is mounted read-only");
  EXPECT_EQ(hosts.change, "--write /etc/hosts");

  world_.spec.filesystem.default_denies = true;
  const Explanation key = Ask(Kind::kLook, "/home/u/.ssh/id")[0];
  EXPECT_FALSE(key.allowed);
  EXPECT_EQ(key.rule, "denyRead ~/.ssh");
  EXPECT_EQ(key.held_by, "mask at /home/u/.ssh");
}

TEST_F(ExplainTest, FollowsLinksOnlyWhereTheCallDoes) {
  world_.fs.AddLink("/home/u/w/link", "/etc/hosts");
  EXPECT_FALSE(One(Kind::kChange, "/home/u/w/link").allowed);
  EXPECT_EQ(One(Kind::kChange, "/home/u/w/link").path, "/etc/hosts");
  EXPECT_TRUE(One(Kind::kRemove, "/home/u/w/link").allowed);
  // What exists is not created.
  EXPECT_EQ(One(Kind::kCreate, "/home/u/w/readme").verb, "write");
}

TEST_F(ExplainTest, RenameNamesTheEndThatIsRefused) {
  EXPECT_TRUE(One(Kind::kRename, "/home/u/w/readme", "/home/u/w/other").allowed);
  const Explanation out = One(Kind::kRename, "/home/u/w/readme", "/srv/x");
  EXPECT_FALSE(out.allowed);
  EXPECT_EQ(out.path, "/home/u/w/readme");
  EXPECT_EQ(out.to, "/srv/x");
  EXPECT_FALSE(One(Kind::kRename, "/home/u/w/.git", "/home/u/w/g").allowed);
}

TEST_F(ExplainTest, SocketsOfTheHostAreRefusedUnlessNamed) {
  world_.fs.AddOther("/srv/db/s");
  const Explanation refused = One(Kind::kConnect, "/srv/db/s");
  EXPECT_FALSE(refused.allowed);
  EXPECT_EQ(refused.change, "--allow-unix-socket /srv/db/s");
  world_.spec.network.allow_unix_sockets = policy::PolicyWorld::Entries({"/srv/db/s"}, "spec.json");
  const Explanation allowed = One(Kind::kConnect, "/srv/db/s");
  EXPECT_TRUE(allowed.allowed);
  EXPECT_EQ(allowed.source, "spec.json");
  EXPECT_FALSE(One(Kind::kConnect, "/srv/db/missing").allowed);
}

TEST_F(ExplainTest, WhatTheMountsRefuseIsRefused) {
  world_.spec.mode = policy::Mode::kReview;
  EXPECT_FALSE(One(Kind::kCreate, "/home/u/w/new").allowed);
  EXPECT_TRUE(One(Kind::kCreate, "/tmp/new").allowed);
  EXPECT_EQ(One(Kind::kCreate, "/tmp/new").held_by, "the session's own /tmp");
  EXPECT_TRUE(One(Kind::kChange, "/proc/self/comm").allowed);
  world_.spec.view = policy::View::kBound;
  EXPECT_FALSE(Ask(Kind::kLook, "/srv")[0].allowed);
}

TEST_F(ExplainTest, TextAndJson) {
  world_.fs.AddFile("/etc/a\x1b[2J");
  const auto answers = Ask(Kind::kLook, "/etc/a\x1b[2J");
  const std::string text = ExplainText(answers);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(text.find("write /etc/a\\x1b[2J: refused\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\n  held by       the whole tree"), std::string::npos) << text;
  const auto json = policy::ParseJson(ExplainJson({Kind::kLook, "/etc/a"}, answers), "explain");
  ASSERT_TRUE(json.ok());
  EXPECT_TRUE(json->Find("allowed")->value.boolean);
  ASSERT_EQ(json->Find("answers")->value.items.size(), 2u);
  EXPECT_FALSE(json->Find("answers")->value.items[1].Find("allowed")->value.boolean);
  EXPECT_NE(json->Find("answers")->value.items[1].Find("change"), nullptr);
}

std::string Read(const std::vector<std::string>& words) {
  const auto arguments = ParseArguments(*FindCommand("explain"), words);
  if (!arguments.ok()) return arguments.error().message;
  const auto question = ReadQuestion(*arguments, "/home/u", "/w");
  if (!question.ok()) return question.error().message;
  return std::to_string(static_cast<int>(question->kind)) + " " + question->path + " " +
         question->to + (question->directory ? "/" : "");
}

TEST(ExplainQuestionTest, OneQuestionAtATime) {
  EXPECT_EQ(Read({"a"}), "0 /w/a ");
  EXPECT_EQ(Read({"--write", "/x", "~/a"}), "0 /home/u/a ");
  EXPECT_EQ(Read({"--create", "d/"}), "2 /w/d /");
  EXPECT_EQ(Read({"--rename", "a", "/b"}), "4 /w/a /b");
  EXPECT_NE(Read({}).find("name a path"), std::string::npos);
  EXPECT_NE(Read({"--rename", "a"}).find("new name"), std::string::npos);
  EXPECT_NE(Read({"a", "b"}).find("one path"), std::string::npos);
  EXPECT_NE(Read({"--create", "a", "--remove", "b"}).find("one question"), std::string::npos);
  EXPECT_NE(Read({"--create", "a", "b"}).find("one path"), std::string::npos);
}

}  // namespace
}  // namespace cordon::cli
