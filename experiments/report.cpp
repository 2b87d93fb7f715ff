#include "experiments/report.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/numbers.hpp"
#include "experiments/console.hpp"

namespace headlab {
namespace {

std::string cell(double x) { return std::isnan(x) ? "-" : fmt::format("{:.4f}", x); }

std::string validation(double length) { return "validation@" + number(length); }

}  // namespace

std::string epoch_header(const History& history) {
  std::string line = fmt::format("{:>5}  {:>8}  {:>8}", "epoch", "loss", "accuracy");
  for (const double length : history.relative_length) line += "  " + validation(length);
  return line + fmt::format("  {:>9}", "rate");
}

std::string epoch_line(const History& history, std::size_t epoch) {
  std::string line = fmt::format("{:>5}  {:>8}  {:>8}", epoch + 1, cell(history.train_loss[epoch]),
                                 cell(history.train_accuracy[epoch]));
  const auto& lengths = history.relative_length;
  for (std::size_t i = 0; i < lengths.size(); ++i)
    line += fmt::format("  {:>{}}", cell(history.validation_accuracy[epoch * lengths.size() + i]),
                        validation(lengths[i]).size());
  return line + fmt::format("  {:>9.3e}", history.learning_rate[epoch]);
}

std::string test_lines(const History& history) {
  std::string lines;
  for (std::size_t i = 0; i < history.test_accuracy.size(); ++i)
    if (!std::isnan(history.test_accuracy[i]))
      lines += fmt::format("test@{}: loss {:.4f}, accuracy {:.4f}\n", number(history.relative_length[i]),
                           history.test_loss[i], history.test_accuracy[i]);
  return lines;
}

std::string case_lines(const History& history) {
  const std::size_t lengths = history.case_length.size(), cases = history.case_name.size();
  if (history.case_total.size() < lengths * cases || cases == 0) return "";
  std::vector<std::vector<std::string>> rows;
  const std::size_t last = history.case_total.size() - lengths * cases;
  for (std::size_t k = 0; k < cases; ++k) {
    rows.push_back({history.case_name[k]});
    for (std::size_t i = 0; i < lengths; ++i) {
      const std::size_t at = last + i * cases + k;
      const int total = history.case_total[at];
      const double share = total > 0 ? double(history.case_correct[at]) / total : std::nan("");
      rows.back().push_back(fmt::format("@{} {}", number(history.case_length[i]), cell(share)));
    }
  }
  return console::table(rows, 0);
}

}  // namespace headlab
