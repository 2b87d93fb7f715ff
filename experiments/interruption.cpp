#include "experiments/interruption.hpp"

#include <csignal>
#include <ctime>
#include <initializer_list>

namespace headlab {
namespace {

sigset_t watched() {
  sigset_t set;
  sigemptyset(&set);
  for (const int s : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, s);
  return set;
}

}  // namespace

Interruption::Interruption() {
  const sigset_t set = watched();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}
Interruption::~Interruption() {
  const sigset_t set = watched();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

int Interruption::signal() {
  if (signal_ != 0) return signal_;
  const sigset_t set = watched();
  const timespec at_once{};
  const int taken = sigtimedwait(&set, nullptr, &at_once);
  if (taken <= 0) return signal_;
  signal_ = taken;
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);  // here the next one will do what it does to any program
  return taken;
}

}  // namespace headlab
