#include "core/tasks/task.hpp"

namespace headlab {

extern const Task HEADLAB_TASKS;

const Task& task(TaskName name) {
  static constexpr std::reference_wrapper<const Task> table[] = {HEADLAB_TASKS};
  return table[static_cast<std::size_t>(name)];
}

void sequences(const Config& config, Purpose purpose, std::uint64_t step, Sequences& out,
               const std::function<void(Stream&, Tokens)>& draw) {
  const Task& row = task(config.task.name);
  const auto count = static_cast<std::size_t>(out.count), length = static_cast<std::size_t>(out.length);
  const Form form = row.form(config);
  const std::size_t answers =
      (form.answer == Answer::every_token ? length : 1) * static_cast<std::size_t>(form.answers);
  out.tokens.resize(count * length);
  out.labels.resize(count * answers);
  out.cases.clear();
  for (std::size_t b = 0; b < count; ++b) {
    Stream stream(static_cast<std::uint64_t>(config.seed), purpose, step, b);
    const Tokens tokens = Tokens(out.tokens).subspan(b * length, length);
    draw(stream, tokens);
    row.label(config, tokens, Tokens(out.labels).subspan(b * answers, answers));
  }
}

void sequences(const Config& config, Purpose purpose, std::uint64_t step, Sequences& out) {
  const Task& row = task(config.task.name);
  if (row.fill) return row.fill(config, purpose, step, out);
  const bool biased = purpose == Purpose::training;
  sequences(config, purpose, step, out,
            [&](Stream& stream, Tokens tokens) { row.draw(config, biased, stream, tokens); });
}

Sequences sequences(const Config& config, Purpose purpose, std::uint64_t step, std::int64_t count,
                    std::int64_t length) {
  Sequences out{count, length, {}, {}, {}};
  sequences(config, purpose, step, out);
  return out;
}

}  // namespace headlab
