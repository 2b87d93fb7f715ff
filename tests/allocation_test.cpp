// After its first step a training allocates nothing that is as large as a tensor. The replaced operators
// serve the whole test program; sanitizers have their own.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "core/train/learner.hpp"
#include "core/train/optimiser.hpp"
#include "tests/support/configuration.hpp"

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
namespace {

struct Watch {
  bool on = false;
  std::size_t largest = 0;
};
Watch& watch() {
  thread_local Watch w;
  return w;
}

void* allocated(std::size_t bytes, std::size_t alignment) {
  if (watch().on) watch().largest = std::max(watch().largest, bytes);
  void* p = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  return allocated(bytes, alignof(std::max_align_t));
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t a) {
  return allocated(bytes, std::size_t(a));
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t /*bytes*/) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::align_val_t /*a*/) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t /*bytes*/, std::align_val_t /*a*/) noexcept {
  std::free(p);
}

namespace headlab::test {
namespace {

void step(Learner& learner, std::int64_t s) {
  learner.differentiate(s, learner.batch(s), [] { return false; });
  learner.update(s, gradient_norm(learner.parameters()));
}

TEST(Allocation, IsOverAfterTheFirstStep) {
  for (const auto architecture : split(words(Architecture{})))
    for (const char* dropout : {"0", "0.1"}) {
      // 100 tokens: chunks of two sequences and one of a single one
      Learner learner(configuration({{"model.architecture", std::string(architecture)},
                                     {"model.dropout", dropout},
                                     {"model.dim", "32"},
                                     {"task.length", "100"},
                                     {"train.batch", "33"}}));
      step(learner, 0);
      watch() = {true, 0};
      step(learner, 1);
      watch().on = false;
      EXPECT_GT(watch().largest, 0U) << "watched";
      EXPECT_LE(watch().largest, 4096U) << architecture;
    }
}

}  // namespace
}  // namespace headlab::test
#endif
