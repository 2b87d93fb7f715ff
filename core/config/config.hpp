#pragma once
// The configuration as the trainer reads it: config.model.dim. What a field means, its default and its range
// stand in the table, keys.cpp; resolve() fills every field.
#include <any>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <typeindex>
#include <vector>

namespace headlab {

/// What has a row in a table: a word here and a file that defines `const Task WORD` (core/tasks) or
/// `const Aggregation WORD` (core/attention).
#define HEADLAB_TASKS argmin_first_argmax, mode, local_global, multi_relation, file
#define HEADLAB_ARCHITECTURES bert, mte, nap, non, sum, max

/// An enumeration whose enumerators are, as they are spelt, the values of a key.
#define HEADLAB_TEXT(...) #__VA_ARGS__
#define HEADLAB_WORDS(Type, ...)   \
  enum class Type { __VA_ARGS__ }; \
  constexpr std::string_view words(Type /*any*/) { return HEADLAB_TEXT(__VA_ARGS__); }

HEADLAB_WORDS(TaskName, HEADLAB_TASKS)
HEADLAB_WORDS(Architecture, HEADLAB_ARCHITECTURES)
HEADLAB_WORDS(Readout, across_tokens, first_token)
HEADLAB_WORDS(QueryKey, concatenated, collaborative, multi_query)
HEADLAB_WORDS(NormPlacement, bert, mte)
HEADLAB_WORDS(Mixing, normal, xavier, blocks, ones)
HEADLAB_WORDS(ClipMode, per_variable, global)
HEADLAB_WORDS(Precision, float32)

struct SequenceTable;

class Config {
 public:
  struct Task {
    TaskName name{};
    std::int64_t length{}, vocabulary{};
    Readout readout{};
    std::int64_t case_bias{}, argmin_token{}, first_token{};
    std::string file, file_sha256;
    std::shared_ptr<const SequenceTable> table;  ///< what is in the file; null without one
    bool positions{};
  } task;
  struct Model {
    Architecture architecture{};
    std::int64_t layers{}, heads{}, dim{}, query_key_dim{}, feed_forward{};
    QueryKey query_key{};
    NormPlacement norm_placement{};
    bool attention_gelu{};
    double norm_epsilon{}, attention_epsilon{}, dropout{};

    struct QueriesAndKeys {
      QueryKey query_key{};
      std::int64_t dim{};
    };
    /// By layer, of a model that was converted; empty: all layers as query_key and query_key_dim say. No key,
    /// since it follows from the model's parameters.
    std::vector<QueriesAndKeys> converted;
  } model;
  struct Init {
    double std{};
    Mixing mixing{};
    std::string source;
  } init;
  struct Train {
    double learning_rate{}, warmup{}, clip{}, l2{};
    std::int64_t batch{}, steps_per_epoch{}, epochs{};
    ClipMode clip_mode{};
    Precision precision{};
  } train;
  struct Eval {
    std::int64_t sequences{}, case_sequences{}, test_sequences{}, every{};
    std::vector<double> relative_lengths;
  } eval;
  std::int64_t seed{};

  /// What only one task or variant knows: a plain struct declared beside it, filled by its own keys.
  template <class S>
  S& of() {
    return *std::any_cast<S>(&own_.try_emplace(typeid(S), S{}).first->second);
  }
  template <class S>
  const S& of() const {
    return *std::any_cast<S>(&own_.at(typeid(S)));
  }

 private:
  std::map<std::type_index, std::any> own_;
};

}  // namespace headlab
