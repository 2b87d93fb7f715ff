#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace headlab {

/// Labelled sequences of a user's own, those of task.name = file: B of N tokens.
struct SequenceTable {
  std::int64_t length{};                 ///< N
  std::int64_t vocabulary{}, classes{};  ///< one more than the greatest token, label; at least 2
  std::vector<std::int32_t> tokens;      ///< (B, N)
  std::vector<std::int32_t> labels;      ///< (B), or (B, N) where every token answers
  /// The rows of training, validation and test, rising.
  std::array<std::vector<std::int64_t>, 3> parts;
  std::string sha256;  ///< of the file, 64 hex digits

  bool every_token() const { return length > 1 && labels.size() == tokens.size(); }
};

/// What is in the file of that name; never null. ConfigError with a line for each fault of it.
using ReadTable = std::function<std::shared_ptr<const SequenceTable>(const std::string& path)>;

}  // namespace headlab
