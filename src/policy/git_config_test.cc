#include "policy/git_config.h"

#include <gtest/gtest.h>

namespace cordon::policy {
namespace {

std::string Dump(std::string_view text) {
  const auto entries = ParseGitConfig(text);
  if (!entries) return "not understood";
  std::string out;
  for (const GitConfigEntry& e : *entries) out += e.Name() + "=" + e.value.value_or("<none>") + "|";
  return out;
}

TEST(GitConfigParserTest, ReadsWhatGitReads) {
  const std::pair<const char*, const char*> cases[] = {
      {"", ""},
      {"# c\n ; d\n", ""},
      {"[core]\n\tbare = false\n", "core.bare=false|"},
      {"\xEF\xBB\xBF[core]bare=false", "core.bare=false|"},
      {"[CORE]\r\n  FileMode = True \r\n", "core.filemode=True|"},
      {"[a]\nb\nc =\n", "a.b=<none>|a.c=|"},
      {"[remote \"O.r i\\\"g\\\\\"]\nurl = x\n", "remote.O.r i\"g\\.url=x|"},
      {"[branch.Main]\nremote = o", "branch.main.remote=o|"},
      {"[a]\nb = \"x # y\" z ; c\n", "a.b=x # y z|"},
      {"[a]\nb = one\\\n two\n", "a.b=one two|"},
      {"[a]\nb = \" x \" # c\n", "a.b= x |"},
      {"[a]\nb = x\\ty\\n\\\\\\\"\n", "a.b=x\ty\n\\\"|"},
      {"[a] b = 1\n[c]\nd=2 # e\\\nf=3\n", "a.b=1|c.d=2|c.f=3|"},
  };
  for (const auto& [text, dump] : cases) EXPECT_EQ(Dump(text), dump) << text;
}

TEST(GitConfigParserTest, UnderstandsNothingByHalves) {
  for (const char* text :
       {"a = b\n", "[a\n", "[]\n", "[a]\n1x = y\n", "[a]\nb ! c\n", "[a]\nb = \"x\n",
        "[a]\nb = \\q\n", "[a \"b]\nc=d\n", "[a \"b\" c]\nd=e\n", "[a b]\nc=d\n", "[a]\nb = x\\",
        "[a\"b\"]\nc=d\n", "[a.b \"c\"]\nd=e\n", "]\n",
        // To git these are "a..b", which is not "a.b".
        "[a \"\"]\nb=1\n", "[a.]\nb=1\n"}) {
    EXPECT_EQ(Dump(text), "not understood") << text;
  }
  EXPECT_FALSE(ParseGitConfig(std::string_view("[a]\nb=\0\n", 8)).has_value());
}

TEST(GitConfigUrlTest, OnlyWhatRunsNoHelper) {
  for (const char* url : {"https://a.b/c", "http://127.0.0.1:8000/r.git", "ssh://git@h:22/p",
                          "HTTPS://a/b", "git@github.com:o/r.git", "host:path", "file:///srv/r.git",
                          "/srv/r.git", "../up.git", "./a::b", "r.git", "ssh://[::1]/x"}) {
    EXPECT_TRUE(IsPlainGitUrl(url)) << url;
  }
  for (const char* url :
       {"", "ext::sh -c x", "fd::1", "x+y::z", "-oProxyCommand=x", "--upload-pack=x",
        "ssh://-oProxyCommand=x/y", "ssh://u@-o/y", "ssh://-oProxyCommand=x@h/y", "-h:path",
        "h:-path", "u@-h:p", "foo://a/b", "git+evil://a", "a\nb", "https://-x/y", "::x"}) {
    EXPECT_FALSE(IsPlainGitUrl(url)) << url;
  }
}

const std::string kCore =
    "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n"
    "\tlogallrefupdates = true\n";
const std::string kOrigin =
    "[remote \"origin\"]\n\turl = https://h/r\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n";

TEST(GitConfigJudgeTest, WhatGitWritesInRepositoriesOfTheSession) {
  const std::string all = kCore + kOrigin;
  for (const std::string& more :
       {std::string("[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n"),
        std::string("[branch \"l\"]\n\tremote = .\n\tmerge = refs/heads/main\n\trebase = true\n"),
        std::string(
            "[submodule]\n\tactive = .\n[submodule \"lib/s\"]\n\turl = ../s\n\tactive = true\n"),
        std::string("[user]\n\tname = A B\n\temail = a@b\n"),
        std::string("[remote \"m\"]\n\turl = git@h:r\n\tfetch = +refs/*:refs/*\n\tmirror = true\n"),
        std::string(
            "[remote \"p\"]\n\turl = /r\n\tpromisor = true\n\tpartialclonefilter = blob:none\n"
            "[extensions]\n\tpartialclone = p\n"),
        std::string("[remote \"n\"]\n\turl = /r\n\ttagOpt = --no-tags\n"),
        std::string(
            "[core]\n\tsymlinks = false\n\tignorecase = true\n\tprecomposeunicode = true\n"),
        std::string("[extensions]\n\tobjectformat = sha256\n")}) {
    const auto v = JudgeGitConfig(all, all + more, RepositoryOrigin::kMade);
    EXPECT_TRUE(v.allowed) << more << v.reason;
    EXPECT_TRUE(v.worktree.empty());
    EXPECT_TRUE(JudgeGitConfig(all + more, all, RepositoryOrigin::kMade).allowed) << more;
  }
  EXPECT_TRUE(JudgeGitConfig("", all, RepositoryOrigin::kMade).allowed);
  const auto v =
      JudgeGitConfig(kCore, kCore + "\tworktree = ../../../lib/s\n", RepositoryOrigin::kMade);
  EXPECT_TRUE(v.allowed) << v.reason;
  EXPECT_EQ(v.worktree, "../../../lib/s");
}

TEST(GitConfigJudgeTest, NothingThatRunsOrReadsElsewhere) {
  const std::string all = kCore + kOrigin;
  const std::pair<const char*, const char*> cases[] = {
      {"[core]\n\thooksPath = x\n", "core.hookspath"},
      {"[core]\n\tFSMonitor = x\n", "core.fsmonitor"},
      {"[core]\n\tsshCommand = x\n", "core.sshcommand"},
      {"[core]\n\tpager = x\n", "core.pager"},
      {"[core]\n\tattributesFile = x\n", "core.attributesfile"},
      {"[core]\n\tworktree = /etc\n", "core.worktree"},
      {"[core]\n\tworktree = ..\n", "core.worktree"},
      {"[core]\n\tworktree = ../a/../../b\n", "core.worktree"},
      {"[core]\n\tworktree = ../a\n\tworktree = ../b\n", "core.worktree"},
      {"[core]\n\tbare = $(x)\n", "core.bare"},
      {"[core \"x\"]\n\tbare = true\n", "core.x.bare"},
      {"[include]\n\tpath = x\n", "include.path"},
      {"[includeIf \"gitdir:/\"]\n\tpath = x\n", "includeif.gitdir:/.path"},
      {"[filter \"x\"]\n\tsmudge = x\n", "filter.x.smudge"},
      {"[diff]\n\texternal = x\n", "diff.external"},
      {"[alias]\n\tst = !x\n", "alias.st"},
      {"[credential]\n\thelper = !x\n", "credential.helper"},
      {"[url \"ext::x\"]\n\tinsteadOf = h\n", "url.ext::x.insteadof"},
      {"[remote \"e\"]\n\turl = ext::sh\n", "remote.e.url"},
      {"[remote \"e\"]\n\tvcs = x\n", "remote.e.vcs"},
      {"[remote \"e\"]\n\tuploadpack = x\n", "remote.e.uploadpack"},
      {"[remote \"e\"]\n\tproxy = x\n", "remote.e.proxy"},
      {"[remote \"-e\"]\n\turl = /r\n", "remote.-e.url"},
      {"[submodule \"s\"]\n\tupdate = !x\n", "submodule.s.update"},
      {"[submodule \"s\"]\n\turl = ext::x\n", "submodule.s.url"},
      {"[branch \"b\"]\n\tremote = ext::sh\n", "branch.b.remote"},
      {"[branch \"b\"]\n\tremote = other\n", "branch.b.remote"},
      {"[branch \"b\"]\n\tmerge = --x\n", "branch.b.merge"},
      {"[extensions]\n\tworktreeConfig = true\n", "extensions.worktreeconfig"},
      {"[user]\n\tsigningKey = x\n", "user.signingkey"},
      {"[user]\n\tname = -x\n", "user.name"},
      {"[gpg]\n\tprogram = x\n", "gpg.program"},
  };
  for (const auto& [more, key] : cases) {
    const auto v = JudgeGitConfig(all, all + more, RepositoryOrigin::kMade);
    EXPECT_FALSE(v.allowed) << more;
    EXPECT_EQ(v.key, key);
    EXPECT_NE(v.reason.find(key), std::string::npos) << v.reason;
    // What was there already may stay.
    EXPECT_TRUE(JudgeGitConfig(all + more, all + more, RepositoryOrigin::kMade).allowed) << more;
  }
}

TEST(GitConfigJudgeTest, ARepositoryThatWasThereTakesBranchesOfItsRemotes) {
  const std::string all =
      kCore + "[core]\n\thooksPath = h\n" + kOrigin + "[branch \"a\"]\n\trebase = true\n";
  const auto judge = [&](const std::string& after) {
    return JudgeGitConfig(all, after, RepositoryOrigin::kExisted);
  };
  EXPECT_TRUE(judge(all).allowed);
  EXPECT_TRUE(judge(all + "[branch \"t\"]\n\tremote = origin\n\tmerge = refs/heads/t\n").allowed);
  // Without the section of a branch that was deleted.
  EXPECT_TRUE(judge(all.substr(0, all.find("[branch"))).allowed);
  for (const char* more :
       {"[remote \"x\"]\n\turl = /r\n", "[user]\n\tname = a\n", "[core]\n\tbare = true\n",
        "[branch \"t\"]\n\tremote = /r\n", "[branch \"t\"]\n\tdescription = x\n"}) {
    EXPECT_FALSE(judge(all + more).allowed) << more;
  }
  // What was there may neither go nor change its place.
  EXPECT_FALSE(judge(kCore + kOrigin).allowed);
  EXPECT_FALSE(judge(kCore + kOrigin + "[core]\n\thooksPath = h\n").allowed);
  EXPECT_FALSE(judge("").allowed);
  EXPECT_FALSE(judge(all + "[").allowed);
}

}  // namespace
}  // namespace cordon::policy
