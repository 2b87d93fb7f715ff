#pragma once
#include "core/collaborative/problem.hpp"

namespace headlab::collaborative {

/// One factor, W c, with all that updates of the others read.
struct Side {
  Dense coefficients;  ///< c (D_k, R)
  Dense projection;    ///< W^T C W c (D_k, R)
  Dense gram;          ///< (R, R)
};
struct State {
  Side query, key;
  Dense mixing;  ///< M (H, R)
};

/// From coefficients, so that the rest fits them.
Side side(const Dense& weights_gram, Dense coefficients);

/// projection * (E^T M): rows of head i times m_i.
Dense mixed(const Problem& p, const Dense& projection, const Dense& mixing);
/// Sums over the rows of each head.
Dense head_sums(const Problem& p, const Dense& rows);

/// Updates queries, keys and mixing, each the least squares solution for the others as they are, and balances
/// the components; gives the relative error. Of `state`, keys and mixing are read.
double sweep(const Problem& p, State& state);

/// Sweeps until the error changes by less than the tolerance, at most `sweeps`; errors are appended.
void descend(const Problem& p, State& state, int sweeps, double tolerance, bool accelerated,
             std::vector<double>& errors);

/// Gives the three columns of each component one norm.
void balance(State& state);

double smallest_congruence(const State& state);

}  // namespace headlab::collaborative
