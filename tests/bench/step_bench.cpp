// step_bench KEY=VALUE...: milliseconds of a training step (data drawn before), of the wall clock and of the
// processor, one line a round, each when a line comes in on standard input, so that another program can take
// turns with it.
#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <iostream>

#include "core/base/processor.hpp"
#include "core/config/resolve.hpp"
#include "core/dnn/pins.hpp"
#include "core/dnn/threads.hpp"
#include "core/train/learner.hpp"
#include "core/train/optimiser.hpp"

namespace {

using namespace headlab;

struct Milliseconds {
  double wall, processor;
};

Milliseconds a_step(Learner& learner, const Sequences& batch, std::int64_t& s, int steps) {
  const auto start = std::chrono::steady_clock::now();
  const std::clock_t used = std::clock();
  for (int i = 0; i < steps; ++i, ++s) {
    learner.differentiate(s, batch, [] { return false; });
    learner.update(s, gradient_norm(learner.parameters()));
  }
  const double processor = double(std::clock() - used) / CLOCKS_PER_SEC;
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return {1e3 * wall / steps, 1e3 * processor / steps};
}

}  // namespace

int main(int argc, char** argv) {
  headlab::dnn::pin(headlab::instruction_set());
  headlab::dnn::single_threaded();
  Source source;
  for (const std::string word : std::span(argv + 1, std::size_t(argc - 1)))
    source.settings.push_back(
        {word.substr(0, word.find('=')), word.substr(word.find('=') + 1), "command line"});
  Learner learner(resolve(joined({core_keys()}), {source}).config);
  const Sequences batch = learner.batch(0);
  std::int64_t s = 0;
  const int steps = std::max(1, int(200 / a_step(learner, batch, s, 3).processor));
  for (std::string line; std::getline(std::cin, line);) {
    const Milliseconds m = a_step(learner, batch, s, steps);
    fmt::print("{:.4f} {:.4f}\n", m.wall, m.processor);
    std::fflush(stdout);
  }
}
