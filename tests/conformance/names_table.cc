// Calls that make, move and remove names: every situation, and pairs of situations.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "probe.h"

namespace conformance {
namespace {

using std::string;

int RenameAt2(const char* from, const char* to, unsigned flags) {
  return static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, flags));
}

struct OnePath {
  const char* name;
  int (*call)(const char* path);
};

const OnePath kOnePath[] = {
    {"mkdir", [](const char* p) { return mkdir(p, 0755); }},
    {"mkdirat", [](const char* p) { return mkdirat(AT_FDCWD, p, 0700); }},
    {"mknod-fifo", [](const char* p) { return mknod(p, S_IFIFO | 0644, 0); }},
    {"mknod-file", [](const char* p) { return mknod(p, S_IFREG | 0644, 0); }},
    {"mknod-typeless", [](const char* p) { return mknod(p, 0644, 0); }},
    {"mknod-socket", [](const char* p) { return mknodat(AT_FDCWD, p, S_IFSOCK | 0644, 0); }},
    {"mknod-device", [](const char* p) { return mknod(p, S_IFCHR | 0644, makedev(1, 3)); }},
    {"mknod-whiteout", [](const char* p) { return mknod(p, S_IFCHR | 0644, 0); }},
    {"mknod-directory", [](const char* p) { return mknod(p, S_IFDIR | 0755, 0); }},
    {"mknod-link", [](const char* p) { return mknod(p, S_IFLNK | 0755, 0); }},
    {"mknod-no-type", [](const char* p) { return mknod(p, 0150000 | 0644, 0); }},
    {"symlink", [](const char* p) { return symlink("target", p); }},
    {"symlink-empty", [](const char* p) { return symlink("", p); }},
    {"symlinkat", [](const char* p) { return symlinkat("/target/x", AT_FDCWD, p); }},
    {"rmdir", [](const char* p) { return rmdir(p); }},
    {"unlink", [](const char* p) { return unlink(p); }},
    {"unlinkat", [](const char* p) { return unlinkat(AT_FDCWD, p, 0); }},
    {"unlinkat-directory", [](const char* p) { return unlinkat(AT_FDCWD, p, AT_REMOVEDIR); }},
    {"unlinkat-invalid", [](const char* p) { return unlinkat(AT_FDCWD, p, 0x10000); }},
    {"truncate", [](const char* p) { return truncate(p, 2); }},
    {"truncate-to-0", [](const char* p) { return truncate(p, 0); }},
    {"truncate-longer", [](const char* p) { return truncate(p, 6); }},
    {"truncate-negative", [](const char* p) { return truncate(p, -1); }},
    {"truncate-too-long", [](const char* p) { return truncate(p, 0x7fffffffffffffff); }},
    {"chdir", [](const char* p) { return chdir(p); }},
    {"access-write", [](const char* p) { return access(p, W_OK); }},
};

struct TwoPaths {
  const char* name;
  int (*call)(const char* from, const char* to);
};

const TwoPaths kTwoPaths[] = {
    {"rename", [](const char* a, const char* b) { return rename(a, b); }},
    {"renameat", [](const char* a, const char* b) { return renameat(AT_FDCWD, a, AT_FDCWD, b); }},
    {"rename-noreplace",
     [](const char* a, const char* b) { return RenameAt2(a, b, RENAME_NOREPLACE); }},
    {"rename-exchange",
     [](const char* a, const char* b) { return RenameAt2(a, b, RENAME_EXCHANGE); }},
    {"link", [](const char* a, const char* b) { return link(a, b); }},
    {"linkat-follow",
     [](const char* a, const char* b) {
       return linkat(AT_FDCWD, a, AT_FDCWD, b, AT_SYMLINK_FOLLOW);
     }},
};

void OnePathCases() {
  for (const OnePath& call : kOnePath) {
    if (!Wanted(string("name/") + call.name)) continue;
    for (const Situation& situation : Situations()) {
      // The kernel's answer for "/" depends on whether the whole tree is read-only.
      for (const string stem : {"", "s/"}) {
        Case c(string("name/") + call.name + "/" + situation.name + (stem.empty() ? "" : "/below"));
        const string path = situation.make(stem);
        c.Add(Outcome(call.call(path.c_str())));
      }
    }
  }
}

