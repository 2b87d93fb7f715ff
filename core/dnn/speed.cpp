#include "core/dnn/speed.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "core/dnn/compat.hpp"
#include "core/dnn/threads.hpp"

namespace headlab::dnn {
namespace {

using Clock = std::chrono::steady_clock;

/// An operation.
double seconds_of(int products) {
  constexpr onednn::memory::dim m = 128, k = 128, n = 256;
  const std::vector<float> a(m * k, 1), b(k * n, 1);
  std::vector<float> c(m * n);
  const auto start = Clock::now();
  for (int i = 0; i < products; ++i)
    onednn::sgemm('N', 'N', m, n, k, 1, a.data(), k, b.data(), n, 0, c.data(), n);
  return std::chrono::duration<double>(Clock::now() - start).count() / (2. * m * k * n * products);
}

}  // namespace

double product_speed() {
  double best = 0;  // operations a second
  std::thread([&best] {
    single_threaded();
    seconds_of(1);  // makes the code
    const auto end = Clock::now() + std::chrono::milliseconds(50);
    for (int i = 0; i < 5 || Clock::now() < end; ++i) best = std::max(best, 1 / seconds_of(20));
  }).join();
  return best;
}

}  // namespace headlab::dnn
