#pragma once
// Memory of a chunk: layers book it while a model is planned, one Arena is then allocated, and a step
// allocates no tensor.
#include <cstdint>
#include <optional>
#include <span>

#include "core/memory/chunk.hpp"
#include "core/memory/parameters.hpp"

namespace headlab {

enum class Axis { tokens, sequences };  ///< what the columns of a slot are; tokens sequence by sequence

struct Slot : Region {  ///< an activation, (features, tokens), with a gradient
  Index id{};
  Region gradient{};       ///< as the slot, or of a tile's columns
  bool of_a_tile = false;  ///< whose gradient lives for one tile and in memory that runs of layers share
};
struct Kept : Region {};  ///< (rows, tokens), written by forward for backward; no gradient
struct Input : Slot {     ///< a slot as one of its consumers sees it
  Index use{};
};

/// Gradient rule. Of a slot's consumers the one whose backward runs first, which is the last to have called
/// use(), overwrites the gradient; the others add. A layer with several inputs calls use() in their order
/// and writes their gradients in reverse. A loss is a consumer like any other.
///
/// A run is as many neighbouring layers as work token by token. Gradients that only one run's layers see need
/// no more than a tile's columns; which they are is known after a first planning, from its runs().
class Planner {
 public:
  Planner(Parameters& parameters, Chunk chunk, std::vector<Index> runs = {})
      : parameters_(parameters), chunk_(chunk), planned_runs_(std::move(runs)) {
    require(chunk.tokens() > 0, "a chunk of {} x {} tokens", chunk.sequences, chunk.length);
  }
  void begin_layer() { layer_ = std::ssize(run_of_layer_); }
  void end_layer(bool token_wise) {
    const bool same = token_wise && !run_of_layer_.empty() && run_of_layer_.back() == last_run_;
    run_of_layer_.push_back(token_wise ? last_run_ += !same : no_run);
    layer_ = outside;
  }
  /// By slot: the run that all layers which make or use it belong to, or no_run.
  std::vector<Index> runs() const {
    const auto run = [&](Index layer) {
      return layer == outside ? no_run : run_of_layer_[static_cast<std::size_t>(layer)];
    };
    std::vector<Index> runs;
    for (std::size_t s = 0; s < maker_.size(); ++s)
      runs.push_back(
          users_[s].empty() ||
                  std::ranges::any_of(users_[s], [&](Index user) { return run(user) != run(maker_[s]); })
              ? no_run
              : run(maker_[s]));
    return runs;
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
  Slot slot(const std::string& name, Index features, Axis axis = Axis::tokens) {
    const Index id = std::ssize(last_use_), run = planned_run(id);
    last_use_.push_back(-1);
    maker_.push_back(layer_);
    users_.emplace_back();
    if (run != no_run && run != tile_run_) {
      tile_run_ = run;
      tile_gradients_.restart();
    }
    const Region gradient = run == no_run ? book(gradients_, name, features, columns(axis))
                                          : book(tile_gradients_, name, features, chunk_.tile());
    return {book(slots_, name, features, columns(axis)), id, gradient, run != no_run};
  }
  Kept kept(std::string name, Index rows, Axis axis = Axis::tokens) {
    return {book(kepts_, std::move(name), rows, columns(axis))};
  }
  Kept kept(std::string name, Index rows, Index cols) {  ///< of any shape
    return {book(kepts_, std::move(name), rows, cols)};
  }
  Input use(const Slot& s) {
    last_use_[static_cast<std::size_t>(s.id)] = uses_;
    users_[static_cast<std::size_t>(s.id)].push_back(layer_);
    return {s, uses_++};
  }
  void scratch(Index floats) { scratch_ = std::max(scratch_, floats); }  ///< for one call, shared by all

 private:
  friend class Arena;
  /// Row kernels take tokens in blocks of up to 32 (two AVX-512 vectors), so a row has that much room.
  static Region book(Ledger& ledger, std::string name, Index rows, Index cols) {
    return ledger.book(std::move(name), rows, cols, pitch_for(round_up(cols, 32)));
  }
  static constexpr Index outside = -1, no_run = -1;
  Index planned_run(Index slot) const {
    return planned_runs_.empty() ? no_run : planned_runs_.at(static_cast<std::size_t>(slot));
  }
  Parameters& parameters_;
  Chunk chunk_;
  std::vector<Index> planned_runs_;  // by slot
  Ledger slots_, gradients_, tile_gradients_, kepts_;
  Index layer_ = outside, last_run_ = no_run, tile_run_ = no_run;
  std::vector<Index> run_of_layer_;
  std::vector<Index> last_use_, maker_;    // by slot; makers and users are layers
  std::vector<std::vector<Index>> users_;  // by slot
  Index uses_ = 0, scratch_ = 0;
};

/// Padding rule. Padding columns start as zero: in a value they stay finite, in a gradient zero, because
/// backward is linear in the gradient and treats columns alike. So sums over tokens need no mask.
class Arena {
 public:
  explicit Arena(const Planner& p)
      : value(poisoned(p.slots_)),
        gradient(poisoned(p.gradients_)),
        tile_gradient(poisoned(p.tile_gradients_)),
        kept(poisoned(p.kepts_)),
        scratch(static_cast<std::size_t>(p.scratch_), std::numeric_limits<float>::quiet_NaN()),
        chunk(p.chunk_),
        tile_gradients_(p.tile_gradients_.regions()),
        last_use_(p.last_use_) {}
  bool adds(const Input& x) const { return last_use_[static_cast<std::size_t>(x.id)] != x.use; }

