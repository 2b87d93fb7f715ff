#include "sweeps/folding_process.hpp"

#include <fmt/format.h>
#include <poll.h>

#include "core/base/error.hpp"

namespace headlab {

FoldingProcess::FoldingProcess(const std::vector<std::string>& words, const Greeting& greeting,
                               Folding folding, int lock)
    : folding_(std::move(folding)), process_(words, greeting, lock) {
  process_.channel().send(encoded(folding_));
}

std::optional<Folded> FoldingProcess::wait(std::chrono::milliseconds patience) {
  pollfd end{process_.channel().descriptor(), POLLIN, 0};
  ::poll(&end, 1, static_cast<int>(patience.count()));
  process_.read_errors([](std::string_view) {});
  if (!process_.channel().has_frame()) return {};
  const auto frame = process_.channel().receive();
  if (!frame)
    throw RunError(fmt::format("{}: the process that folds trials into it ended: {}",
                               folding_.results.native(), process_.wait()));
  FoldReport report = fold_report_in(*frame);
  raise(report.error, report.fault);
  return std::move(report.folded);
}

}  // namespace headlab
