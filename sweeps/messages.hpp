#pragma once
// What the supervisor of a sweep and its workers say to each other over a socket: frames of bytes, in them
// CBOR.
#include <filesystem>
#include <optional>

#include "sweeps/store.hpp"

namespace headlab {

/// One end of a stream socket, over which frames go: a length in 4 bytes of the host, then as many bytes.
class Channel {
 public:
  /// Owns the descriptor, which programs started from here will not have.
  explicit Channel(int descriptor);
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  ~Channel();

  int descriptor() const { return descriptor_; }
  /// False if there is nobody to receive it.
  bool send(std::string_view frame) const;
  /// Waits for a frame; none if the other end has gone. std::system_error if this is no socket.
  std::optional<std::string> receive() const;
  /// Whether receive() would not wait.
  bool has_frame() const;

 private:
  int descriptor_;
};

/// The first frame that a worker receives.
struct Greeting {
  std::int64_t supervisor{};     ///< its process
  std::filesystem::path folder;  ///< of the store
  hdf5::Values provenance;       ///< what all trials share
};
/// Most others: a trial to run. An empty frame asks a worker to end the trial it runs as `interrupted`.
struct Assignment {
  std::string id;
  std::string configuration;  ///< TOML
};
/// A worker's answer to each assignment: the trial's file is written, or `fault` says why not.
struct Report {
  std::string id;
  Status status = Status::failed;
  std::string message;
  double seconds{};          ///< that training took, NaN if unknown
  double seconds_writing{};  ///< that its file took
  int error{};               ///< errno of a system call that failed in writing, or 0
  std::string fault;         ///< of writing: what failed, without the errno's text
};

/// Its answer to a Folding.
struct FoldReport {
  Folded folded;
  int error{};  ///< as in Report
  std::string fault;
};

/// Throws what a report's `error` and `fault` tell of, if anything: std::system_error or DamagedError.
void raise(int error, const std::string& fault);

std::string encoded(const Greeting& greeting);
std::string encoded(const Assignment& assignment);
std::string encoded(const Report& report);
std::string encoded(const Folding& folding);
std::string encoded(const FoldReport& report);
bool is_folding(std::string_view frame);
/// std::invalid_argument for a frame that is no such message.
Greeting greeting_in(std::string_view frame);
Assignment assignment_in(std::string_view frame);
Report report_in(std::string_view frame);
Folding folding_in(std::string_view frame);
FoldReport fold_report_in(std::string_view frame);

}  // namespace headlab
