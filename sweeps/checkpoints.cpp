#include "sweeps/checkpoints.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/numbers.hpp"
#include "core/base/processor.hpp"
#include "core/config/write.hpp"
#include "core/dnn/pins.hpp"
#include "core/log/atomic_file.hpp"
#include "core/log/checkpoint_file.hpp"
#include "sweeps/record.hpp"

namespace headlab {
namespace {

using Clock = std::chrono::steady_clock;

class Silent : public Sink {
 public:
  explicit Silent(const Stop& asked) : asked_(asked) {}
  bool stop() override { return asked_(); }

 private:
  const Stop& asked_;
};

/// Writes checkpoints and leaves all else to another sink.
class CheckpointSink : public Sink {
 public:
  CheckpointSink(const Keys& keys, const Config& config, Sink& inner, const Checkpointing& how)
      : id_(id(keys, config)), configuration_(toml_text(keys, {config, {}, {}})), inner_(inner), how_(how) {}

  void epoch(const History& so_far) override { inner_.epoch(so_far); }
  void trained(std::int64_t epoch, Parameters& now) override { inner_.trained(epoch, now); }
  bool stop() override { return stopped_ = inner_.stop(); }
  bool wants_checkpoint() override { return Clock::now() - last_ >= (stopped_ ? how_.worth : how_.every); }
  void checkpoint(Checkpoint&& now) override {
    try {
      write_checkpoint(how_.file, {std::move(now), id_, configuration_, checkpoint_maker()});
    } catch (const std::exception& e) {
      how_.note(fmt::format("trial {}: goes on without a checkpoint: {}", id_, e.what()));
    }
    last_ = Clock::now();
  }

  std::optional<Checkpoint> found() const try {
    if (!exists(how_.file)) return {};
    CheckpointRecord c = read_checkpoint(how_.file);
    require_made_for(c, how_.file, id_, checkpoint_maker());
    how_.note(fmt::format("trial {}: goes on after step {}", id_, grouped(c.step)));
    return std::move(static_cast<Checkpoint&>(c));
  } catch (const std::exception& e) {
    how_.note(fmt::format("trial {}: begins anew: {}", id_, e.what()));
    return {};
  }

 private:
  std::string id_, configuration_;
  Sink& inner_;
  const Checkpointing& how_;
  bool stopped_ = false;
  Clock::time_point last_ = Clock::now();
};

}  // namespace

Outcome checkpointed_training(const Keys& keys, const Config& config, Sink& sink,
                              const Checkpointing& checkpointing, const Tensors* parameters) {
  CheckpointSink checkpoints(keys, config, sink, checkpointing);
  return train(config, checkpoints, checkpoints.found(), parameters);
}

TrialRecord checkpointed_training(const Keys& keys, const Config& config, const Stop& stop,
                                  const Checkpointing& checkpointing) {
  Silent sink(stop);
  return record_of(keys, config, checkpointed_training(keys, config, sink, checkpointing));
}

hdf5::Values checkpoint_maker() {
  const dnn::Settings oneDNN = dnn::settings();
  hdf5::Values maker{{"result_scheme", result_scheme},
                     {"program", sha256(InputFile("/proc/self/exe"))},
                     {"processor", hdf5::readable(processor_name())},
                     {"instruction_set", std::string(to_string(instruction_set()))},
                     {"onednn", oneDNN.version},
                     {"onednn_instructions", oneDNN.instructions},
                     {"onednn_fpmath_mode", oneDNN.fpmath_mode},
                     {"threads", std::int64_t{oneDNN.threads}},
                     {"flush_to_zero", oneDNN.flush_to_zero}};
  std::erase_if(maker, [](const auto& entry) { return absent(entry.second); });
  return maker;
}

double share_left(const PlannedTrial& trial, const std::filesystem::path& file) try {
  if (!exists(file)) return 1;
  const CheckpointRecord c = read_checkpoint_head(file);
  require_made_for(c, file, trial.id, checkpoint_maker());
  const auto steps = static_cast<double>(trial.config.train.epochs * trial.config.train.steps_per_epoch);
  return std::clamp(1 - static_cast<double>(c.step) / steps, 0., 1.);
} catch (const std::exception&) {
  return 1;
}

std::filesystem::path checkpoint_path(const std::filesystem::path& folder, const std::string& id) {
  return folder / (id + ".h5");
}

void forget_checkpoint(const std::filesystem::path& file) { std::filesystem::remove(file); }

void clean_checkpoints(const std::filesystem::path& folder,
                       const std::function<bool(const std::string& id)>& is_finished) {
  if (!is_directory(folder)) return;
  remove_leftovers(folder);
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".h5" && is_finished(entry.path().stem())) remove(entry.path());
}

}  // namespace headlab
