#pragma once
#include <functional>
#include <map>
#include <optional>

#include "core/config/config.hpp"
#include "core/model/plan.hpp"
#include "core/tasks/task.hpp"

namespace headlab {

/// What a model says of labelled sequences.
struct Measured {
  double loss{}, accuracy{};          ///< means over answers: mean cross-entropy, share of right ones
  std::vector<std::int32_t> answers;  ///< as labels: (B), or (B, N) where every token answers
};

/// Sequences in a chunk: about 256 tokens, whose activations stay in the cache.
Index chunk_size(Index length);

/// A model with its parameters, made for chunks of whole sequences of about 256 tokens: the sizes follow from
/// the length and the number of sequences alone, so that results depend on nothing else.
class Learner {
 public:
  explicit Learner(const Config& config);

  /// Training batch s = 0, 1, ..., until the next call.
  const Sequences& batch(std::int64_t s);
  /// Forward and backward, with the dropout masks of step s: leaves the gradient of the mean loss and the L2
  /// term in parameters(). `stop` is asked before every chunk; true leaves the work undone and the result
  /// empty.
  std::optional<Measured> differentiate(std::int64_t s, const Sequences& batch,
                                        const std::function<bool()>& stop);
  /// Clips and makes Adam's update of step s with that step's learning rate.
  void update(std::int64_t s, double gradient_norm);
  /// Forward only, without dropout, as in logits().
  std::optional<Measured> evaluate(const Sequences& sequences, const std::function<bool()>& stop);
  /// The same chunk by chunk, each followed by then(plan).
  void each_chunk(const Sequences& sequences, const std::function<void(Plan&)>& then);
  /// (B, N), (B, classes) or (B, N, classes), see Answer; classes that are positions: the first N; of several
  /// answers (..., answers, classes).
  std::vector<float> logits(const Sequences& sequences);

  /// What runs chunks of this size; made when it is first asked for.
  Plan& plan(Chunk chunk);
  /// Gives the memory of all chunks back; what comes next plans anew and starts from NaN.
  void forget_plans() { plans_.clear(); }

  Parameters& parameters() { return parameters_; }
  const Form& form() const { return form_; }

 private:
  using EachChunk = std::function<void(Plan&)>;
  bool forward(const Sequences& sequences, std::optional<Masks> masks, const std::function<bool()>& stop,
               const EachChunk& then);
  std::optional<Measured> measure(const Sequences& sequences, const std::optional<Masks>& masks,
                                  const std::function<bool()>& stop, const EachChunk& then);

  Config config_;
  Form form_;
  Build build_;
  Parameters parameters_;
  Sequences batch_;
  std::map<std::pair<Index, Index>, Plan> plans_;  // by length and sequences
};

}  // namespace headlab
