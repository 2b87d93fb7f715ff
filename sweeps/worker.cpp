#include "sweeps/worker.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <new>
#include <system_error>

#include "core/base/error.hpp"
#include "core/base/stopwatch.hpp"
#include "core/config/write.hpp"
#include "core/dnn/threads.hpp"
#include "sweeps/messages.hpp"
#include "sweeps/record.hpp"
#include "sweeps/store.hpp"

namespace headlab {
namespace {

class Silent : public Sink {
 public:
  explicit Silent(const Stop& asked) : asked_(asked) {}
  bool stop() override { return asked_(); }

 private:
  const Stop& asked_;
};

/// Dies with its parent; goes before it, and before most others, when the kernel is out of memory.
void tie_to_supervisor() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::prctl(PR_SET_NAME, "headlab-worker");  // else "exe", from /proc/self/exe
  std::ofstream("/proc/self/oom_score_adj") << 500;
}

/// Whether the supervisor wants the present trial to end.
class Asked {
 public:
  explicit Asked(const Channel& supervisor) : supervisor_(supervisor) {}
  bool operator()() {
    if (!stop_ && supervisor_.has_frame()) stop_ = supervisor_.receive().value_or("").empty();
    return stop_;
  }

 private:
  const Channel& supervisor_;
  bool stop_ = false;
};

TrialRecord failed(const Keys& keys, const PlannedTrial& trial, const std::string& message) {
  Outcome outcome;
  outcome.message = message;
  return record_of(keys, trial.config, outcome);
}

TrialRecord record(const Keys& keys, const RunTrial& run, const PlannedTrial& trial, const Stop& stop) try {
  TrialRecord r = run(trial, stop);
  if (r.id != trial.id)
    throw RunError(fmt::format("[worker] a record must be of trial {}, is of {}", trial.id, r.id));
  return r;
} catch (const std::bad_alloc&) {
  return failed(keys, trial, "out of memory (std::bad_alloc)");
} catch (const std::exception& e) {
  return failed(keys, trial, e.what());
} catch (...) {
  return failed(keys, trial, "an exception of an unknown type");
}

/// The trial's configuration is what the supervisor planned if it has the same id.
PlannedTrial trial_of(const Keys& keys, const Assignment& assignment) {
  const Config config = resolve(keys, {read_toml(assignment.configuration, "assignment")}).config;
  if (const std::string own = id(keys, config); own != assignment.id)
    throw RunError(fmt::format("[worker] a configuration must be of trial {}, is of {}", assignment.id, own));
  return {assignment.id, config};
}

/// Does what may fail for want of disk, and says so in the report: both kinds have these two members.
template <class AnyReport, class Action>
void reporting(AnyReport& report, const Action& action) {
  try {
    action();
  } catch (const std::system_error& e) {
    const std::string text = e.what(), reason = ": " + e.code().message();
    report.error = e.code().value();
    report.fault = text.ends_with(reason) ? text.substr(0, text.size() - reason.size()) : text;
  } catch (const std::exception& e) {
    report.fault = e.what();
  }
}

void write(const std::filesystem::path& folder, const TrialRecord& record, Report& report) {
  const Stopwatch watch(report.seconds_writing);
  reporting(report, [&] { write_trial(trial_path(folder, record.id), record); });
}

FoldReport folded(const Folding& f) {
  FoldReport report{};
  reporting(report,
            [&] { report.folded = fold(f.results, f.files, f.specification, f.plan, f.seconds_writing); });
  return report;
}

Report work(const Keys& keys, const RunTrial& run, const Greeting& greeting, const PlannedTrial& trial,
            const Stop& stop) {
  const std::string start = timestamp();
  TrialRecord r = record(keys, run, trial, stop);
  r.provenance.insert(greeting.provenance.begin(), greeting.provenance.end());
  r.provenance["start"] = start;
  r.provenance["end"] = timestamp();
  const auto seconds = r.facts.find("seconds");
  Report report{.id = r.id, .status = r.status, .message = r.message, .fault = ""};
  report.seconds = seconds != r.facts.end() ? std::get<double>(seconds->second) : std::nan("");
  write(greeting.folder, r, report);
  return report;
}

}  // namespace

RunTrial silent_training(const Keys& keys) {
  return [&keys](const PlannedTrial& t, const Stop& stop) {
    Silent sink(stop);
    return record_of(keys, t.config, train(t.config, sink));
  };
}

int serve(const Keys& keys, const RunTrial& run) {
  struct stat end{};
  require(::fstat(worker_descriptor, &end) == 0 && S_ISSOCK(end.st_mode),
          "worker: is started by headlab sweep only");
  const Channel supervisor(worker_descriptor);
  tie_to_supervisor();
  dnn::single_threaded();
  const auto first = supervisor.receive();
  if (!first) return 0;
  const Greeting greeting = greeting_in(*first);
  while (::getppid() == greeting.supervisor) {  // else it died before this process was tied to it
    const auto frame = supervisor.receive();
    if (!frame) break;
    if (frame->empty()) continue;
    if (is_folding(*frame)) {
      supervisor.send(encoded(folded(folding_in(*frame))));
    } else {
      const PlannedTrial trial = trial_of(keys, assignment_in(*frame));
      Asked asked(supervisor);
      supervisor.send(encoded(work(keys, run, greeting, trial, std::ref(asked))));
    }
  }
  return 0;
}

}  // namespace headlab
