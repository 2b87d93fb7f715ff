#pragma once
#include <filesystem>

#include "core/train/tensors.hpp"

namespace headlab {

/// A model as it is kept: its parameters and the configuration that they are of.
struct StoredModel {
  std::string configuration;                   ///< TOML, every key
  std::map<std::string, std::string> remarks;  ///< further metadata: provenance.version, ...
  Tensors parameters;                          ///< as in memory: a weight is (in, out), a bias (1, features)
};

/// Safetensors (F32) as PyTorch lays parameters out: NAME.weight and NAME.content_bias are (out, in), a bias
/// or gain of one row has one axis (features), all else (embeddings, mixing) is as in memory. Metadata:
/// format "pt", headlab.format "headlab-model", headlab.format_version "1", headlab.configuration, remarks
/// under their own keys.
///
/// The configuration speaks of the model, parameters of each layer. If some layers are collaborative, it has
/// model.query_key = collaborative and their model.query_key_dim; layer.K is one of them if there is
/// layer.K.mixing (heads, D), and has layer.K.content_bias (dim, heads) and no query or key bias; the others
/// have layer.K.query.bias, and their own D_k is the width of layer.K.query.weight. See layer_widths().
void write_model(const std::filesystem::path& to, const StoredModel& model);
/// Elements may be F64, F16 or BF16, too. DamagedError for files that are not of that form.
StoredModel read_model(const std::filesystem::path& from);

/// 64 hexadecimal digits: SHA-256 of names, shapes and elements, whatever else a file says.
std::string digest(const Tensors& parameters);

/// What a layer's parameters say of its queries and keys.
struct QueryKeyWidth {
  bool collaborative;
  std::size_t dim;  ///< over all heads
};
/// By layer, 0, 1, ...; none for layers without queries. Nothing is checked but that they have two axes.
std::map<std::size_t, QueryKeyWidth> layer_widths(const Tensors& parameters);

}  // namespace headlab
