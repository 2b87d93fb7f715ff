#include "sweeps/selection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <tuple>

#include "core/base/faults.hpp"
#include "core/base/text.hpp"

namespace headlab {
namespace {

std::vector<std::string> words_of(const std::string& only) {
  std::vector<std::string> words;
  if (only.starts_with('@')) {
    std::ifstream in(only.substr(1));
    std::error_code unknown;
    require(in.good() && !std::filesystem::is_directory(only.substr(1), unknown),
            "--only: {} is not a file that can be read", visible(only.substr(1)));
    for (std::string word; in >> word;) words.push_back(word);
    require(!words.empty(), "--only: {} names no trial", only.substr(1));
  } else {
    for (const std::string_view word : split(only)) words.emplace_back(word);
  }
  return words;
}

}  // namespace

bool is_wanted(const RunOptions& options, const std::string& id) {
  return !options.only || options.only->contains(id);
}

std::vector<std::size_t> todo(const SweepPlan& plan, const Store& store, const RunOptions& options) {
  using Rank = std::tuple<bool, std::int64_t, double, std::size_t>;  // failed before, seed, -cost, place
  std::vector<Rank> ranks;
  for (std::size_t i = 0; i < plan.trials.size(); ++i) {
    const PlannedTrial& t = plan.trials[i];
    const Stored* known = store.find(t.id);
    if (!is_wanted(options, t.id) || store.is_damaged(t.id) || (known != nullptr && finished(known->status)))
      continue;
    const bool failed = known != nullptr && known->status == Status::failed;
    ranks.emplace_back(failed, t.config.seed, -options.cost(t.config), i);
  }
  std::ranges::sort(ranks);
  std::vector<std::size_t> order;
  for (const Rank& rank : ranks) order.push_back(std::get<3>(rank));
  return order;
}

std::string full_id(const std::string& prefix, const std::vector<std::string>& ids) {
  std::vector<std::string> found;
  std::ranges::copy_if(ids, std::back_inserter(found),
                       [&](const std::string& id) { return id.starts_with(prefix); });
  require(!found.empty() && !prefix.empty(), "{}: no trial has such an id", visible(prefix));
  require(found.size() == 1, "{}: {} trials have ids that start so, {} and {} are two", prefix, found.size(),
          found[0], found.back());
  return found[0];
}

std::set<std::string> selected(const std::string& only, const SweepPlan& plan, const Store& store) {
  std::set<std::string> chosen;
  const std::vector<std::string> ids = plan.ids();
  if (only == "failed") {
    for (const std::string& id : ids)
      if (const Stored* known = store.find(id); known != nullptr && known->status == Status::failed)
        chosen.insert(id);
    return chosen;
  }
  Faults faults;
  for (const std::string& word : words_of(only)) try {
      chosen.insert(full_id(word, ids));
    } catch (const ConfigError& e) {
      faults.add(fmt::format("--only: {}", e.what()));
    }
  faults.raise();
  return chosen;
}

}  // namespace headlab
