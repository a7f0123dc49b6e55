// The same work inside a session and outside, by processes that are already running: start-up is
// not in the numbers. A third worker, outside like the second, shows how far two equal runs stand
// apart; a fourth, outside too, has a system call filter that allows everything.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>

#include "base/unique_fd.h"
#include "bench/measure.h"
#include "bench/session_bench.h"

namespace cordon::bench {
namespace {

enum class Place { kInside, kOutside, kControl, kFiltered };
constexpr const char* kNames[] = {"inside", "outside", "control", "filtered"};
constexpr std::size_t kWorkers = std::size(kNames);

std::array<UniqueFd, 2> Pipe() {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) Die("pipe2");
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

// One `bench-harness work`, in `session` or as a child of this process.
class Worker {
 public:
  Worker(Place place, session::Session& session, const InsideOptions& options)
      : session_(session), place_(place) {
    auto tasks = Pipe();
    auto answers = Pipe();
    if (place == Place::kInside) {
      StartInside(options, tasks[0].get(), answers[1].get());
    } else {
      StartOutside(options, tasks[0].get(), answers[1].get());
    }
    tasks_ = std::move(tasks[1]);
    answers_.reset(::fdopen(answers[0].release(), "r"));
  }
  ~Worker() {
    tasks_.reset();  // it ends at the end of its input
    if (place_ == Place::kInside) {
      (void)session_.Wait(exec_);
    } else {
      ::waitpid(pid_, nullptr, 0);
    }
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  struct Answer {
    std::int64_t wall = 0, processor = 0;
  };
  Answer Do(const std::string& task) {
    const std::string line = task + "\n";
    if (::write(tasks_.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size()))
      Die("a worker is gone");
    long long wall = 0, processor = 0;
    if (std::fscanf(answers_.get(), "%lld %lld", &wall, &processor) != 2)
      Die("no answer to task: " + task);
    return {wall, processor};
  }

 private:
  void StartInside(const InsideOptions& options, int input, int output) {
    session::ExecRequest request;
    request.argv = {options.harness, "work"};
    request.input = {session::Stdio::Kind::kInherit, input};
    request.output = {session::Stdio::Kind::kInherit, output};
    request.error = {session::Stdio::Kind::kInherit, 2};
    const auto id = session_.Exec(std::move(request));
    if (!id.ok()) Die("exec: " + id.error().ToString());
    exec_ = *id;
  }

  void StartOutside(const InsideOptions& options, int input, int output) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input, 0);
    posix_spawn_file_actions_adddup2(&actions, output, 1);
    posix_spawn_file_actions_addchdir_np(&actions, options.workdir.c_str());
    std::string program = options.harness, verb = "work", filtered = "filtered";
    char* argv[] = {program.data(), verb.data(),
                    place_ == Place::kFiltered ? filtered.data() : nullptr, nullptr};
    if (::posix_spawn(&pid_, argv[0], &actions, nullptr, argv, environ) != 0)
      Die("cannot start " + program);
    posix_spawn_file_actions_destroy(&actions);
  }

  struct Close {
    void operator()(FILE* file) const { std::fclose(file); }
  };
  session::Session& session_;
  const Place place_;
  session::ExecId exec_ = 0;
  pid_t pid_ = -1;
  UniqueFd tasks_;
  std::unique_ptr<FILE, Close> answers_;
};

struct Samples {
  std::vector<std::int64_t> wall, processor;
};

// A block has a session and workers of its own: where a process lies in memory makes it a little
// faster or slower for as long as it lives, and this has to be part of the spread.
void Block(const InsideOptions& options, std::vector<std::array<Samples, kWorkers>>& samples) {
  const auto session = LaunchIn(options.workdir, Policies::kOne);
  {
    Worker inside(Place::kInside, *session, options), outside(Place::kOutside, *session, options),
        control(Place::kControl, *session, options), filtered(Place::kFiltered, *session, options);
    Worker* const workers[kWorkers] = {&inside, &outside, &control, &filtered};
    for (std::size_t task = 0; task < options.tasks.size(); ++task) {
      for (Worker* worker : workers) (void)worker->Do(options.tasks[task]);  // warm-up
      for (int round = 0; round < options.rounds; ++round) {
        for (const std::size_t i : NextOrder(kWorkers)) {
          const Worker::Answer answer = workers[i]->Do(options.tasks[task]);
          samples[task][i].wall.push_back(answer.wall);
          samples[task][i].processor.push_back(answer.processor);
        }
      }
    }
  }
  if (const Status gone = session->Destroy(); !gone.ok())
    Die("destroy: " + gone.error().ToString());
}

}  // namespace

int Inside(const InsideOptions& options) {
  std::vector<std::array<Samples, kWorkers>> samples(options.tasks.size());
  for (int block = 0; block < options.blocks; ++block) Block(options, samples);
  for (std::size_t task = 0; task < samples.size(); ++task) {
    for (std::size_t i = 0; i < kWorkers; ++i) {
      PrintSamples(std::string(kNames[i]) + "-wall", samples[task][i].wall);
      PrintSamples(std::string(kNames[i]) + "-processor", samples[task][i].processor);
    }
  }
  return 0;
}

}  // namespace cordon::bench
