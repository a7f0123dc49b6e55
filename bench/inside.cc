// The same work in several places, by processes that are already running: start-up is not in the
// numbers.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>
#include <sstream>

#include "base/unique_fd.h"
#include "bench/measure.h"
#include "bench/session_bench.h"

namespace cordon::bench {
namespace {

enum class Place {
  kInside,    // in a session with name rules
  kDisabled,  // in a session without any file rules
  kOutside,
  kControl,   // outside too: how far two equal runs stand apart
  kFiltered,  // outside, under a filter that allows everything
  kBare,      // outside, under a listener that lets every trapped call go on
};
constexpr const char* kNames[] = {"inside", "disabled", "outside", "control", "filtered", "bare"};

bool HasSession(Place place) { return place == Place::kInside || place == Place::kDisabled; }

std::vector<Place> ParsePlaces(const std::string& text) {
  std::vector<Place> out;
  std::istringstream in(text);
  for (std::string name; std::getline(in, name, ',');) {
    const auto it = std::find(std::begin(kNames), std::end(kNames), name);
    if (it == std::end(kNames)) Die("no such place: " + name);
    out.push_back(static_cast<Place>(it - std::begin(kNames)));
  }
  if (out.empty()) Die("no places");
  return out;
}

std::array<UniqueFd, 2> Pipe() {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) Die("pipe2");
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

// One `bench-harness work`, in a session of its own or as a child of this process.
class Worker {
 public:
  Worker(Place place, const InsideOptions& options) : place_(place) {
    auto tasks = Pipe();
    auto answers = Pipe();
    if (HasSession(place)) {
      StartInside(options, tasks[0].get(), answers[1].get());
    } else {
      StartOutside(options, tasks[0].get(), answers[1].get());
    }
    tasks_ = std::move(tasks[1]);
    answers_.reset(::fdopen(answers[0].release(), "r"));
  }
  ~Worker() {
    tasks_.reset();  // it ends at the end of its input
    if (session_ == nullptr) {
      ::waitpid(pid_, nullptr, 0);
      return;
    }
    (void)session_->Wait(exec_);
    if (const Status gone = session_->Destroy(); !gone.ok())
      Die("destroy: " + gone.error().ToString());
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Nanoseconds that passed, nanoseconds of processor time, and what else the task yields.
  std::vector<std::int64_t> Do(const std::string& task) {
    const std::string line = task + "\n";
    if (::write(tasks_.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size()))
      Die("a worker is gone");
    char answer[512];
    if (std::fgets(answer, sizeof answer, answers_.get()) == nullptr)
      Die(std::string(kNames[static_cast<int>(place_)]) + ": no answer to task: " + task);
    std::istringstream in(answer);
    std::vector<std::int64_t> numbers{std::istream_iterator<std::int64_t>(in), {}};
    if (numbers.size() < 2) Die("no numbers for task: " + task);
    return numbers;
  }

 private:
  void StartInside(const InsideOptions& options, int input, int output) {
    const FileRules rules = place_ == Place::kInside ? FileRules::kNames : FileRules::kDisabled;
    session_ = LaunchIn(options.workdir, Policies::kOne, rules);
    session::ExecRequest request;
    request.argv = {options.harness, "work"};
    request.input = {session::Stdio::Kind::kInherit, input};
    request.output = {session::Stdio::Kind::kInherit, output};
    request.error = {session::Stdio::Kind::kInherit, 2};
    const auto id = session_->Exec(std::move(request));
    if (!id.ok()) Die("exec: " + id.error().ToString());
    exec_ = *id;
  }

  void StartOutside(const InsideOptions& options, int input, int output) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input, 0);
    posix_spawn_file_actions_adddup2(&actions, output, 1);
    posix_spawn_file_actions_addchdir_np(&actions, options.workdir.c_str());
    std::string program = options.harness, verb = "work", under = kNames[static_cast<int>(place_)];
    const bool is_under = place_ == Place::kFiltered || place_ == Place::kBare;
    char* argv[] = {program.data(), verb.data(), is_under ? under.data() : nullptr, nullptr};
    if (::posix_spawn(&pid_, argv[0], &actions, nullptr, argv, environ) != 0)
      Die("cannot start " + program);
    posix_spawn_file_actions_destroy(&actions);
  }

  struct Close {
    void operator()(FILE* file) const { std::fclose(file); }
  };
  const Place place_;
  std::unique_ptr<session::Session> session_;
  session::ExecId exec_ = 0;
  pid_t pid_ = -1;
  UniqueFd tasks_;
  std::unique_ptr<FILE, Close> answers_;
};

// Of one task in one place: a column for each number that it yields.
using Columns = std::vector<std::vector<std::int64_t>>;

// What one task has written and removed is on the disk before the next one is timed.
void Settle(int workdir) {
  if (::syncfs(workdir) != 0) Die("syncfs");
}

// A block has sessions and workers of its own: where a process lies in memory makes it a little
// faster or slower for as long as it lives, and this has to be part of the spread.
void Block(const InsideOptions& options, const std::vector<Place>& places,
           std::vector<std::vector<Columns>>& samples) {
  const UniqueFd workdir(::open(options.workdir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::vector<std::unique_ptr<Worker>> workers;
  for (const Place place : places) workers.push_back(std::make_unique<Worker>(place, options));
  for (std::size_t task = 0; task < options.tasks.size(); ++task) {
    for (const auto& worker : workers) (void)worker->Do(options.tasks[task]);  // warm-up
    for (int round = 0; round < options.rounds; ++round) {
      for (const std::size_t i : NextOrder(workers.size())) {
        Settle(workdir.get());
        const std::vector<std::int64_t> numbers = workers[i]->Do(options.tasks[task]);
        Columns& columns = samples[task][i];
        columns.resize(numbers.size());
        for (std::size_t n = 0; n < numbers.size(); ++n) columns[n].push_back(numbers[n]);
      }
    }
  }
}

}  // namespace

// One line a number, "PLACE-wall", "PLACE-processor", "PLACE-more0" and so on, for each task.
int Inside(const InsideOptions& options) {
  const std::vector<Place> places = ParsePlaces(options.places);
  std::vector<std::vector<Columns>> samples(options.tasks.size(),
                                            std::vector<Columns>(places.size()));
  for (int block = 0; block < options.blocks; ++block) Block(options, places, samples);
  for (const std::vector<Columns>& task : samples) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      for (std::size_t n = 0; n < task[i].size(); ++n) {
        const std::string name = n == 0   ? "-wall"
                                 : n == 1 ? "-processor"
                                          : "-more" + std::to_string(n - 2);
        PrintSamples(kNames[static_cast<int>(places[i])] + name, task[i][n]);
      }
    }
  }
  return 0;
}

}  // namespace cordon::bench
