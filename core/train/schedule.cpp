#include "core/train/schedule.hpp"

#include <cmath>

namespace headlab {

double learning_rate(const Config::Train& train, std::int64_t s) {
  const auto total = static_cast<double>(train.epochs * train.steps_per_epoch), step = static_cast<double>(s);
  const double warmup = std::floor(train.warmup * total + 1e-9);
  return step < warmup ? train.learning_rate * step / warmup : train.learning_rate * (1 - step / total);
}

}  // namespace headlab