void PairCases() {
  for (const TwoPaths& call : kTwoPaths) {
    if (!Wanted(string("pair/") + call.name)) continue;
    for (const Situation& from : Situations()) {
      if (!from.in_pairs) continue;
      for (const Situation& to : Situations()) {
        if (!to.in_pairs) continue;
        Case c(string("pair/") + call.name + "/" + from.name + "/" + to.name);
        const string a = from.make("s/");
        const string b = to.make("d/");
        c.Add(Outcome(call.call(a.c_str(), b.c_str())));
      }
    }
  }
  // Each situation once in one directory, and against itself.
  for (const TwoPaths& call : kTwoPaths) {
    if (!Wanted(string("same/") + call.name)) continue;
    for (const Situation& situation : Situations()) {
      {
        Case c(string("same/") + call.name + "/" + situation.name + "/to-missing");
        const string a = situation.make("s-");
        c.Add(Outcome(call.call(a.c_str(), "new")));
      }
      {
        Case c(string("same/") + call.name + "/missing-to/" + situation.name);
        const string b = situation.make("s-");
        c.Add(Outcome(call.call("nowhere", b.c_str())));
      }
      {
        Case c(string("same/") + call.name + "/file-to/" + situation.name);
        MakeFile("plain", "plain");
        const string b = situation.make("s-");
        c.Add(Outcome(call.call("plain", b.c_str())));
      }
      {
        Case c(string("same/") + call.name + "/itself/" + situation.name);
        const string a = situation.make("s-");
        c.Add(Outcome(call.call(a.c_str(), a.c_str())));
      }
    }
  }
}

struct Moved {
  const char* name;
  const char* from;
  const char* to;
};
// In a tree of a/b/c with files, links and a second name of a/file.
constexpr Moved kMoved[] = {
    {"into-itself", "a", "a/new"},
    {"into-own-child", "a", "a/b/c/new"},
    {"onto-own-child", "a", "a/b"},
    {"child-onto-parent", "a/b", "a"},
    {"child-onto-grandparent", "a/b/c", "a"},
    {"file-onto-parent", "a/file", "a"},
    {"hard-links", "a/file", "hard"},
    {"hard-links-back", "hard", "a/file"},
    {"full-onto-empty", "a", "empty"},
    {"empty-onto-full", "empty", "a"},
    {"empty-onto-empty", "empty", "empty2"},
    {"full-onto-full", "a", "full"},
    {"dir-onto-file", "empty", "file"},
    {"file-onto-dir", "file", "empty"},
    {"dir-onto-link", "empty", "link-to-a"},
    {"link-onto-dir", "link-to-a", "empty"},
    {"link-onto-its-target", "link-to-file", "file"},
    {"file-onto-link-to-it", "file", "link-to-file"},
    {"through-link", "link-to-a/file", "new"},
    {"into-link", "file", "link-to-a/new"},
    {"up", "a/b/c", "c"},
    {"dir-slash", "empty/", "new/"},
    {"dir-to-slash", "empty", "new/"},
    {"file-to-slash", "file", "new/"},
    {"file-slash", "file/", "new"},
    {"link-slash", "link-to-a/", "new"},
    {"onto-link-slash", "empty", "link-to-a/"},
    {"dot", "a/.", "new"},
    {"dotdot", "a/b/..", "new"},
    {"onto-dot", "empty", "a/."},
    {"onto-dotdot", "empty", "a/b/.."},
    {"working-directory", ".", "new"},
    {"case-directory", "../c", "../d"},
    {"case-directory-back", "../c", "../c"},
    {"fifo", "fifo", "new"},
    {"fifo-onto-file", "fifo", "file"},
    {"socket", "socket", "a/socket"},
    {"root", "/", "new"},
    {"onto-root", "file", "/"},
};

void MovedCases() {
  for (const TwoPaths& call : kTwoPaths) {
    if (!Wanted(string("moved/") + call.name)) continue;
    for (const Moved& moved : kMoved) {
      Case c(string("moved/") + call.name + "/" + moved.name);
      for (const char* path : {"a", "a/b", "a/b/c", "empty", "empty2", "full"}) MakeDirectory(path);
      for (const char* path : {"a/file", "file", "full/file"}) MakeFile(path, path);
      if (link("a/file", "hard") != 0) c.Add("SETUP");
      MakeLink("a", "link-to-a");
      MakeLink("file", "link-to-file");
      MakeFifo("fifo");
      MakeSocket("socket");
      c.Add(Outcome(call.call(moved.from, moved.to)));
      // Back, so that the case ends where it began.
      if (access("../d", F_OK) == 0) {
        unlink("../c");
        rename("../d", "../c");
      }
    }
  }
  if (!Wanted("moved/flags")) return;
  for (const unsigned flags : {3U, 4U, 5U, 6U, 7U, 8U, 0x80000000U}) {
    for (const bool there : {false, true}) {
      Case c("moved/flags/" + std::to_string(flags) + (there ? "/onto" : "/new"));
      MakeFile("file", "one");
      if (there) MakeFile("other", "two");
      c.Add(Outcome(RenameAt2("file", "other", flags)));
    }
  }
  for (const int flags : {AT_SYMLINK_NOFOLLOW, AT_REMOVEDIR, 0x10000, AT_EMPTY_PATH}) {
    Case c("moved/link-flags/" + std::to_string(flags));
    MakeFile("file", "one");
    c.Add(Outcome(linkat(AT_FDCWD, "file", AT_FDCWD, "new", flags)));
  }
}

}  // namespace

void NamesTable() {
  OnePathCases();
  PairCases();
  MovedCases();
}

}  // namespace conformance
