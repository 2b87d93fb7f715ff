#include "sweeps/crew.hpp"

#include <poll.h>

#include <algorithm>
#include <utility>

namespace headlab {
namespace {

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Crew::Crew(std::size_t size, std::vector<std::string> words, Greeting greeting,
           std::function<void(std::string_view)> say)
    : slots_(size),
      words_(std::move(words)),
      greeting_(std::move(greeting)),
      say_(std::move(say)),
      time_(steady_seconds) {}

std::vector<std::size_t> Crew::trials() const {
  std::vector<std::size_t> all;
  for (const Slot& slot : slots_)
    if (slot.trial) all.push_back(*slot.trial);
  return all;
}
bool Crew::is_full() const { return std::cmp_equal(running(), slots_.size()); }

/// One with a worker that waits, if there is any.
Crew::Slot* Crew::idle_slot() {
  Slot* idle = nullptr;
  for (Slot& slot : slots_)
    if (!slot.trial && (idle == nullptr || (slot.worker && !idle->worker))) idle = &slot;
  return idle;
}

pid_t Crew::next_worker() {
  Slot& slot = *idle_slot();
  if (!slot.worker) slot.worker = std::make_unique<WorkerProcess>(words_, greeting_);
  return slot.worker->pid();
}

void Crew::assign(std::size_t trial, const Assignment& assignment) {
  Slot& slot = *idle_slot();
  slot.worker->forget_words();
  slot.trial = trial;
  slot.start = now_ = time_.look();
  slot.killed = Killed::no;
  slot.worker->channel().send(encoded(assignment));  // one that has died is buried by listen()
}

std::vector<Ended> Crew::wait(std::chrono::milliseconds patience) {
  std::vector<pollfd> ends;
  for (const Slot& slot : slots_)
    if (slot.worker)
      for (const int end : {slot.worker->channel().descriptor(), slot.worker->errors()})
        ends.push_back({end, POLLIN, 0});
  ::poll(ends.data(), ends.size(), static_cast<int>(patience.count()));
  now_ = time_.look();
  std::vector<Ended> all;
  for (Slot& slot : slots_)
    if (slot.worker)
      if (auto ended = listen(slot)) all.push_back(*std::move(ended));
  return all;
}

std::optional<Ended> Crew::listen(Slot& slot) const {
  slot.worker->read_errors(say_);
  if (!slot.worker->channel().has_frame()) return {};
  const auto frame = slot.worker->channel().receive();
  if (!frame) return bury(slot);
  return Ended{.trial = *std::exchange(slot.trial, {}), .report = report_in(*frame)};
}

std::optional<Ended> Crew::bury(Slot& slot) const {
  const std::unique_ptr<WorkerProcess> dead = std::exchange(slot.worker, nullptr);
  std::string death = dead->wait();
  dead->read_errors(say_);
  if (!slot.trial) return {};
  return Ended{.trial = *std::exchange(slot.trial, {}),
               .report = {},
               .death = std::move(death),
               .last_words = dead->last_words(),
               .killed = slot.killed};
}

void Crew::stop() {
  for (const Slot& slot : slots_)
    if (slot.trial) slot.worker->channel().send("");
}

void Crew::kill_older_than(std::chrono::duration<double> limit, Killed why) {
  for (Slot& slot : slots_)
    if (slot.trial && slot.killed == Killed::no && now_ - slot.start > limit.count()) {
      slot.killed = why;
      slot.worker->kill();
    }
}

}  // namespace headlab
