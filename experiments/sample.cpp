#include "experiments/command.hpp"
#include "experiments/configuration.hpp"
#include "experiments/listing.hpp"
#include "experiments/sequence_text.hpp"
#include "experiments/stored.hpp"

namespace headlab {
namespace {

HEADLAB_WORDS(SampleSet, train, validation, test, balanced)

constexpr double most_tokens = 1e8, most_sequences = 10000;

struct Asked {
  std::int64_t count = 3;
  SampleSet set = SampleSet::train;
};

/// At least `count` sequences at the task's length; of training the first batch, as if it were large enough.
Sequences drawn(const Config& config, const Asked& asked) {
  const Task& t = task(config.task.name);
  const bool balanced = asked.set == SampleSet::balanced;
  require(!balanced || (!t.cases.empty() && config.eval.case_sequences > 0),
          "--set: balanced has no sequences with task.name = {}, eval.case_sequences = {}",
          text(value(config.task.name)), config.eval.case_sequences);
  const std::int64_t length = config.task.length, count = balanced ? config.eval.case_sequences : asked.count;
  require(static_cast<double>(count) * static_cast<double>(length) <= most_tokens,
          "task.length: {} sequences of {} tokens are more than {:.0e} tokens", count, length, most_tokens);
  if (balanced) return t.balanced(config, length);
  if (asked.set == SampleSet::train) return sequences(config, Purpose::training, 0, count, length);
  const Purpose purpose = asked.set == SampleSet::test ? Purpose::test : Purpose::validation;
  Sequences held_back = sequences(config, purpose, static_cast<std::uint64_t>(length), count, length);
  require(held_back.count > 0, "--set: {} has no sequences in {}", text(value(asked.set)), config.task.file);
  return held_back;
}

/// Of the set that is shown; of a balanced set as of validation, of whose sequences it is made.
double chance(const Config& config, const Asked& asked) {
  return task(config.task.name).chance(config, asked.set == SampleSet::train, config.task.length);
}

/// Calls f(key, value) for what decides how sequences are drawn.
template <class F>
void for_each_key(const Keys& keys, const Config& config, const F& f) {
  std::vector<std::string> names{"task.file", "task.length", "task.vocabulary", "task.readout",
                                 "task.case_bias"};
  for (const Key& own : task(config.task.name).keys()) names.push_back(own.name);
  names.emplace_back("seed");
  for (const std::string& name : names)
    if (const Key& key = *find(keys, name); !key.inert(config)) f(key.name, key.get(config));
}

void show_text(const Keys& keys, const Config& config, const Asked& asked, const Sequences& all) {
  const Task& t = task(config.task.name);
  std::string keys_text;
  for_each_key(keys, config, [&](const std::string& name, const Value& v) {
    keys_text += fmt::format("{} = {}, ", name, text(v));
  });
  console::print(
      "{}\n",
      console::table(
          {{text(value(config.task.name)) + ":", std::string(t.help)},
           {"with", keys_text + text(value(asked.set)) + " set"},
           {"chance", fmt::format("{:.4f}, the best answer that is always the same", chance(config, asked))},
           {"marks", marks_text(keys, config)}},
          console::width()));
  for (std::int64_t b = 0; b < std::min(asked.count, all.count); ++b)
    console::print("{}\n", sequence_text(keys, config, all, static_cast<std::size_t>(b), console::width()));
}

void show_json(const Keys& keys, const Config& config, const Asked& asked, const Sequences& all,
               const CommandLine& line) {
  const auto length = static_cast<std::size_t>(all.length);
  const std::size_t answers = all.labels.size() / static_cast<std::size_t>(all.count);
  nlohmann::ordered_json sample{{"task.name", text(value(config.task.name))}};
  for_each_key(keys, config, [&](const std::string& name, const Value& v) { sample[name] = json_of(v); });
  sample["set"] = text(value(asked.set));
  sample["chance_accuracy"] = chance(config, asked);
  sample["sequences"] = nlohmann::ordered_json::array();
  const auto count = static_cast<std::size_t>(std::min(asked.count, all.count));
  for (std::size_t b = 0; b < count; ++b) {
    const auto tokens = ConstTokens(all.tokens).subspan(b * length, length);
    sample["sequences"].push_back({{"cases", cases_of(config, tokens)},
                                   {"labels", ConstTokens(all.labels).subspan(b * answers, answers)},
                                   {"tokens", tokens}});
  }
  show({"sample", {}, std::move(sample)}, line);
}

int run(const CommandLine& given) {
  CommandLine line = given;
  Asked asked;
  read(line, "count", between(1, most_sequences), asked.count);
  read(line, "set", {}, asked.set);
  const Keys keys = all_keys();
  const Config config = configuration(line, keys).config;
  const Sequences all = drawn(config, asked);
  if (line.has("json"))
    show_json(keys, config, asked, all, line);
  else
    show_text(keys, config, asked, all);
  return done;
}

}  // namespace

Command sample_command() {
  return {.name = "sample",
          .operands = "[FILE.toml] [--KEY VALUE]...",
          .help = "sequences of a task with their cases and answers",
          .details =
              "task.case_bias shapes the training set alone. In a terminal rows of a long sequence in which\n"
              "nothing decides are left out; elsewhere each sequence is one row.",
          .example = "headlab sample --task.name mode --task.length 32 -n 2",
          .most = 1,
          .keys = true,
          .options = {{"count,n", "N", "how many, 3 if not given"},
                      {"set", "S", "train, validation, test or balanced"},
                      json_option()},
          .run = run};
}

}  // namespace headlab
