// open, openat, creat: every situation x access x flags.
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probe.h"

namespace conformance {
namespace {

using std::string;

struct Named {
  int bits;
  const char* name;
};

constexpr Named kAccess[] = {{O_RDONLY, "R"}, {O_WRONLY, "W"}, {O_RDWR, "RW"}, {3, "3"}};
// Every subset of these.
constexpr Named kCombined[] = {{O_CREAT, "CREAT"},
                               {O_EXCL, "EXCL"},
                               {O_TRUNC, "TRUNC"},
                               {O_DIRECTORY, "DIRECTORY"},
                               {O_NOFOLLOW, "NOFOLLOW"}};
// Each of these with each of kBeside.
constexpr Named kMore[] = {{O_APPEND, "APPEND"},
                           {O_NONBLOCK, "NONBLOCK"},
                           {O_PATH, "PATH"},
                           {O_PATH | O_NOFOLLOW, "PATH+NOFOLLOW"},
                           {O_CLOEXEC, "CLOEXEC"},
                           {O_SYNC, "SYNC"},
                           {O_DSYNC, "DSYNC"},
                           {O_NOATIME, "NOATIME"},
                           {O_NOCTTY, "NOCTTY"},
                           {O_DIRECT, "DIRECT"},
                           {O_ASYNC, "ASYNC"},
                           {O_TMPFILE, "TMPFILE"},
                           {O_TMPFILE & ~O_DIRECTORY, "HALF-TMPFILE"},
                           {0100000, "LARGE"},
                           {0x40000000, "UNKNOWN"},
                           {O_APPEND | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, "SEVERAL"}};
constexpr Named kBeside[] = {{0, "plain"},
                             {O_CREAT, "CREAT"},
                             {O_CREAT | O_EXCL, "CREAT+EXCL"},
                             {O_TRUNC, "TRUNC"},
                             {O_CREAT | O_TRUNC, "CREAT+TRUNC"}};

// Opening a fifo waits for the other end; processes_table.cc has that.
bool Waits(const Situation& situation, int flags) {
  return situation.is_fifo && (flags & (O_NONBLOCK | O_PATH)) == 0 &&
         ((flags & O_ACCMODE) == O_RDONLY || (flags & O_ACCMODE) == O_WRONLY);
}

void One(const string& call, const Situation& situation, const string& stem, int flags,
         const string& flag_names, const std::function<int(const char*, int)>& open_it) {
  if (Waits(situation, flags)) return;
  // Not a place for files of a test.
  if (situation.name == "root" && (flags & O_TMPFILE) == O_TMPFILE) return;
  Case c(call + "/" + situation.name + "/" + flag_names);
  const string path = situation.make(stem);
  c.Add(DescriptorAndUse(open_it(path.c_str(), flags)));
}

void Combinations(const Situation& situation) {
  const auto by_openat = [](const char* path, int flags) {
    return openat(AT_FDCWD, path, flags, 0640);
  };
  for (const Named& access : kAccess) {
    for (unsigned set = 0; set < 1U << std::size(kCombined); ++set) {
      int flags = access.bits;
      string names = access.name;
      for (std::size_t i = 0; i < std::size(kCombined); ++i) {
        if ((set & (1U << i)) == 0) continue;
        flags |= kCombined[i].bits;
        names += string("+") + kCombined[i].name;
      }
      One("open", situation, "", flags, names, by_openat);
    }
    if (!situation.in_pairs || access.bits == 3) continue;
    for (const Named& more : kMore) {
      for (const Named& beside : kBeside) {
        One("open", situation, "", access.bits | more.bits | beside.bits,
            string(access.name) + "+" + more.name + "+" + beside.name, by_openat);
      }
    }
  }
}

// The same few openings by each way to ask for them.
void Ways(const Situation& situation) {
  constexpr Named kFew[] = {{O_RDONLY, "R"},
                            {O_WRONLY, "W"},
                            {O_RDWR | O_CREAT, "RW+CREAT"},
                            {O_WRONLY | O_CREAT | O_TRUNC, "W+CREAT+TRUNC"},
                            {O_RDONLY | O_CREAT | O_EXCL, "R+CREAT+EXCL"},
                            {O_WRONLY | O_TMPFILE, "W+TMPFILE"}};
  for (const Named& few : kFew) {
#ifdef SYS_open
    One("open-old", situation, "", few.bits, few.name, [](const char* path, int flags) {
      return static_cast<int>(syscall(SYS_open, path, flags, 0640));
    });
#endif
    One("open-below", situation, "s/", few.bits, few.name,
        [](const char* path, int flags) { return openat(AT_FDCWD, path, flags, 0640); });
    One("open-at", situation, "", few.bits, few.name, [](const char* path, int flags) {
      const int directory = Current().Keep(open(".", O_PATH | O_CLOEXEC));
      MakeDirectory("elsewhere");
      if (chdir("elsewhere") != 0) return -1;
      return openat(directory, path, flags, 0640);
    });
  }
  One("creat", situation, "", O_WRONLY, "W",
      [](const char* path, int) { return creat(path, 0640); });
}

}  // namespace

void OpenTable() {
  for (const Situation& situation : Situations()) {
    if (Wanted("open/" + situation.name)) Combinations(situation);
  }
  if (!Wanted("open-ways")) return;
  for (const Situation& situation : Situations()) Ways(situation);
}

}  // namespace conformance
