#pragma once
#include <atomic>

namespace headlab {

/// What a program ends with that such a signal has stopped: 130, 143, 129; 75 for SIGUSR1, with which batch
/// systems tell that time is nearly up.
int exit_code_of(int signal);

/// SIGINT, SIGTERM, SIGHUP and SIGUSR1 as a question that any thread may ask; the second one ends the
/// process. Made before other threads, which inherit the mask.
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
