// bench-harness: what is measured from outside, and the work that is measured inside.
//
//   bench-harness spawn ROUNDS < COMMANDS    times whole commands side by side
//   bench-harness tree DIR FILES             makes a tree of FILES files, some of them *.pem
//   bench-harness work [filtered|bare]       does tasks named on standard input and times them
//
// spawn: a command is NUL-terminated words, NAME DIRECTORY ARGV..., closed by an empty word. Each
// round runs every command once, in another order. Printed: one line "NAME ns ns ..." a command.
//
// work: one task a line, one answer line "WALL_NS PROCESSOR_NS [NUMBER...]" each.
//   files LIST    opens, reads and closes every file that LIST names (a path a line)
//   bulk FILE     reads one large file from its beginning to its end
//   run WORD... [-- WORD...]  runs a program and waits for it; then the second one, which is not
//                 timed and puts back what the first one did
//   call KIND DIR COUNT       makes a call COUNT times: read, write (opens of a file that exists),
//                 create, mkdir, rename, exec (start a program and wait)
//   storm DIR PROCESSES FILES BYTES  processes that create FILES files each, all at once; the
//                 numbers are the median, 99th and 99.9th percentile and longest wait in open(2)
// bench-session has such processes inside sessions and outside. `filtered` and `bare`: work.h.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "bench/measure.h"
#include "bench/work.h"

namespace cordon::bench {
namespace {

constexpr int kWarmUps = 3;

struct Measured {
  std::string name;
  Command command;
  std::vector<std::int64_t> samples;
};

std::vector<Measured> ReadCommands() {
  const std::string text((std::istreambuf_iterator<char>(std::cin)),
                         std::istreambuf_iterator<char>());
  std::vector<Measured> out;
  std::vector<std::string> words;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::string word(text.c_str() + at);
    at += word.size() + 1;
    if (!word.empty()) {
      words.push_back(word);
      continue;
    }
    if (words.size() < 3) Die("a command needs NAME DIRECTORY ARGV...");
    out.push_back({words[0], {{words.begin() + 2, words.end()}, words[1]}, {}});
    words.clear();
  }
  if (out.empty() || !words.empty()) Die("standard input holds no whole list of commands");
  return out;
}

int Spawn(int rounds) {
  std::vector<Measured> commands = ReadCommands();
  for (int round = -kWarmUps; round < rounds; ++round) {
    for (const std::size_t i : NextOrder(commands.size())) {
      const std::int64_t taken = TimeOnce(commands[i].command);
      if (round >= 0) commands[i].samples.push_back(taken);
    }
  }
  for (const Measured& m : commands) PrintSamples(m.name, m.samples);
  return 0;
}

void MakeDirectory(const std::string& path) {
  if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST)
    Die("mkdir " + path + ": " + std::strerror(errno));
}

// Sizes in bytes as they are found in source trees: the deciles of /usr/include, whose mean is 14
// KiB.
constexpr std::size_t kSizes[] = {670, 1290, 1900, 2870, 3960, 6130, 9540, 16070, 27680, 57530};

// 100 files a directory, 25 directories in one above; one file in 500 is a key by its name. There
// are 500 different contents, so that a commit of the tree is not mostly writing of objects, and
// all but their first block is a hole: reading does not see it, and making the tree need not wait
// for a disk.
int Tree(const std::string& root, int files) {
  MakeDirectory(root);
  char name[64];
  for (int i = 0; i < files; ++i) {
    const int directory = i / 100;
    if (i % 2500 == 0) {
      std::snprintf(name, sizeof name, "/part%03d", directory / 25);
      MakeDirectory(root + name);
    }
    std::snprintf(name, sizeof name, "/part%03d/folder%04d", directory / 25, directory);
    const std::string folder = root + name;
    if (i % 100 == 0) MakeDirectory(folder);
    std::snprintf(name, sizeof name, "/file%05d.%s", i, i % 500 == 7 ? "pem" : "txt");
    const std::string path = folder + name;
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    const int content = i % 500;
    std::string text = "content " + std::to_string(content) + "\n";
    text.resize(500, '.');
    if (fd < 0 || ::write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
        ::ftruncate(fd, static_cast<off_t>(kSizes[content % std::size(kSizes)])) != 0) {
      Die("write " + path + ": " + std::strerror(errno));
    }
    ::close(fd);
  }
  return 0;
}

int Main(const std::vector<std::string>& words) {
  if (words.size() == 2 && words[0] == "spawn") return Spawn(std::atoi(words[1].c_str()));
  if (words.size() == 3 && words[0] == "tree") return Tree(words[1], std::atoi(words[2].c_str()));
  if (words.size() == 1 && words[0] == "work") return Work("");
  if (words.size() == 2 && words[0] == "work") return Work(words[1]);
  Die("bench-harness spawn ROUNDS | tree DIR FILES | work [filtered|bare]");
}

}  // namespace
}  // namespace cordon::bench

int main(int argc, char** argv) { return cordon::bench::Main({argv + 1, argv + argc}); }
