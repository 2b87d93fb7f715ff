#pragma once
#include "core/config/config.hpp"
#include "core/config/form.hpp"
#include "core/model/plan.hpp"

namespace headlab {

/// The model of a configuration as a Build for plans of any chunk size, its loss included; the plan's inputs
/// are what each layer sees, (d, tokens), its output the logits: (1, tokens), (classes, sequences) or
/// (classes, tokens), see Answer.
///
/// arXiv 2005.09561 §3 and its published code. With LN layer normalisation, o what the aggregation gives
/// (concatenated heads or the pooled vector) and x the embeddings, a layer is
///   norm_placement mte:  h = GELU(LN_a(o)),  e = x + LN_b(h W_mix + b_mix),
///                        r = GELU(LN_c(e W_1 + b_1)) W_2 + b_2,  x' = e + LN_d(r)
///   norm_placement bert: h = o,              e = LN(x + h W_mix + b_mix),
///                        r = GELU(e W_1 + b_1) W_2 + b_2,        x' = LN(e + r)
/// where attention_gelu says whether h has its GELU, non has no LN_a, and pooling has no h: e = x + LN_b(o)
/// or LN(x + o). In training model.dropout is on the embeddings (positions added), the weights of attention
/// and what is added to x and e (mte: after LN_b and LN_d), where of a pooled vector by one mask for all
/// tokens. ConfigError, with the layer's name, for what cannot be built.
Build model(const Config& config, const Form& form);

}  // namespace headlab
