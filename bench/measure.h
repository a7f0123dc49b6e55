// Clock and processes for the benchmarks: posix_spawn and wait, no shell.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cordon::bench {

// CLOCK_MONOTONIC in nanoseconds.
std::int64_t Now();

// Processor time of this process and of the children that it has waited for, in nanoseconds.
std::int64_t ProcessorTime();

// Prints "bench: MESSAGE" and exits with 1: a benchmark never goes on with half its numbers.
[[noreturn]] void Die(const std::string& message);

// argv[0] is looked up in PATH. Standard input and output are /dev/null, standard error is
// `error_fd`
// (-1: /dev/null).
struct Command {
  std::vector<std::string> argv;
  std::string directory;  // "": the caller's
};

// Starts it, waits for it, returns the nanoseconds from before the spawn to after the wait. Dies
// when it cannot be started or does not exit with 0; what it wrote to standard error is then shown.
std::int64_t TimeOnce(const Command& command);

// A pseudo-random order of 0..n-1, another one at each call, the same ones in each run. What is
// measured side by side is measured in such an order, so that nothing always follows the same
// neighbour and its leftovers.
std::vector<std::size_t> NextOrder(std::size_t n);

// "NAME n n n\n" to standard output.
void PrintSamples(const std::string& name, const std::vector<std::int64_t>& samples);

}  // namespace cordon::bench
