#include "core/collaborative/conversion.hpp"

#include <atomic>
#include <cmath>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>

#include "core/attention/attention.hpp"
#include "core/attention/shared_heads.hpp"
#include "core/base/error.hpp"
#include "core/collaborative/inputs.hpp"

namespace headlab::collaborative {
namespace {

std::string named(std::size_t layer, const char* what) { return fmt::format("layer.{}.{}", layer, what); }

const Array<float>& parameter(const Tensors& all, const std::string& name) {
  const auto found = all.find(name);
  require(found != all.end(), "{} is not there", name);
  require(found->second.shape.size() == 2, "{} has {} axes, not 2", name, found->second.shape.size());
  return found->second;
}

template <class To, class From>
Array<To> as(const Array<From>& a, double factor = 1) {
  Array<To> b{a.shape, {}};
  for (const From x : a.elements) b.elements.push_back(static_cast<To>(factor * static_cast<double>(x)));
  return b;
}

/// (d, H): W_K^(i) b_Q^(i)
Array<float> content_bias(const HeadWeights& w, const Array<float>& query_bias, double factor) {
  const std::size_t rows = w.key.shape[0], features = w.key.shape[1], width = features / w.heads;
  require(query_bias.elements.size() == features, "a query bias of {} elements for {} features",
          query_bias.elements.size(), features);
  Array<float> v{{rows, w.heads}, std::vector<float>(rows * w.heads)};
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t i = 0; i < w.heads; ++i) {
      double sum = 0;
      for (std::size_t f = i * width; f < (i + 1) * width; ++f)
        sum += w.key.elements[r * features + f] * static_cast<double>(query_bias.elements[f]);
      v.elements[r * w.heads + i] = static_cast<float>(factor * sum);
    }
  return v;
}

std::size_t query_key_parameters(QueryKey how, std::size_t dim, std::size_t heads,
                                 std::size_t query_key_dim) {
  Config::Model m;
  m.query_key = how;
  m.dim = std::int64_t(dim), m.heads = std::int64_t(heads), m.query_key_dim = std::int64_t(query_key_dim);
  return static_cast<std::size_t>(query_key_widths(m).parameters);
}

bool shares(const Tensors& all, std::size_t layer) { return all.contains(named(layer, "mixing")); }

Factors own_factors(const Tensors& all, std::size_t layer) {
  return {as<double>(parameter(all, named(layer, "query.weight"))),
          as<double>(parameter(all, named(layer, "key.weight"))),
          as<double>(parameter(all, named(layer, "mixing")))};
}

/// With columns of zeros behind its own.
Array<double> padded(const Array<double>& a, std::size_t cols) {
  Array<double> wide{{a.shape[0], cols}, std::vector<double>(a.shape[0] * cols)};
  for (std::size_t r = 0; r < a.shape[0]; ++r)
    std::copy_n(a.elements.data() + r * a.shape[1], a.shape[1], wide.elements.data() + r * cols);
  return wide;
}

/// Features that T needs at most: those shared, or D_k.
std::size_t features_of(const Tensors& all, std::size_t layer) {
  return parameter(all, named(layer, "query.weight")).shape[1];
}

/// Heads that share R features already need no search for R or more.
Decomposition decomposed(const Tensors& all, std::size_t layer, const HeadWeights& weights,
                         const Settings& settings) {
  if (!shares(all, layer) || settings.dim < features_of(all, layer)) return decompose(weights, settings);
  const Factors f = own_factors(all, layer);
  Decomposition same;
  same.factors = {padded(f.query, settings.dim), padded(f.key, settings.dim), padded(f.mixing, settings.dim)};
  return same;
}

struct Layer {
  Tensors parameters;  ///< the new ones
  LayerReport report;
};

Layer shared_layer(const Tensors& all, std::size_t layer, std::size_t heads, const Conversion& c) {
  const HeadWeights weights = head_weights(all, layer, heads);
  Settings settings = c.settings;
  settings.name = fmt::format("layer.{}", layer);
  if (!c.whitened_by.empty()) settings.metric = second_moments(c.whitened_by.at(layer));
  const ScoreScale& scale = c.scales.at(layer);
  LayerReport r{layer, features_of(all, layer), settings.dim, 0, 0, decomposed(all, layer, weights, settings),
                0};
  const Factors f = std::exchange(r.decomposition.factors, {});
  const std::size_t d = weights.query.shape[0];
  const bool shared = shares(all, layer);
  r.parameters_before =
      query_key_parameters(shared ? QueryKey::collaborative : QueryKey::concatenated, d, heads, r.features);
  r.parameters_after = query_key_parameters(QueryKey::collaborative, d, heads, r.dim);
  r.score_difference = c.seen.empty() ? std::numeric_limits<double>::quiet_NaN()
                                      : scale.before * largest_score_difference(weights, f, c.seen.at(layer));
  return {{{named(layer, "query.weight"), as<float>(f.query)},
           {named(layer, "key.weight"), as<float>(f.key)},
           {named(layer, "mixing"), as<float>(f.mixing, scale.ratio())},
           {named(layer, "content_bias"),
            shared ? parameter(all, named(layer, "content_bias"))
                   : content_bias(weights, parameter(all, named(layer, "query.bias")), scale.ratio())}},
          std::move(r)};
}

/// Calls work(0 .. count - 1), each once, by so many threads; the first exception is thrown on.
void in_parallel(std::size_t count, std::size_t threads, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  std::exception_ptr fault;
  std::mutex guard;
  const auto take = [&] {
    for (std::size_t i = next++; i < count; i = next++) try {
        work(i);
      } catch (...) {
        const std::scoped_lock lock(guard);
        fault = fault ? fault : std::current_exception();
        next = count;
      }
  };
  {
    std::vector<std::jthread> crew;
    for (std::size_t k = 0; k < std::min(threads, count); ++k) crew.emplace_back(take);
  }
  if (fault) std::rethrow_exception(fault);
}

}  // namespace

