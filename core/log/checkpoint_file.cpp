#include "core/log/checkpoint_file.hpp"

#include <fmt/format.h>

#include <array>

#include "core/log/trial_file.hpp"

namespace headlab {
namespace {

const Format format{"headlab-checkpoint", 1};

/// One row a real of the state.
struct Real {
  const char *name, *units, *long_name;
  double& (*in)(Checkpoint&);
};
constexpr std::array reals{
    Real{"unfinished_loss", "nat",
         "sum over the steps made of the unfinished epoch of loss / steps_per_epoch",
         [](Checkpoint& c) -> double& { return c.unfinished.loss; }},
    Real{"unfinished_accuracy", "1", "the same of the accuracy",
         [](Checkpoint& c) -> double& { return c.unfinished.accuracy; }},
    Real{"unfinished_gradient_norm", "1", "the same of the global gradient norm before clipping",
         [](Checkpoint& c) -> double& { return c.unfinished.gradient_norm; }},
    Real{"seconds_training", "s", "time in training",
         [](Checkpoint& c) -> double& { return c.seconds.training; }},
    Real{"seconds_evaluation", "s", "time in evaluation",
         [](Checkpoint& c) -> double& { return c.seconds.evaluation; }},
    Real{"seconds_data", "s", "time in drawing data",
         [](Checkpoint& c) -> double& { return c.seconds.data; }}};

struct Blocks {
  const char *prefix, *long_name;
  Tensors Checkpoint::* tensors;
};
constexpr std::array blocks{Blocks{"value/", "parameter", &Checkpoint::value},
                            Blocks{"moment1/", "Adam's first moment", &Checkpoint::moment1},
                            Blocks{"moment2/", "Adam's second moment", &Checkpoint::moment2}};

hdf5::Values told(const char* units, const char* long_name) {
  return {{"units", units}, {"long_name", long_name}};
}

void put(hdf5::File& file, Checkpoint& c) {
  file.variables.push_back({"next_step",
                            {},
                            std::vector{c.step},
                            told("1", "optimiser steps made; the next one, counted from 0"),
                            {},
                            true});
  for (const Real& r : reals)
    file.variables.push_back({r.name, {}, std::vector{r.in(c)}, told(r.units, r.long_name)});
  for (const Blocks& b : blocks)
    for (auto& [name, tensor] : c.*b.tensors)
      file.variables.push_back({b.prefix + name,
                                {},
                                std::move(tensor.elements),
                                told("1", b.long_name),
                                std::move(tensor.shape),
                                false,
                                false});
}

template <class T>
T scalar(const hdf5::File& file, const char* name) {
  const hdf5::Variable* v = file.find(name);
  if (v == nullptr) throw std::out_of_range(name);
  return std::get<std::vector<T>>(v->data).at(0);
}
void take(Checkpoint& c, hdf5::File& file) {
  c.step = scalar<std::int64_t>(file, "next_step");
  for (const Real& r : reals) r.in(c) = scalar<double>(file, r.name);
  for (hdf5::Variable& v : file.variables)
    for (const Blocks& b : blocks)
      if (const std::string_view prefix = b.prefix; v.name.starts_with(prefix))
        (c.*b.tensors)[v.name.substr(prefix.size())] = {std::move(v.shape),
                                                        std::move(std::get<std::vector<float>>(v.data))};
}

std::string text_of(const hdf5::Values& values, const std::string& key) {
  const auto found = values.find(key);
  if (found == values.end()) return "nothing";
  return std::visit(
      []<class T>(const T& v) {
        if constexpr (std::is_same_v<T, std::vector<double>>)
          return fmt::format("{} numbers", v.size());
        else
          return fmt::format("{}", v);
      },
      found->second);
}

}  // namespace

void write_checkpoint(const std::filesystem::path& to, CheckpointRecord checkpoint) {
  TrialRecord trial;
  static_cast<History&>(trial) = std::move(checkpoint.history);
  trial.id = checkpoint.id;
  trial.status = Status::interrupted;
  trial.configuration = checkpoint.configuration;
  trial.facts = checkpoint.maker;
  hdf5::File file = to_file(trial);
  put(file, checkpoint);
  write_sealed(to, format, std::move(file), Check::bytes);
}

namespace {

CheckpointRecord read(const std::filesystem::path& from,
                      const std::function<bool(std::string_view)>& wanted) {
  return reading(from, [&] {
    hdf5::File file = read_sealed(from, format, wanted, hdf5::Detail::values);
    CheckpointRecord checkpoint;
    take(checkpoint, file);
    TrialRecord trial = from_file(std::move(file));
    trial.test_loss.clear();  // to_file makes rows without values of what is empty
    trial.test_accuracy.clear();
    checkpoint.id = std::move(trial.id);
    checkpoint.configuration = std::move(trial.configuration);
    checkpoint.maker = std::move(trial.facts);
    checkpoint.history = std::move(static_cast<History&>(trial));
    return checkpoint;
  });
}

}  // namespace

CheckpointRecord read_checkpoint(const std::filesystem::path& from) { return read(from, {}); }
CheckpointRecord read_checkpoint_head(const std::filesystem::path& from) {
  return read(from, [](std::string_view name) { return name.find('/') == name.npos; });
}

void require_made_for(const CheckpointRecord& checkpoint, const std::filesystem::path& path,
                      const std::string& id, const hdf5::Values& maker) {
  const auto refuse = [&](const std::string& what, const std::string& is, const std::string& wanted) {
    throw DamagedError(fmt::format("{}: its {} is {}, must be {}", path.native(), what, is, wanted));
  };
  if (checkpoint.id != id) refuse("trial", checkpoint.id, id);
  hdf5::Values keys = maker;
  keys.insert(checkpoint.maker.begin(), checkpoint.maker.end());
  for (const auto& [key, value] : keys)
    if (const auto is = checkpoint.maker.find(key), wanted = maker.find(key);
        is == checkpoint.maker.end() || wanted == maker.end() || is->second != wanted->second)
      refuse(key, text_of(checkpoint.maker, key), text_of(maker, key));
}

}  // namespace headlab
