#pragma once
// Whole models as arXiv 2005.09561 writes them, token by token, for any scalar; i: query, j: key, h: head.
#include <numbers>

#include "core/config/config.hpp"
#include "core/config/form.hpp"
#include "tests/definitions/dropout.hpp"

namespace headlab::test {

template <class T>
class ModelDefinition {
 public:
  using Row = std::vector<T>;
  using Rows = std::vector<Row>;

  ModelDefinition(const Config& config, const Form& form, const Tables<T>& parameters)
      : model_(config.model), form_(form), parameters_(parameters) {}

  /// One row an answer: the logits of a sequence, masks.first of a batch if there is dropout.
  Rows logits(std::span<const std::int32_t> tokens, const std::optional<Masks>& masks = {}) {
    masks_ = masks;
    Rows x;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      x.push_back(form_.values > 0 ? pair(tokens[i]) : row("embedding.token", tokens[i]));
      if (form_.positions) x.back() = sum(x.back(), row("embedding.position", Index(i)));
    }
    x = dropped("embedding.dropout", x);
    for (Index k = 0; k < model_.layers; ++k) x = layer("layer." + std::to_string(k) + ".", x);
    if (form_.answer == Answer::first_token) x.resize(1);
    Rows out;
    for (const Row& token : x) {
      const Row all = dense("readout", token);
      const auto classes = all.size() / std::size_t(form_.answers);
      for (auto first = all.begin(); first != all.end(); first += std::ptrdiff_t(classes))
        out.emplace_back(first, first + std::ptrdiff_t(classes));
    }
    if (form_.answer == Answer::across_tokens) return {column(out)};
    if (form_.of_positions)
      for (Row& answer : out) answer.resize(tokens.size());
    return out;
  }

 private:
  bool is(Architecture a) const { return model_.architecture == a; }
  bool mte_norms() const { return model_.norm_placement == NormPlacement::mte; }

  /// Of a model that was converted, some layers.
  bool shared(const std::string& layer) const { return parameters_.contains(layer + "mixing"); }

  Rows layer(const std::string& name, const Rows& x) const {
    const bool pools = is(Architecture::sum) || is(Architecture::max);
    Rows mix, output;
    for (const Row& o : pools ? pooled(x) : attention(name, x)) mix.push_back(mixed(name, o));
    const Rows e = joined(name + "mix", x, mix, pools);
    for (const Row& token : e) {
      Row hidden = dense(name + "hidden", token);
      if (mte_norms()) hidden = norm(name + "hidden_norm", hidden);
      output.push_back(dense(name + "output", gelu(hidden)));
    }
    return joined(name + "output", e, output);
  }
  Rows joined(const std::string& module, const Rows& x, Rows u, bool shared = false) const {
    const std::string own = module + "_norm";
    if (mte_norms())
      for (Row& token : u) token = norm(own, token);
    u = dropped(module + "_dropout", u, shared);
    for (std::size_t i = 0; i < x.size(); ++i)
      u[i] = mte_norms() ? sum(x[i], u[i]) : norm(own, sum(x[i], u[i]));
    return u;
  }
  double factor(const std::string& site, std::size_t length, std::size_t row, std::size_t token,
                bool shared = false) const {
    if (!masks_ || model_.dropout == 0) return 1;
    return Site{site, model_.dropout, Index(length), shared}.factor(*masks_, masks_->first, Index(row),
                                                                    Index(token));
  }
  Rows dropped(const std::string& site, Rows u, bool shared = false) const {
    for (std::size_t i = 0; i < u.size(); ++i)
      for (std::size_t f = 0; f < u[i].size(); ++f) u[i][f] *= factor(site, u.size(), f, i, shared);
    return u;
  }
  Row mixed(const std::string& name, Row o) const {
    if (is(Architecture::sum) || is(Architecture::max)) return o;
    if (mte_norms() && !is(Architecture::non)) o = norm(name + "attention_norm", o);
    return dense(name + "mix", model_.attention_gelu ? gelu(o) : o);
  }
  Rows pooled(const Rows& x) const {
    Row all = x[0];
    for (std::size_t j = 1; j < x.size(); ++j)
      for (std::size_t f = 0; f < all.size(); ++f)
        if (is(Architecture::sum))
          all[f] += x[j][f];
        else if (std::real(x[j][f]) > std::real(all[f]))
          all[f] = x[j][f];
    return Rows(x.size(), all);
  }
  /// What a query and a key of head h have in common, scale and normalisation apart. arXiv:2006.16362 3.3
  T product(const std::string& name, std::size_t h, const Row& q, const Row& k, const Row& key_token) const {
    T l = 0;
    if (shared(name)) {
      for (std::size_t r = 0; r < q.size(); ++r) l += at(name + "mixing", Index(h), Index(r)) * q[r] * k[r];
      for (std::size_t f = 0; f < key_token.size(); ++f)
        l += at(name + "content_bias", Index(f), Index(h)) * key_token[f];
      return l;
    }
    const std::size_t width = q.size() / std::size_t(model_.heads), first = h * width;
    const std::size_t key = model_.query_key == QueryKey::multi_query ? 0 : first;
    for (std::size_t c = 0; c < width; ++c) l += q[first + c] * k[key + c];
    return l;
  }
  Rows attention(const std::string& name, const Rows& x) const {
    Rows q, k, v, out(x.size(), Row(x[0].size()));
    for (const Row& token : x) {
      q.push_back(shared(name) ? linear(name + "query", token) : dense(name + "query", token));
      k.push_back(shared(name) ? linear(name + "key", token) : dense(name + "key", token));
      v.push_back(dense(name + "value", token));
    }
    const std::string site = name + (is(Architecture::nap) ? "nap" : "attention") + ".dropout";
    const std::size_t heads = std::size_t(model_.heads), d = v[0].size() / heads;
    const double width = double(shared(name) ? v[0].size() : q[0].size()) / double(heads);
    for (std::size_t h = 0; h < heads; ++h)
      for (std::size_t i = 0; i < x.size(); ++i) {
        Row scores(x.size());
        for (std::size_t j = 0; j < x.size(); ++j) scores[j] = product(name, h, q[i], k[j], x[j]);
        Row weights = weights_of(name, scores, h, width);
        for (std::size_t j = 0; j < x.size(); ++j) {
          weights[j] *= factor(site, x.size(), h * x.size() + j, i);
          for (std::size_t c = h * d; c < (h + 1) * d; ++c) out[i][c] += weights[j] * v[j][c];
        }
      }
    return out;
  }
  Row weights_of(const std::string& name, Row l, std::size_t head, double width) const {
    const double n = double(l.size());
    if (is(Architecture::nap)) {
      T mean = 0, var = 0;
      for (const T& s : l) mean += s / n;
      for (const T& s : l) var += (s - mean) * (s - mean) / n;
      const T gain = at(name + "nap.gain", 0, Index(head)), bias = at(name + "nap.bias", 0, Index(head));
      for (T& s : l) s = gain * (s - mean) / (std::sqrt(var) + model_.attention_epsilon) + bias;
      return l;
    }
    T total = 0;
    for (T& s : l) {
      s /= std::sqrt(width);
      if (!is(Architecture::non)) s = std::exp(s);
      total += s;
    }
    for (T& s : l) s /= is(Architecture::non) ? T(std::sqrt(n)) : total;
    return l;
  }

