// To be preloaded: the wall clock goes wrong by HEADLAB_CLOCK_SHIFT seconds as soon as a file matches the
// pattern HEADLAB_CLOCK_SHIFT_AFTER; clocks that only run are left alone.
#include <dlfcn.h>
#include <glob.h>
#include <sys/time.h>
#include <time.h>

#include <atomic>
#include <cstdlib>

namespace {

bool is_there(const char* pattern) {
  glob_t found{};
  const bool any = ::glob(pattern, GLOB_NOSORT, nullptr, &found) == 0;
  ::globfree(&found);
  return any;
}

time_t shift() {
  static std::atomic<bool> begun{false};
  const char *seconds = std::getenv("HEADLAB_CLOCK_SHIFT"),
             *pattern = std::getenv("HEADLAB_CLOCK_SHIFT_AFTER");
  if (seconds == nullptr || pattern == nullptr) return 0;
  if (!begun && is_there(pattern)) begun = true;
  return begun ? std::atol(seconds) : 0;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  using Real = int (*)(clockid_t, timespec*);
  static const Real real = reinterpret_cast<Real>(::dlsym(RTLD_NEXT, "clock_gettime"));
  const int status = real(clock, now);
  if (status == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += shift();
  return status;
}

int gettimeofday(timeval* now, void* /*zone*/) noexcept {
  timespec t{};
  const int status = clock_gettime(CLOCK_REALTIME, &t);
  now->tv_sec = t.tv_sec;
  now->tv_usec = t.tv_nsec / 1000;
  return status;
}

time_t time(time_t* to) noexcept {
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  if (to != nullptr) *to = t.tv_sec;
  return t.tv_sec;
}

}  // extern "C"
