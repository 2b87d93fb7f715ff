#pragma once
#include <cstdint>

namespace headlab {

enum class Answer {
  across_tokens,  ///< one logit a token: the answer is a position
  first_token,    ///< a vector of logits from token 0
  every_token,    ///< a vector of logits from every token
};

/// What a task asks of a model.
struct Form {
  std::int64_t vocabulary;
  bool positions;  ///< their learned embedding is added
  Answer answer;
  std::int64_t classes;  ///< outputs of the readout, 1 for across_tokens
  bool of_positions;     ///< classes are positions: a sequence of n tokens uses the first n of them
};

}  // namespace headlab
