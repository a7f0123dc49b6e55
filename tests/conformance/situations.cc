// The states a path can be in when a call names it.
#include <fcntl.h>
#include <unistd.h>

#include "probe.h"

namespace conformance {
namespace {

using std::string;

// "s/" is a directory of its own, "s-" only a beginning of names.
const string& Prepared(const string& stem) {
  if (stem.ends_with('/')) MakeDirectory(stem.substr(0, stem.size() - 1));
  return stem;
}

// Makes nothing but the stem; the path is stem + name.
Situation Nothing(string name, string path) {
  return {std::move(name),
          [path = std::move(path)](const string& stem) { return Prepared(stem) + path; }};
}

Situation File(string name, string suffix = "", unsigned mode = 0644) {
  return {std::move(name), [suffix = std::move(suffix), mode](const string& stem) {
            MakeFile(Prepared(stem) + "file", "data", mode);
            return stem + "file" + suffix;
          }};
}

Situation Directory(string name, string suffix = "", bool full = false) {
  return {std::move(name), [suffix = std::move(suffix), full](const string& stem) {
            MakeDirectory(Prepared(stem) + "dir");
            if (full) MakeFile(stem + "dir/file");
            return stem + "dir" + suffix;
          }};
}

// Links "link" -> `target`, beside a file and a directory.
Situation Link(string name, string target, string suffix = "") {
  return {std::move(name),
          [target = std::move(target), suffix = std::move(suffix)](const string& stem) {
            Prepared(stem);
            const auto slash = stem.rfind('/');
            const string prefix = slash == string::npos ? stem : stem.substr(slash + 1);
            MakeFile(stem + "file");
            MakeDirectory(stem + "dir");
            MakeLink(prefix + target, stem + "link");
            return stem + "link" + suffix;
          }};
}

// A directory of this mode; in it a file, or none.
Situation InDirectory(string name, unsigned mode, bool there) {
  return {std::move(name), [mode, there](const string& stem) {
            MakeDirectory(Prepared(stem) + "dir");
            if (there) MakeFile(stem + "dir/file");
            SetMode(stem + "dir", mode);
            return stem + "dir/file";
          }};
}

Situation NotInPairs(Situation situation) {
  situation.in_pairs = false;
  return situation;
}

// 40 is the limit, but the kernel counts what it has to look up twice: 20 is always well.
string Chain(const string& stem, int links, bool there) {
  Prepared(stem);
  const auto slash = stem.rfind('/');
  const string prefix = slash == string::npos ? stem : stem.substr(slash + 1);
  if (there) MakeFile(stem + "0");
  for (int i = 1; i <= links; ++i) {
    MakeLink(prefix + std::to_string(i - 1), stem + std::to_string(i));
  }
  return stem + std::to_string(links);
}

string Opened(const string& stem, int flags, const string& kind) {
  Prepared(stem);
  const string path = stem + kind;
  if (kind == "dir") MakeDirectory(path);
  if (kind != "dir") MakeFile(path);
  const int fd = Current().Keep(open(path.c_str(), flags | O_CLOEXEC));
  return "/proc/self/fd/" + std::to_string(fd);
}

std::vector<Situation> Plain() {
  return {
      Nothing("missing", "missing"),
      Nothing("missing-slash", "missing/"),
      NotInPairs(Nothing("missing-dot", "missing/.")),
      Nothing("under-missing", "missing/x"),
      File("file"),
      File("file-slash", "/"),
      NotInPairs(File("file-dot", "/.")),
      NotInPairs(File("file-dotdot", "/..")),
      NotInPairs(File("file-dotdot-name", "/../new")),
      File("under-file", "/x"),
      Directory("dir"),
      Directory("dir-slash", "/"),
      NotInPairs(Directory("dir-slashes", "//")),
      Directory("dir-dot", "/."),
      Directory("dir-dotdot", "/.."),
      NotInPairs(Directory("dir-dotdot-name", "/../new")),
      NotInPairs(Directory("dir-dot-slashes-name", "/.//./new")),
      Directory("full-dir", "", true),
      NotInPairs(Directory("under-dir", "/new")),
      NotInPairs(Directory("under-dir-slash", "/new/")),
      File("read-only", "", 0444),
      NotInPairs(File("write-only", "", 0222)),
      NotInPairs(File("closed", "", 0)),
      NotInPairs(File("set-id", "", 06755)),
      InDirectory("in-closed-dir", 0, true),
      NotInPairs(InDirectory("missing-in-closed-dir", 0, false)),
      InDirectory("in-read-only-dir", 0555, true),
      InDirectory("missing-in-read-only-dir", 0555, false),
      NotInPairs(InDirectory("in-blind-dir", 0333, true)),
      NotInPairs(InDirectory("missing-in-blind-dir", 0333, false)),
      NotInPairs(InDirectory("in-unsearchable-dir", 0666, true)),
      NotInPairs(InDirectory("missing-in-unsearchable-dir", 0666, false)),
  };
}

std::vector<Situation> Links() {
  return {
      Link("link-to-file", "file"),
      Link("link-to-file-slash", "file", "/"),
      Link("link-to-dir", "dir"),
      Link("link-to-dir-slash", "dir", "/"),
      NotInPairs(Link("link-to-dir-dot", "dir", "/.")),
      NotInPairs(Link("link-to-dir-dotdot-name", "dir", "/../new")),
      Link("under-link-to-dir", "dir", "/new"),
      Link("under-link-to-missing", "nowhere", "/new"),
      NotInPairs(Link("under-link-to-file", "file", "/new")),
      Link("link-to-missing", "nowhere"),
      NotInPairs(Link("link-to-missing-slash", "nowhere", "/")),
      NotInPairs(Link("link-to-name-slash", "nowhere/")),
      NotInPairs(Link("link-to-dir-name", "dir/new")),
      NotInPairs(Link("link-to-dir-slash-target", "dir/")),
      NotInPairs(Link("link-to-file-slash-target", "file/")),
      Link("link-into-missing", "nowhere/new"),
      Link("link-to-itself", "link"),
      NotInPairs(Link("under-link-to-itself", "link", "/new")),
      NotInPairs({"link-pair",
                  [](const string& stem) {
                    Prepared(stem);
                    MakeLink("two", stem + "one");
                    MakeLink("one", stem + "two");
                    return stem + "one";
                  }}),
      NotInPairs({"link-absolute",
                  [](const string& stem) {
                    MakeFile(Prepared(stem) + "file");
                    MakeLink(options.top + "/c/" + stem + "file", stem + "link");
                    return stem + "link";
                  }}),
      NotInPairs({"link-absolute-missing",
                  [](const string& stem) {
                    MakeLink(options.top + "/c/" + Prepared(stem) + "new", stem + "link");
                    return stem + "link";
                  }}),
      NotInPairs({"link-up",
                  [](const string& stem) {
                    MakeDirectory(Prepared(stem) + "dir");
                    MakeLink("../new", stem + "dir/link");
                    return stem + "dir/link";
                  }}),
      NotInPairs(
          {"link-of-4-to-missing", [](const string& stem) { return Chain(stem, 4, false); }}),
      NotInPairs({"link-of-4", [](const string& stem) { return Chain(stem, 4, true); }}),
      NotInPairs({"link-of-20", [](const string& stem) { return Chain(stem, 20, true); }}),
      NotInPairs(
          {"link-of-20-to-missing", [](const string& stem) { return Chain(stem, 20, false); }}),
      NotInPairs({"link-of-41", [](const string& stem) { return Chain(stem, 41, true); }}),
      NotInPairs(
          {"link-of-41-to-missing", [](const string& stem) { return Chain(stem, 41, false); }}),
  };
}

std::vector<Situation> Names() {
  return {
      NotInPairs({"empty", [](const string&) { return string(); }}),
      {"dot", [](const string&) { return string("."); }},
      {"dotdot", [](const string&) { return string(".."); }},
      NotInPairs({"root", [](const string&) { return string("/"); }}),
      NotInPairs({"absolute-missing", [](const string&) { return options.top + "/c/new"; }}),
      NotInPairs(
          {"absolute-slashes", [](const string&) { return "//" + options.top + "//./c///new"; }}),
      NotInPairs(Nothing("name-of-255", string(255, 'n'))),
      NotInPairs(Nothing("name-of-256", string(256, 'n'))),
      NotInPairs(Nothing("bytes", "\xff\xfe\n\t '\"\\*?[]{}")),
      NotInPairs(Nothing("dots", "...")),
      NotInPairs(Nothing("space", " ")),
  };
}

std::vector<Situation> Others() {
  Situation fifo{"fifo", [](const string& stem) {
                   MakeFifo(Prepared(stem) + "fifo");
                   return stem + "fifo";
                 }};
  fifo.is_fifo = true;
  Situation link_to_fifo{"link-to-fifo", [](const string& stem) {
                           MakeFifo(Prepared(stem) + "fifo");
                           MakeLink("fifo", stem + "link");
                           return stem + "link";
                         }};
  link_to_fifo.is_fifo = true;
  return {
      fifo,
      NotInPairs(link_to_fifo),
      {"socket",
       [](const string& stem) {
         MakeSocket(Prepared(stem) + "socket");
         return stem + "socket";
       }},
      {"hard-link",
       [](const string& stem) {
         MakeFile(Prepared(stem) + "file");
         if (link((stem + "file").c_str(), (stem + "hard").c_str()) != 0) Current().Add("SETUP");
         return stem + "hard";
       }},
      {"through-proc-cwd",
       [](const string& stem) { return "/proc/self/cwd/" + Prepared(stem) + "new"; }},
      NotInPairs({"through-proc-cwd-file",
                  [](const string& stem) {
                    MakeFile(Prepared(stem) + "file");
                    return "/proc/thread-self/cwd/" + stem + "file";
                  }}),
      NotInPairs({"proc-cwd", [](const string&) { return string("/proc/self/cwd"); }}),
      NotInPairs({"opened-file", [](const string& s) { return Opened(s, O_RDONLY, "file"); }}),
      NotInPairs({"opened-path", [](const string& s) { return Opened(s, O_PATH, "file"); }}),
      NotInPairs({"opened-read-write", [](const string& s) { return Opened(s, O_RDWR, "file"); }}),
      NotInPairs({"opened-dir", [](const string& s) { return Opened(s, O_RDONLY, "dir"); }}),
      NotInPairs(
          {"under-opened-dir", [](const string& s) { return Opened(s, O_PATH, "dir") + "/new"; }}),
      NotInPairs({"under-opened-dir-by-dev",
                  [](const string& s) {
                    return "/dev/fd/" + Opened(s, O_PATH, "dir").substr(14) + "/new";
                  }}),
      NotInPairs({"under-opened-file",
                  [](const string& s) { return Opened(s, O_PATH, "file") + "/new"; }}),
      NotInPairs({"opened-removed",
                  [](const string& s) {
                    const string path = Opened(s, O_RDONLY, "file");
                    if (unlink((s + "file").c_str()) != 0) Current().Add("SETUP");
                    return path;
                  }}),
      NotInPairs({"link-to-proc-cwd",
                  [](const string& stem) {
                    MakeLink("/proc/self/cwd/" + Prepared(stem) + "new", stem + "link");
                    return stem + "link";
                  }}),
      NotInPairs({"no-such-descriptor", [](const string&) { return string("/proc/self/fd/899"); }}),
  };
}

}  // namespace

const std::vector<Situation>& Situations() {
  static const std::vector<Situation> all = [] {
    std::vector<Situation> list;
    for (auto part : {Plain(), Links(), Names(), Others()}) {
      list.insert(list.end(), part.begin(), part.end());
    }
    return list;
  }();
  return all;
}

}  // namespace conformance
