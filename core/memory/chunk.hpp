#pragma once
#include "core/memory/ledger.hpp"

namespace headlab {

/// Columns of a chunk; the first is a multiple of 32, so that rows begin on a line.
struct Tile {
  Index first, count;
};

/// Whole sequences that run forward and backward together; about 256 tokens stay in the cache. Of a chunk
/// with more tokens, layers that work token by token see tiles: no more than needed, alike but for the last.
struct Chunk {
  Index length, sequences;
  Index most = 256;  ///< tokens of a tile
  Index tokens() const { return length * sequences; }
  bool is_one_tile() const { return tokens() <= most; }
  /// A multiple of 32, except where there is but one.
  Index tile() const {
    const Index tiles = (tokens() + most - 1) / most;
    return is_one_tile() ? tokens() : round_up((tokens() + tiles - 1) / tiles, 32);
  }
  Index last_tile() const { return (tokens() - 1) % tile() + 1; }
};

}  // namespace headlab
