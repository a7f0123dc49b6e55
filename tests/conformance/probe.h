// posix_probe: what system calls do to files, as text that can be compared between two places.
//
//   posix_probe [--other DIRECTORY] [--foreign DIRECTORY] [GROUP...]
//
// Runs tables of calls x situations x flags in the working directory, which must be empty, and
// prints a line for each case:
//
//   open/file/WRONLY|TRUNC: fd+0 fl=O_WRONLY|... | c/file -rw-r--r-- 0:0 links=1 size=2 "xy"
//
// After the colon stands what the calls returned, after the bar what is then in the case's
// directory. Inode numbers, times and sizes of directories are left out, so that two runs in the
// same directory print the same. DIRECTORY of --other lies on another file system; that of
// --foreign belongs to another user (posix_test.py makes it). Capabilities are given up first: a
// session has none.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace conformance {

struct Options {
  std::string other;
  std::string foreign;
  std::string self;  // this program
  std::string top;   // the working directory
};
extern Options options;

// One case. It makes an empty directory and enters it; at the end it prints the line, with what is
// there now, closes what Keep() holds and removes all.
class Case {
 public:
  explicit Case(std::string name);
  ~Case();
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;

  // Adds a word to the result.
  Case& Add(std::string_view word);
  // Adds "what=word".
  Case& Add(std::string_view what, std::string_view word);
  // A descriptor that lives until the end of the case. Returns it.
  int Keep(int fd);
  // Leaves the tree out of the line.
  void HideTree() { show_tree_ = false; }
  // What is removed at the end although it lies elsewhere.
  void RemoveLater(const std::string& path) { elsewhere_.push_back(path); }

 private:
  std::string name_;
  std::string result_;
  std::vector<int> kept_;
  std::vector<std::string> elsewhere_;
  bool show_tree_ = true;
};

// The running case, for the setup functions below; never null between its beginning and end.
Case& Current();
// Whether a case of this name was asked for; tables ask before they make one.
bool Wanted(std::string_view group);

// "ok" for 0, "=N" for more, the name of errno for -1.
std::string Outcome(long result);
std::string ErrnoName(int error);
// Whether fd has the lowest free number ("fd+0"), its flags, kind and name; errno's name if it is
// -1. The descriptor stays open.
std::string Descriptor(int fd);
// The same, then writes or reads where the flags allow it, and closes.
std::string DescriptorAndUse(int fd);
// Type, mode, owner, links, size and short contents of one path, not followed.
std::string Facts(const std::string& path);
// All below the directory, in the order of names.
std::string Tree(const std::string& directory);
// As text on one line.
std::string Printable(std::string_view bytes);
std::string ReadAll(const std::string& path);

// Setup: each says what failed in the line of the case.
int MakeFile(const std::string& path, std::string_view text = "data", unsigned mode = 0644);
void MakeDirectory(const std::string& path, unsigned mode = 0755);
void MakeLink(const std::string& target, const std::string& path);
void MakeFifo(const std::string& path);
void MakeSocket(const std::string& path);
void SetMode(const std::string& path, unsigned mode);

// Runs `work` in a child process; its text, or how the child ended when it did not return: "hangs"
// after twenty seconds, "signal N".
std::string InChild(const std::function<std::string()>& work);

// A situation that a path can be in. `make` builds it below `stem`, a prefix of names ("s/", "d-")
// and returns the path to use.
struct Situation {
  std::string name;
  std::function<std::string(const std::string& stem)> make;
  bool is_fifo = false;  // opening it may wait for the other end
  bool in_pairs = true;  // used for calls with two paths, too
};
const std::vector<Situation>& Situations();

void OpenTable();
void NamesTable();
void ModesTable();
void ArgumentsTable();
void PlacesTable();
void SocketsTable();
void ProcessesTable();
void FilesTable();

}  // namespace conformance