  Row pair(std::int32_t token) const {
    return sum(row("embedding.key", token / form_.values), row("embedding.value", token % form_.values));
  }
  const T& at(const std::string& name, Index r, Index c) const { return parameters_.at(name)(r, c); }
  Row row(const std::string& name, Index r) const {
    Row out;
    for (Index c = 0; c < parameters_.at(name).cols; ++c) out.push_back(at(name, r, c));
    return out;
  }
  Row linear(const std::string& name, const Row& x) const {
    Row y(std::size_t(parameters_.at(name + ".weight").cols));
    for (std::size_t i = 0; i < x.size(); ++i)
      for (std::size_t o = 0; o < y.size(); ++o) y[o] += x[i] * at(name + ".weight", Index(i), Index(o));
    return y;
  }
  Row dense(const std::string& name, const Row& x) const {
    return sum(linear(name, x), row(name + ".bias", 0));
  }
  Row norm(const std::string& name, Row x) const {
    T mean = 0, var = 0;
    for (const T& a : x) mean += a / double(x.size());
    for (const T& a : x) var += (a - mean) * (a - mean) / double(x.size());
    for (std::size_t f = 0; f < x.size(); ++f)
      x[f] = at(name + ".gain", 0, Index(f)) * (x[f] - mean) / std::sqrt(var + model_.norm_epsilon) +
             at(name + ".bias", 0, Index(f));
    return x;
  }
  static Row gelu(Row x) {
    for (T& z : x)
      z = 0.5 * z * (1.0 + std::tanh(std::sqrt(2 / std::numbers::pi) * (z + 0.044715 * z * z * z)));
    return x;
  }
  static Row sum(Row a, const Row& b) {
    for (std::size_t f = 0; f < a.size(); ++f) a[f] += b[f];
    return a;
  }
  static Row column(const Rows& rows) {
    Row out;
    for (const Row& r : rows) out.push_back(r.at(0));
    return out;
  }

  const Config::Model& model_;
  const Form& form_;
  const Tables<T>& parameters_;
  std::optional<Masks> masks_;
};

/// -log softmax(logits)[label]
template <class T>
T cross_entropy(const std::vector<T>& logits, std::int32_t label) {
  T total = 0;
  for (const T& l : logits) total += std::exp(l);
  return std::log(total) - logits.at(std::size_t(label));
}

}  // namespace headlab::test