HeadWeights heads_of(const Factors& f) {
  const std::size_t rows = f.query.shape[0], R = f.query.shape[1], heads = f.mixing.shape[0];
  HeadWeights w{heads, {{rows, heads * R}, {}}, {{rows, heads * R}, {}}};
  for (std::size_t d = 0; d < rows; ++d)
    for (std::size_t i = 0; i < heads; ++i)
      for (std::size_t r = 0; r < R; ++r) {
        w.query.elements.push_back(f.query.elements[d * R + r] * f.mixing.elements[i * R + r]);
        w.key.elements.push_back(f.key.elements[d * R + r]);
      }
  return w;
}

HeadWeights head_weights(const Tensors& parameters, std::size_t layer, std::size_t heads) {
  if (shares(parameters, layer)) return heads_of(own_factors(parameters, layer));
  return {heads, as<double>(parameter(parameters, named(layer, "query.weight"))),
          as<double>(parameter(parameters, named(layer, "key.weight")))};
}

std::vector<ScoreScale> score_scales(const Config& config) {
  std::vector<ScoreScale> scales;
  for (std::int64_t k = 0; k < config.model.layers; ++k) {
    Config::Model layer = of_layer(config, k).model;
    const double before = headlab::score_scale(layer);
    layer.query_key = QueryKey::collaborative;
    const bool has_none = layer.architecture == Architecture::nap;
    scales.push_back(has_none ? ScoreScale{} : ScoreScale{before, headlab::score_scale(layer)});
  }
  return scales;
}

Converted converted(const Tensors& parameters, std::size_t heads, const Conversion& c) {
  std::vector<Layer> layers(c.layers.size());
  std::mutex guard;
  std::size_t ready = 0;
  in_parallel(layers.size(), c.threads, [&](std::size_t n) {
    layers[n] = shared_layer(parameters, c.layers[n], heads, c);
    const std::scoped_lock lock(guard);
    c.ready(++ready);
  });
  Converted all{parameters, {}};
  for (Layer& layer : layers) {
    for (const char* bias : {"query.bias", "key.bias"}) all.parameters.erase(named(layer.report.layer, bias));
    for (auto& [name, tensor] : layer.parameters) all.parameters[name] = std::move(tensor);
    all.reports.push_back(std::move(layer.report));
  }
  return all;
}

}  // namespace headlab::collaborative
