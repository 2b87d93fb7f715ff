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
  std::int64_t classes;      ///< of an answer, 1 for across_tokens
  bool of_positions;         ///< classes are positions: a sequence of n tokens uses the first n of them
  std::int64_t answers = 1;  ///< where a vector answers: softmaxes side by side, each of all classes
  std::int64_t values = 0;  ///< if there are any, token t is the pair (t / values, t % values), each embedded

  std::int64_t outputs() const { return classes * answers; }  ///< of the readout
};

}  // namespace headlab
