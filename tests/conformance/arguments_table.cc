// Bad pointers, directory descriptors of every kind, long paths, limits.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "probe.h"

namespace conformance {
namespace {

using std::string;

struct Call {
  const char* name;
  long (*call)(const char* path);
};

const sockaddr* AsAddress(const char* p) { return reinterpret_cast<const sockaddr*>(p); }

long WithSocket(const std::function<long(int)>& call) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const long result = call(fd);
  const int error = errno;
  close(fd);
  errno = error;
  return result;
}

long Opened(long fd) {
  if (fd >= 0) close(static_cast<int>(fd));
  return fd < 0 ? fd : 0;
}

// Every call with a path, the path as it is.
const Call kCalls[] = {
#ifdef SYS_open
    {"open-create",
     [](const char* p) { return Opened(syscall(SYS_open, p, O_WRONLY | O_CREAT, 0644)); }},
    {"open-read", [](const char* p) { return Opened(syscall(SYS_open, p, O_RDONLY, 0)); }},
    {"creat", [](const char* p) { return Opened(syscall(SYS_creat, p, 0644)); }},
    {"mkdir", [](const char* p) { return syscall(SYS_mkdir, p, 0755); }},
    {"mknod", [](const char* p) { return syscall(SYS_mknod, p, S_IFIFO | 0644, 0); }},
    {"rename-from", [](const char* p) { return syscall(SYS_rename, p, "new"); }},
    {"rename-to", [](const char* p) { return syscall(SYS_rename, "file", p); }},
    {"link-from", [](const char* p) { return syscall(SYS_link, p, "new"); }},
    {"link-to", [](const char* p) { return syscall(SYS_link, "file", p); }},
    {"symlink-target", [](const char* p) { return syscall(SYS_symlink, p, "new"); }},
    {"symlink", [](const char* p) { return syscall(SYS_symlink, "target", p); }},
    {"rmdir", [](const char* p) { return syscall(SYS_rmdir, p); }},
    {"unlink", [](const char* p) { return syscall(SYS_unlink, p); }},
#endif
    {"openat-create",
     [](const char* p) {
       return Opened(syscall(SYS_openat, AT_FDCWD, p, O_RDWR | O_CREAT, 0644));
     }},
    {"openat-truncate",
     [](const char* p) { return Opened(syscall(SYS_openat, AT_FDCWD, p, O_WRONLY | O_TRUNC, 0)); }},
    {"openat-read",
     [](const char* p) { return Opened(syscall(SYS_openat, AT_FDCWD, p, O_RDONLY, 0)); }},
    {"openat-tmpfile",
     [](const char* p) {
       return Opened(syscall(SYS_openat, AT_FDCWD, p, O_TMPFILE | O_RDWR, 0644));
     }},
    {"mkdirat", [](const char* p) { return syscall(SYS_mkdirat, AT_FDCWD, p, 0755); }},
    {"mknodat", [](const char* p) { return syscall(SYS_mknodat, AT_FDCWD, p, S_IFREG | 0644, 0); }},
    {"renameat2-from",
     [](const char* p) { return syscall(SYS_renameat2, AT_FDCWD, p, AT_FDCWD, "new", 1); }},
    {"renameat2-to",
     [](const char* p) { return syscall(SYS_renameat2, AT_FDCWD, "file", AT_FDCWD, p, 1); }},
    {"linkat-from",
     [](const char* p) { return syscall(SYS_linkat, AT_FDCWD, p, AT_FDCWD, "new", 0); }},
    {"linkat-to",
     [](const char* p) { return syscall(SYS_linkat, AT_FDCWD, "file", AT_FDCWD, p, 0); }},
    {"symlinkat-target", [](const char* p) { return syscall(SYS_symlinkat, p, AT_FDCWD, "new"); }},
    {"symlinkat", [](const char* p) { return syscall(SYS_symlinkat, "target", AT_FDCWD, p); }},
    {"unlinkat-directory",
     [](const char* p) { return syscall(SYS_unlinkat, AT_FDCWD, p, AT_REMOVEDIR); }},
    {"truncate", [](const char* p) { return syscall(SYS_truncate, p, 1L); }},
    {"bind",
     [](const char* p) {
       return WithSocket([p](int s) -> long { return bind(s, AsAddress(p), 32); });
     }},
    {"connect",
     [](const char* p) {
       return WithSocket([p](int s) -> long { return connect(s, AsAddress(p), 32); });
     }},
};

// Three pages: the third cannot be read; the path is put where the case wants it.
class Pages {
 public:
  Pages() {
    base_ = static_cast<char*>(
        mmap(nullptr, 3 * kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    munmap(base_ + 2 * kSize, kSize);
  }
  ~Pages() { munmap(base_, 2 * kSize); }
  char* base() { return base_; }
  char* end() { return base_ + 2 * kSize; }
  void Protect(int protection) { mprotect(base_, 2 * kSize, protection); }
  static constexpr std::size_t kSize = 4096;

 private:
  char* base_;
};

// An address of a unix socket begins with its family; as a path these are two odd bytes.
void PutPath(char* at, const char* text) { strcpy(at, text); }

struct Pointer {
  const char* name;
  const char* (*make)(Pages& pages);
};
const Pointer kPointers[] = {
    {"null", [](Pages&) -> const char* { return nullptr; }},
    {"one", [](Pages&) { return reinterpret_cast<const char*>(1); }},
    {"minus-one", [](Pages&) { return reinterpret_cast<const char*>(-1L); }},
    {"unmapped", [](Pages& p) -> const char* { return p.end(); }},
    {"kernel", [](Pages&) { return reinterpret_cast<const char*>(0xffff888000000000UL); }},
    {"not-canonical", [](Pages&) { return reinterpret_cast<const char*>(0x8000000000000000UL); }},
    {"runs-to-the-end",
     [](Pages& p) -> const char* {
       memset(p.end() - 8, 'n', 8);
       return p.end() - 8;
     }},
    {"ends-at-the-end",
     [](Pages& p) -> const char* {
       PutPath(p.end() - 4, "new");
       return p.end() - 4;
     }},
    {"across-pages",
     [](Pages& p) -> const char* {
       PutPath(p.base() + Pages::kSize - 2, "new");
       return p.base() + Pages::kSize - 2;
     }},
    {"no-access",
     [](Pages& p) -> const char* {
       PutPath(p.base(), "new");
       p.Protect(PROT_NONE);
       return p.base();
     }},
    {"read-only",
     [](Pages& p) -> const char* {
       PutPath(p.base(), "new");
       p.Protect(PROT_READ);
       return p.base();
     }},
    {"execute-only",
     [](Pages& p) -> const char* {
       PutPath(p.base(), "new");
       p.Protect(PROT_READ | PROT_EXEC);
       return p.base();
     }},
    {"4096-bytes",
     [](Pages& p) -> const char* {
       memset(p.base(), '/', 4096);
       PutPath(p.base() + 4096, "new");
       return p.base();
     }},
    {"4095-bytes-at-the-end",
     [](Pages& p) -> const char* {
       char* at = p.end() - 4096;
       for (int i = 0; i < 4096; i += 2) memcpy(at + i, "./", 2);
       PutPath(at + 4090, "/new\0");
       return at;
     }},
};

void PointerCases() {
  for (const Call& call : kCalls) {
    if (!Wanted(string("pointer/") + call.name)) continue;
    for (const Pointer& pointer : kPointers) {
      Case c(string("pointer/") + call.name + "/" + pointer.name);
      MakeFile("file");
      Pages pages;
      const long result = call.call(pointer.make(pages));
      c.Add(Outcome(result));
    }
    Case c(string("pointer/") + call.name + "/after-the-end-of-a-file");
    MakeFile("file");
    const int fd = c.Keep(open("file", O_RDONLY | O_CLOEXEC));
    void* map = mmap(nullptr, 8192, PROT_READ, MAP_SHARED, fd, 0);
    c.Add(Outcome(call.call(static_cast<const char*>(map) + 4096)));
    munmap(map, 8192);
  }
}

struct DirectoryForm {
  const char* name;
  std::function<int()> make;
};

// The calls with a directory's descriptor as a 64-bit value: the kernel looks at the lower half.
struct AtCall {
  const char* name;
  long (*call)(long directory, const char* path);
};
const AtCall kAtCalls[] = {
    {"openat-create",
     [](long d, const char* p) {
       return Opened(syscall(SYS_openat, d, p, O_WRONLY | O_CREAT, 0644));
     }},
    {"openat-tmpfile",
     [](long d, const char* p) {
       return Opened(syscall(SYS_openat, d, p, O_WRONLY | O_TMPFILE, 0644));
     }},
    {"openat-read",
     [](long d, const char* p) { return Opened(syscall(SYS_openat, d, p, O_RDONLY, 0)); }},
    {"mkdirat", [](long d, const char* p) { return syscall(SYS_mkdirat, d, p, 0755); }},
    {"mknodat",
     [](long d, const char* p) { return syscall(SYS_mknodat, d, p, S_IFIFO | 0644, 0); }},
    {"symlinkat", [](long d, const char* p) { return syscall(SYS_symlinkat, "target", d, p); }},
    {"unlinkat-directory",
     [](long d, const char* p) { return syscall(SYS_unlinkat, d, p, AT_REMOVEDIR); }},
    {"linkat-from",
     [](long d, const char* p) {
       return syscall(SYS_linkat, d, p, AT_FDCWD, "link", AT_EMPTY_PATH);
     }},
    {"linkat-to",
     [](long d, const char* p) { return syscall(SYS_linkat, AT_FDCWD, "file", d, p, 0); }},
#ifdef SYS_renameat
    {"renameat-from",
     [](long d, const char* p) { return syscall(SYS_renameat, d, p, AT_FDCWD, "moved"); }},
#endif
    {"renameat2-to",
     [](long d, const char* p) { return syscall(SYS_renameat2, AT_FDCWD, "file", d, p, 0); }},
};

std::vector<DirectoryForm> DirectoryForms() {
  const auto keep = [](int fd) { return Current().Keep(fd); };
  return {
      {"directory", [=] { return keep(open("d", O_RDONLY | O_CLOEXEC)); }},
      {"path", [=] { return keep(open("d", O_PATH | O_CLOEXEC)); }},
      {"path-of-link", [=] { return keep(open("link", O_PATH | O_NOFOLLOW | O_CLOEXEC)); }},
      {"file", [=] { return keep(open("file", O_RDWR | O_CLOEXEC)); }},
      {"file-path", [=] { return keep(open("file", O_PATH | O_CLOEXEC)); }},
      {"fifo", [=] { return keep(open("fifo", O_RDWR | O_CLOEXEC)); }},
      {"socket", [=] { return keep(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)); }},
      {"memory", [=] { return keep(memfd_create("m", MFD_CLOEXEC)); }},
      {"removed",
       [=] {
         const int fd = keep(open("gone", O_RDONLY | O_CLOEXEC));
         rmdir("gone");
         return fd;
       }},
      {"temporary", [=] { return keep(open("d", O_TMPFILE | O_RDWR | O_CLOEXEC, 0644)); }},
      {"outside", [=] { return keep(open(options.top.c_str(), O_PATH | O_CLOEXEC)); }},
      {"closed", [] { return 899; }},
      {"huge", [] { return 0x7fffffff; }},
      {"minus-one", [] { return -1; }},
      {"minus-101", [] { return -101; }},
      {"cwd", [] { return AT_FDCWD; }},
  };
}

void DirectoryCases() {
  for (const AtCall& call : kAtCalls) {
    if (!Wanted(string("at/") + call.name)) continue;
    for (const DirectoryForm& form : DirectoryForms()) {
      const string absolute = options.top + "/c/new";
      for (const string& path : {string("new"), string("inner"), string(""), string("."),
                                 string(".."), string("../new"), absolute}) {
        for (const bool junk : {false, true}) {
          const string shown = path == absolute ? "absolute" : path;
          // Names outside the case's directory would stay.
          if (path == "../new" && string(form.name) == "outside") continue;
          if ((path == "new" || path == "inner") && string(form.name) == "outside") continue;
          Case c(string("at/") + call.name + "/" + form.name + "/" + shown + (junk ? "/junk" : ""));
          c.RemoveLater(options.top + "/new");
          MakeDirectory("d");
          MakeDirectory("d/inner");
          MakeDirectory("gone");
          MakeFile("file");
          MakeFifo("fifo");
          MakeLink("d", "link");
          const int fd = form.make();
          const long whole =
              junk ? static_cast<long>((0x12345678UL << 32) | static_cast<unsigned>(fd)) : fd;
          c.Add(Outcome(call.call(whole, path.c_str())));
        }
      }
    }
  }
}

void RemovedWorkingDirectory() {
  for (const Call& call : kCalls) {
    if (!Wanted(string("removed-cwd/") + call.name)) continue;
    for (const char* path : {"new", ".", "..", "../new", "", "../file"}) {
      Case c(string("removed-cwd/") + call.name + "/" + path);
      MakeFile("file");
      MakeDirectory("gone");
      if (chdir("gone") != 0 || rmdir("../gone") != 0) c.Add("SETUP");
      c.Add(Outcome(call.call(path)));
    }
  }
}

// A path of exactly `length` bytes to `name`.
string PathOfLength(std::size_t length, const string& name) {
  string path;
  while (path.size() + 2 + name.size() <= length) path += "./";
  if (path.size() + name.size() < length) path += '/';
  return path + name;
}

void LongPaths() {
  for (const Call& call : kCalls) {
    if (!Wanted(string("long/") + call.name)) continue;
    for (const std::size_t length : {4094, 4095, 4096, 5000}) {
      for (const char* name : {"new", "file"}) {
        Case c(string("long/") + call.name + "/" + std::to_string(length) + "/" + name);
        MakeFile("file");
        c.Add(Outcome(call.call(PathOfLength(length, name).c_str())));
      }
    }
  }
  for (const Call& call : kCalls) {
    if (!Wanted(string("deep/") + call.name)) continue;
    // Directories whose whole path is longer than any path may be.
    Case c(string("deep/") + call.name);
    const string name(250, 'd');
    for (int i = 0; i < 20; ++i) {
      if (mkdir(name.c_str(), 0755) != 0 || chdir(name.c_str()) != 0) c.Add("SETUP-deep");
    }
    MakeFile("file");
    c.Add(Outcome(call.call("new")));
    c.Add(Outcome(call.call("file")));
    c.Add(Tree("."));
    c.HideTree();
  }
}

string WithFewDescriptors(const std::function<string()>& work) {
  return InChild([&] {
    rlimit limit{16, 16};
    setrlimit(RLIMIT_NOFILE, &limit);
    while (dup(2) >= 0) {
    }
    return work();
  });
}

void Limits() {
  if (!Wanted("limit")) return;
  for (const auto& [flags, name] : {std::pair<int, const char*>{O_WRONLY | O_CREAT, "create"},
                                    {O_WRONLY | O_TRUNC, "truncate"},
                                    {O_RDONLY, "read"},
                                    {O_RDWR, "read-write"},
                                    {O_WRONLY | O_CREAT | O_EXCL, "exclusive"},
                                    {O_TMPFILE | O_RDWR, "tmpfile"},
                                    {O_RDONLY | O_CREAT, "create-read"}}) {
    for (const char* path : {"new", "file", ".", "nowhere/x", ""}) {
      Case c(string("limit/descriptors/") + name + "/" + path);
      MakeFile("file");
      c.Add(WithFewDescriptors([&] { return Outcome(open(path, flags, 0644)); }));
    }
  }
  {
    Case c("limit/descriptors/other-calls");
    MakeFile("file");
    c.Add(WithFewDescriptors([] {
      string text;
      for (const Call& call : kCalls) {
        text += string(" ") + call.name + "=" + Outcome(call.call(call.name));
      }
      return text;
    }));
  }
  for (const long size : {100L, 4096L, 4097L, 1L << 40}) {
    Case c("limit/file-size/" + std::to_string(size));
    MakeFile("file");
    c.Add(InChild([size] {
      rlimit limit{4096, 4096};
      setrlimit(RLIMIT_FSIZE, &limit);
      return Outcome(truncate("file", size));
    }));
    c.Add(InChild([size] {
      signal(SIGXFSZ, SIG_IGN);
      rlimit limit{4096, 4096};
      setrlimit(RLIMIT_FSIZE, &limit);
      return Outcome(truncate("file", size));
    }));
  }
}

void JunkBits() {
  if (!Wanted("junk")) return;
  constexpr long kJunk = 0x12345678L << 32;
  {
    Case c("junk/open-flags");
    const long fd = syscall(SYS_openat, AT_FDCWD, "new", kJunk | O_WRONLY | O_CREAT, kJunk | 0644);
    c.Add(DescriptorAndUse(static_cast<int>(fd)));
  }
  {
    Case c("junk/mkdir-mode");
    c.Add(Outcome(syscall(SYS_mkdirat, kJunk | 0xffffff9cL, "new", kJunk | 0750)));
  }
  {
    Case c("junk/umask");
    c.Add(Outcome(syscall(SYS_umask, kJunk | 0707)));
    c.Add(Outcome(syscall(SYS_umask, 022)));
  }
  {
    Case c("junk/rename-flags");
    MakeFile("file");
    MakeFile("other", "2");
    c.Add(Outcome(syscall(SYS_renameat2, AT_FDCWD, "file", AT_FDCWD, "other", kJunk | 1)));
    c.Add(Outcome(syscall(SYS_renameat2, AT_FDCWD, "file", AT_FDCWD, "other", kJunk)));
  }
  {
    Case c("junk/unlinkat-flags");
    MakeDirectory("dir");
    c.Add(Outcome(syscall(SYS_unlinkat, AT_FDCWD, "dir", kJunk)));
    c.Add(Outcome(syscall(SYS_unlinkat, AT_FDCWD, "dir", kJunk | AT_REMOVEDIR)));
  }
  {
    Case c("junk/mknod-mode-and-device");
    c.Add(Outcome(syscall(SYS_mknodat, AT_FDCWD, "fifo", kJunk | S_IFIFO | 0600, kJunk | 77)));
  }
}

}  // namespace

void ArgumentsTable() {
  PointerCases();
  DirectoryCases();
  RemovedWorkingDirectory();
  LongPaths();
  Limits();
  JunkBits();
}

}  // namespace conformance
