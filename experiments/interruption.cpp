#include "experiments/interruption.hpp"

#include <csignal>
#include <ctime>
#include <initializer_list>

#include "experiments/command.hpp"

namespace headlab {
namespace {

sigset_t watched() {
  sigset_t set;
  sigemptyset(&set);
  for (const int s : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) sigaddset(&set, s);
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

int exit_code_of(int signal) { return signal == SIGUSR1 ? stopped_early : 128 + signal; }

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
