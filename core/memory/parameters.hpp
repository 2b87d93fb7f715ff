#pragma once
#include "core/base/error.hpp"
#include "core/memory/ledger.hpp"

namespace headlab {

struct Parameter : Region {};  ///< a weight is (in, out), a bias or gain (1, features)

struct Part {  ///< some of a parameter's columns under a name of their own
  std::string name;
  Index cols;
};

/// All trained numbers of a model. Four blocks of one layout, padding zero in each: Adam is one flat loop.
class Parameters {
 public:
  /// Finds the parameter or, for the first plan that asks, adds it: its value is NaN until initialised.
  Parameter get(const std::string& name, Index rows, Index cols) {
    return side_by_side({{name, cols}}, rows);
  }
  /// The same for parts that lie beside each other: one (rows, sum of cols) matrix, an entry for each part.
  Parameter side_by_side(const std::vector<Part>& parts, Index rows) {
    Parameter whole{{"", rows, 0, 0, 0}};
    for (const Part& part : parts) whole.cols += part.cols;
    if (const Region* first = find(parts.front().name)) {
      whole.pitch = first->pitch;
      whole.offset = first->offset;
    } else {
      const Index pitch = rows == 1 ? whole.cols : pitch_for(whole.cols);
      static_cast<Region&>(whole) = ledger_.book("", rows, whole.cols, pitch);
      for (Block* b : {&value, &gradient, &moment1, &moment2})
        b->resize(static_cast<std::size_t>(ledger_.floats()));
      poison(at(value, whole));
    }
    whole.name = parts.front().name;
    Index col = 0;
    for (const Part& part : parts) {
      expect_entry({part.name, rows, part.cols, whole.pitch, whole.offset + col});
      col += part.cols;
    }
    return whole;
  }
  const Region* find(const std::string& name) const {
    const auto found = std::ranges::find(entries_, name, &Region::name);
    return found == entries_.end() ? nullptr : &*found;
  }
  /// At the start of every step: backward only ever adds to a parameter's gradient.
  void zero_gradients() { std::ranges::fill(gradient, 0.F); }
  const std::vector<Region>& entries() const { return entries_; }

  Block value, gradient, moment1, moment2;

 private:
  void expect_entry(const Region& wanted) {
    const Region* there = find(wanted.name);
    if (there == nullptr) {
      entries_.push_back(wanted);
      return;
    }
    require(there->rows == wanted.rows && there->cols == wanted.cols, "{} is {} x {}, not {} x {}",
            wanted.name, there->rows, there->cols, wanted.rows, wanted.cols);
    require(there->offset == wanted.offset, "{} lies elsewhere", wanted.name);
  }
  Ledger ledger_;
  std::vector<Region> entries_;
};

}  // namespace headlab
