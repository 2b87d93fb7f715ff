#pragma once
#include "core/memory/matrix.hpp"

namespace headlab::kernels {

struct Peak {
  float maximum;
  double sum;
};

/// The exponentials of softmax cross-entropy; a NaN among the logits makes the sum NaN.
struct CrossEntropy {
  /// Of n logits side by side: their maximum, e[k] = exp(logits[k] - maximum) and the sum of e, in
  /// double: a readout's bias sees what is left of sum(softmax) - 1.
  Peak (*over_columns)(const float* logits, float* e, Index n);
  /// The same over the rows of each column. statistics: (4, columns): maximum, sum of exponentials, first row
  /// of the maximum; the fourth row is left alone.
  void (*over_rows)(Matrix logits, Matrix statistics);
  /// gradient = weight exp(logits - maximum) share, share being the fourth row of the statistics; or adds it.
  void (*over_rows_backward)(Matrix logits, Matrix statistics, Matrix gradient, float weight, bool add);
};
namespace v3 {
extern const CrossEntropy cross_entropy;
}
namespace v4 {
extern const CrossEntropy cross_entropy;
}
const CrossEntropy& cross_entropy();  ///< that of instruction_set()

}  // namespace headlab::kernels
