#pragma once
// DIR/attempts/<id>: a trial that runs, or whose worker has crashed. It stands from before a trial starts
// until its result is stored, so that what a killed sweep left unfinished can be told.
#include <sys/types.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace headlab {

struct Attempt {
  std::int64_t crashes = 0;  ///< of workers that ran it, not counting what a supervisor has ended
  std::string cause{};       ///< of the last crash: "killed by signal 11 (SIGSEGV)"
  pid_t process = 0;         ///< its worker; 0: none runs it
  std::string birth{};       ///< of that process, so that another one of that number is told apart
  std::string host{};        ///< of that process
  std::string start{};       ///< UTC, ISO 8601
};

/// Whether its process lives, on this host.
bool is_alive(const Attempt& attempt);

/// By id; what cannot be read is left out.
std::map<std::string, Attempt> read_attempts(const std::filesystem::path& folder);
/// What a supervisor writes there.
class Attempts {
 public:
  /// Reads what is there. Only who holds the claim of a trial (claims.hpp) calls what changes its file.
  explicit Attempts(std::filesystem::path folder);
  Attempts(const Attempts&) = delete;
  Attempts& operator=(const Attempts&) = delete;
  ~Attempts();  ///< the folder goes if it is empty

  /// The ids for which there are files, at the start.
  std::vector<std::string> ids() const;
  /// Reads again what another supervisor may have written.
  void look_for(const std::string& id);
  /// Whether a worker has it, as one may for a moment whose supervisor has been killed.
  bool is_running(const std::string& id) const;
  std::int64_t crashes(const std::string& id) const;
  std::string start(const std::string& id) const;

  /// All throw std::system_error, see atomic_file.hpp. A crash is written for good.
  void begin(const std::string& id, pid_t worker);
  std::int64_t crash(const std::string& id, const std::string& cause);  ///< how many there are
  void give_up(const std::string& id);                                  ///< without a result, nor a crash
  void end(const std::string& id);                                      ///< there is a result

 private:
  void write(const std::string& id) const;
  std::filesystem::path folder_;
  std::map<std::string, Attempt> all_;
};

}  // namespace headlab
