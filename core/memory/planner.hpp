#pragma once
// Memory of a chunk: layers book it while a model is planned, one Arena is then allocated, and a step
// allocates no tensor.
#include <cstdint>
#include <optional>
#include <span>

#include "core/memory/parameters.hpp"

namespace headlab {

/// Whole sequences that run forward and backward together; about 256 tokens stay in the cache.
struct Chunk {
  Index length, sequences;
  Index tokens() const { return length * sequences; }
};
enum class Axis { tokens, sequences };  ///< what the columns of a slot are; tokens sequence by sequence

struct Slot : Region {  ///< an activation, (features, tokens), with a gradient
  Index id{};
};
struct Kept : Region {};  ///< (rows, tokens), written by forward for backward; no gradient
struct Input : Slot {     ///< a slot as one of its consumers sees it
  Index use{};
};

/// Gradient rule. Of a slot's consumers the one whose backward runs first, which is the last to have called
/// use(), overwrites the gradient; the others add. A layer with several inputs calls use() in their order
/// and writes their gradients in reverse. A loss is a consumer like any other.
class Planner {
 public:
  Planner(Parameters& parameters, Chunk chunk) : parameters_(parameters), chunk_(chunk) {
    require(chunk.tokens() > 0, "a chunk of {} x {} tokens", chunk.sequences, chunk.length);
  }
  Parameter parameter(const std::string& name, Index rows, Index cols) {
    return parameters_.get(name, rows, cols);
  }
  /// Parts of one block in memory, (rows, the sum of all cols), each under its own name; gives the whole.
  Parameter side_by_side(const std::vector<Part>& parts, Index rows) {
    return parameters_.side_by_side(parts, rows);
  }
  Chunk chunk() const { return chunk_; }
  Index columns(Axis axis) const { return axis == Axis::tokens ? chunk_.tokens() : chunk_.sequences; }
  Axis axis(const Region& x) const { return x.cols == chunk_.tokens() ? Axis::tokens : Axis::sequences; }
  Slot slot(std::string name, Index features, Axis axis = Axis::tokens) {
    last_use_.push_back(-1);
    return {book(slots_, std::move(name), features, columns(axis)), std::ssize(last_use_) - 1};
  }
  Kept kept(std::string name, Index rows, Axis axis = Axis::tokens) {
    return {book(kepts_, std::move(name), rows, columns(axis))};
  }
  Kept kept(std::string name, Index rows, Index cols) {  ///< of any shape
    return {book(kepts_, std::move(name), rows, cols)};
  }
  Input use(const Slot& s) {
    last_use_[static_cast<std::size_t>(s.id)] = uses_;
    return {s, uses_++};
  }
  void scratch(Index floats) { scratch_ = std::max(scratch_, floats); }  ///< for one call, shared by all

 private:
  friend class Arena;
  /// Row kernels take tokens in blocks of up to 32 (two AVX-512 vectors), so a row has that much room.
  static Region book(Ledger& ledger, std::string name, Index rows, Index cols) {
    return ledger.book(std::move(name), rows, cols, pitch_for(round_up(cols, 32)));
  }
  Parameters& parameters_;
  Chunk chunk_;
  Ledger slots_, kepts_;
  std::vector<Index> last_use_;  // by slot
  Index uses_ = 0, scratch_ = 0;
};

/// Padding rule. Padding columns start as zero: in a value they stay finite, in a gradient zero, because
/// backward is linear in the gradient and treats columns alike. So sums over tokens need no mask.
class Arena {
 public:
  explicit Arena(const Planner& p)
      : value(poisoned(p.slots_)),
        gradient(poisoned(p.slots_)),
        kept(poisoned(p.kepts_)),
        scratch(static_cast<std::size_t>(p.scratch_), std::numeric_limits<float>::quiet_NaN()),
        last_use_(p.last_use_) {}
  bool adds(const Input& x) const { return last_use_[static_cast<std::size_t>(x.id)] != x.use; }

  Block value, gradient, kept, scratch;

 private:
  std::vector<Index> last_use_;
};

/// Which dropout masks hold in a training step: those of the sequences first, first + 1, ... of its batch.
struct Masks {
  std::uint64_t seed, step;
  Index first;
};

/// What a chunk is about, set before each forward. N: the chunk's length, B: its sequences.
struct Work {
  std::span<const std::int32_t> tokens;  ///< (B, N)
  std::span<const std::int32_t> labels;  ///< one an answer: (B), or (B, N) where every token answers
  std::optional<Masks> masks{};          ///< without them dropout is off
  float answer_weight = 1;               ///< of an answer's loss in the gradient: 1 / (answers of the batch)
  double loss = 0;                       ///< out: the sum of all answers' losses
  std::vector<std::int32_t> answers{};   ///< out: the first argmax of each answer's logits
};

/// What a layer runs on. Pointers are taken from it in every call and never kept.
struct Context {
  Parameters& parameters;
  Arena& arena;
  Work& work;

  Matrix value(const Parameter& p) const { return at(parameters.value, p); }
  Matrix grad(const Parameter& p) const { return at(parameters.gradient, p); }
  Matrix value(const Slot& s) const { return at(arena.value, s); }
  Matrix grad(const Slot& s) const { return at(arena.gradient, s); }
  Matrix value(const Kept& k) const { return at(arena.kept, k); }
};

}  // namespace headlab
