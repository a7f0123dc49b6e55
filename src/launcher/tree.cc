#include "launcher/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstring>

namespace cordon::launcher {
namespace {

enum class Mark { kUnknown, kPending, kHit, kMiss };

struct Process {
  pid_t pid, parent, session;
  Mark mark;
};

// pid, ppid and session of /proc/PID/stat; the name in parentheses may hold anything.
bool ReadStat(int proc, const char* name, Process& out) {
  char path[64];
  if (std::strlen(name) > 20) return false;
  std::strcpy(path, name);
  std::strcat(path, "/stat");
  int fd = ::openat(proc, path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char text[1024];
  ssize_t n = ::read(fd, text, sizeof text - 1);
  ::close(fd);
  if (n <= 0) return false;
  text[n] = '\0';
  char* end = std::strrchr(text, ')');
  if (end == nullptr || end[1] != ' ' || end[2] == '\0') return false;
  char* p = end + 3;  // past the state
  out.pid = static_cast<pid_t>(::strtol(name, nullptr, 10));
  out.parent = static_cast<pid_t>(::strtol(p, &p, 10));
  ::strtol(p, &p, 10);  // process group
  out.session = static_cast<pid_t>(::strtol(p, &p, 10));
  out.mark = Mark::kUnknown;
  return true;
}

std::size_t List(Process*& list, std::size_t& capacity) {
  DIR* dir = ::opendir("/proc");
  if (dir == nullptr) return 0;
  std::size_t count = 0;
  while (dirent* entry = ::readdir(dir)) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    if (count == capacity) {
      std::size_t bigger = capacity == 0 ? 64 : capacity * 2;
      auto* grown = static_cast<Process*>(::realloc(list, bigger * sizeof(Process)));
      if (grown == nullptr) break;
      list = grown;
      capacity = bigger;
    }
    if (ReadStat(::dirfd(dir), entry->d_name, list[count]) && list[count].pid != 1) ++count;
  }
  ::closedir(dir);
  return count;
}

int ByPid(const void* a, const void* b) {
  pid_t x = static_cast<const Process*>(a)->pid;
  pid_t y = static_cast<const Process*>(b)->pid;
  return (x > y) - (x < y);
}

Process* Find(Process* list, std::size_t count, pid_t pid) {
  Process key{};
  key.pid = pid;
  return static_cast<Process*>(::bsearch(&key, list, count, sizeof key, ByPid));
}

// Each process is looked at twice at most, however deep and in whatever order of numbers the tree
// is: a command makes it as it likes, and the time limit waits for this.
bool MarkDescendants(Process* list, std::size_t count, pid_t root) {
  if (list == nullptr) return false;
  ::qsort(list, count, sizeof *list, ByPid);
  bool any = false;
  for (std::size_t i = 0; i < count; ++i) {
    Process* top = &list[i];
    while (top != nullptr && top->mark == Mark::kUnknown) {
      bool own = top->pid == root || top->session == root;
      top->mark = own ? Mark::kHit : Mark::kPending;
      if (!own) top = Find(list, count, top->parent);
    }
    // A ring (numbers that were used again while the list was read) ends at a pending one.
    Mark answer = top != nullptr && top->mark == Mark::kHit ? Mark::kHit : Mark::kMiss;
    for (Process* p = &list[i]; p != nullptr && p->mark == Mark::kPending;
         p = Find(list, count, p->parent))
      p->mark = answer;
    any = any || list[i].mark == Mark::kHit;
  }
  return any;
}

}  // namespace

void SignalEveryone(int signal) { ::kill(-1, signal); }

void SignalTree(pid_t root, int signal) {
  Process* list = nullptr;
  std::size_t capacity = 0;
  std::size_t before = 0;
  // A bounded number of passes: a fork bomb is ended by destroying the session.
  for (int pass = 0; pass < 8; ++pass) {
    std::size_t count = List(list, capacity);
    if (!MarkDescendants(list, count, root)) {
      // Without a list (no memory, no descriptor) the root at least must not go on.
      if (pass == 0) ::kill(root, signal);
      break;
    }
    std::size_t hits = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (list[i].mark != Mark::kHit) continue;
      ++hits;
      ::kill(list[i].pid, signal);
    }
    if (hits == before) break;
    before = hits;
  }
  ::free(list);
}

}  // namespace cordon::launcher