  /// Before a tile's backward, as the tile before it may have been larger.
  void clear_padding(const Tile& tile) {
    const Index end = round_up(tile.count, 32);
    if (end == tile.count) return;
    for (const Region& r : tile_gradients_) {
      const Matrix m = at(tile_gradient, r);
      for (Index row = 0; row < m.rows; ++row) std::fill(m.row(row) + tile.count, m.row(row) + end, 0.F);
    }
  }

  Block value, gradient, tile_gradient, kept, scratch;
  const Chunk chunk;

 private:
  std::vector<Region> tile_gradients_;
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

/// What a layer runs on: the chunk, or a tile, which has its columns of all slots and kepts. Pointers are
/// taken from it in every call and never kept.
struct Context {
  Parameters& parameters;
  Arena& arena;
  Work& work;
  std::optional<Tile> tile{};  ///< without it the whole chunk

  Context whole() const { return {parameters, arena, work}; }
  Index first() const { return tile ? tile->first : 0; }

  Matrix value(const Parameter& p) const { return at(parameters.value, p); }
  Matrix grad(const Parameter& p) const { return at(parameters.gradient, p); }
  Matrix value(const Slot& s) const { return part(at(arena.value, s)); }
  Matrix grad(const Slot& s) const {
    if (!s.of_a_tile) return part(at(arena.gradient, s.gradient));
    return columns(at(arena.tile_gradient, s.gradient), 0, tile ? tile->count : s.gradient.cols);
  }
  Matrix value(const Kept& k) const { return part(at(arena.kept, k)); }

 private:
  Matrix part(const Matrix& m) const { return tile ? columns(m, tile->first, tile->count) : m; }
};

/// Runs over the tiles of a chunk in their order; of one tile over the whole chunk.
template <class Step>
void each_tile(const Context& whole, const Step& step) {
  const Chunk chunk = whole.arena.chunk;
  if (chunk.is_one_tile()) return step(whole);
  Context c = whole;
  for (Index first = 0; first < chunk.tokens(); first += chunk.tile()) {
    c.tile = {first, std::min(chunk.tile(), chunk.tokens() - first)};
    step(c);
  }
}

}  // namespace headlab
