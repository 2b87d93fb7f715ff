#pragma once
#include <atomic>

namespace headlab {

/// SIGINT, SIGTERM and SIGHUP as a question that any thread may ask; the second one ends the process. Made
/// before other threads, which inherit the mask.
class Interruption {
 public:
  Interruption();
  Interruption(const Interruption&) = delete;
  ~Interruption();

  /// The first of these signals that came; 0: none yet.
  int signal();

 private:
  std::atomic<int> signal_{0};
};

}  // namespace headlab
