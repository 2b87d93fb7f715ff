#pragma once
// One finished trial, DIR/trials/<2 hex>/<id>.h5.
#include <filesystem>

#include "core/log/sealed_file.hpp"
#include "core/train/history.hpp"

namespace headlab {

inline const Format trial_format{"headlab-trial", 1};

std::string to_string(Status status);
std::vector<std::string> statuses();  ///< all of them

/// What a trial leaves behind. An empty table is as good as one without a value in it. There is no value
/// where a real is NaN, an integer of History -1, another one the smallest, a text "".
struct TrialRecord : History {
  std::string id;
  Status status = Status::failed;
  std::string message;
  std::string configuration;  ///< TOML
  hdf5::Values config;        ///< by key, those not inert
  /// result_scheme, parameters, operations_per_step, query_key_parameters, key_cache, score_operations,
  /// chance_accuracy, chance_accuracy_training, seconds
  hdf5::Values facts;
  /// version, host, start, ..., seconds_training, _evaluation, _data and, if it is known, _writing
  hdf5::Values provenance;
};

/// Of no value, see above: not stored.
bool absent(const hdf5::Value& value);

enum class Best { none, least, most };

/// One row a table of History: trial files, results.h5 and both ways back are made from it.
struct Field {
  using Table = std::variant<std::vector<double> History::*, std::vector<std::int64_t> History::*,
                             std::vector<std::int32_t> History::*>;
  std::string name;
  std::vector<std::string> axes;
  Table table;
  Best best;
  std::string units, long_name;
};
const std::vector<Field>& fields();
/// The fields that say where on an axis the others are: the root's attribute `coordinates` of CF and xarray.
inline constexpr const char* coordinates = "step sequences_seen";

/// Two records are the same if their files are hdf5::identical. std::invalid_argument for a fact of the name
/// of a member.
hdf5::File to_file(const TrialRecord& trial);
/// The record of such a file, whose variables' attributes are not needed. std::bad_variant_access for another
/// type, std::invalid_argument for an unknown status or an axis that holds a value twice.
TrialRecord from_file(hdf5::File file);
/// Atomically, and only if it reads back as the same. std::invalid_argument for an axis that holds a value
/// twice, std::logic_error for a table that is not of its axes' lengths.
void write_trial(const std::filesystem::path& to, const TrialRecord& trial);
/// DamagedError, see read_sealed.
TrialRecord read_trial(const std::filesystem::path& from);

/// "interrupted" to its value; std::invalid_argument for other texts.
Status status_of(std::string_view text);

}  // namespace headlab
