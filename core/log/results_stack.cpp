#include "core/log/results_stack.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

namespace headlab {
namespace {

using hdf5::Variable;

constexpr std::size_t nowhere = -1;

/// A scale of the whole, and where the positions of each part's own lie on it.
struct Union {
  Variable scale;
  std::vector<std::vector<std::size_t>> positions;  ///< by part
};

/// Where on `scale` the element p of `from` lies; it is added if it is new. Scales mostly begin alike.
template <class T>
std::size_t united(std::vector<T>& scale, const std::vector<T>& from, std::size_t p) {
  if (p < scale.size() && scale[p] == from[p]) return p;
  const auto found = std::find(scale.begin(), scale.end(), from[p]);
  if (found != scale.end()) return static_cast<std::size_t>(found - scale.begin());
  scale.push_back(from[p]);
  return scale.size() - 1;
}

[[noreturn]] void refuse(const Variable& v) {
  throw DamagedError(fmt::format("{}: of another type or shape in some trials than in others", v.name));
}

class Stack {
 public:
  Stack(std::vector<hdf5::File> parts, const std::vector<Place>& order)
      : parts_(std::move(parts)), order_(order) {
    for (const hdf5::File& part : parts_) rows_.emplace_back(part);
    for (std::size_t p = 0; p < parts_.size(); ++p)
      for (const Variable& v : parts_[p].variables)
        if (v.is_scale())
          unite(p, v);
        else
          names_[v.name].emplace_back(p, &v - parts_[p].variables.data());
  }

  hdf5::File whole() {
    fill_scales();
    hdf5::File file;
    for (auto& [name, u] : unions_) file.variables.push_back(u.scale);
    for (const auto& [name, sources] : names_)
      if (std::optional<Variable> v = variable(sources)) file.variables.push_back(std::move(*v));
    std::erase_if(file.variables, [](const Variable& v) { return hdf5::size(v.data) == 0; });
    return file;
  }

  hdf5::File as(const hdf5::File& outline) {
    for (const Variable& v : outline.variables)
      if (v.is_scale()) {
        unions_[v.name].positions.resize(parts_.size());
        unions_[v.name].scale = v;
      }
    for (auto& [name, u] : unions_)
      if (name != "trial")
        for (const Place& place : order_)
          if (rows_[place.part].find(name) != nullptr) add_values(u, place);
    hdf5::File file;
    for (const Variable& v : outline.variables) {
      const auto sources = names_.find(v.name);
      file.variables.push_back(v.is_scale() ? grown(v)
                                            : laid(v, sources == names_.end() ? Sources() : sources->second));
    }
    return file;
  }

 private:
  using Sources = std::vector<std::pair<std::size_t, std::ptrdiff_t>>;  // part, index of its variable

  void unite(std::size_t part, const Variable& scale) {
    Union& u = unions_[scale.name];
    u.positions.resize(parts_.size());
    u.positions[part].assign(hdf5::size(scale.data), nowhere);
    if (u.scale.name.empty()) {
      u.scale = {scale.name, {scale.name}, {}, scale.attributes};
      std::visit([&]<class T>(const std::vector<T>&) { u.scale.data = std::vector<T>(); }, scale.data);
    }
    if (u.scale.data.index() != scale.data.index()) refuse(scale);
  }
  void fill_scales() {
    std::vector<std::int32_t> numbers(order_.size());
    std::iota(numbers.begin(), numbers.end(), 0);
    for (auto& [name, u] : unions_)
      if (name == "trial")
        u.scale.data = numbers;
      else
        for (const Place& place : order_)
          if (rows_[place.part].find(name) != nullptr) add_values(u, place);
  }
  void add_values(Union& u, const Place& place) {
    for (const std::size_t p : rows_[place.part].places(u.scale.name, place.row)) {
      std::size_t& to = u.positions[place.part].at(p);
      if (to != nowhere) continue;
      const Variable& own = *rows_[place.part].find(u.scale.name);
      std::visit(
          [&]<class T>(std::vector<T>& scale) { to = united(scale, std::get<std::vector<T>>(own.data), p); },
          u.scale.data);
    }
  }

  /// A scale of the outline, which the rows must not have made longer.
  Variable grown(Variable scale) const {
    if (hdf5::size(unions_.at(scale.name).scale.data) != hdf5::size(scale.data)) refuse(scale);
    return scale;
  }
  Variable laid(Variable v, const Sources& sources) {
    v.shape[0] = order_.size();
    std::visit([&]<class T>(std::vector<T>& data) { data = gathered<T>(v, sources); }, v.data);
    return v;
  }

  std::optional<Variable> variable(const Sources& sources) {
    const Variable& last = at(sources.back());
    Variable v{last.name, last.dimensions, {}, last.attributes, {}, last.counts};
    for (const std::string& d : v.dimensions) v.shape.push_back(hdf5::size(unions_.at(d).scale.data));
    const bool any = std::visit(
        [&]<class T>(const std::vector<T>&) {
          std::vector<T> data = gathered<T>(v, sources);
          const auto holds = [none = hdf5::missing<T>(v.counts)](const T& x) { return x != none && x == x; };
          const bool some = std::any_of(data.begin(), data.end(), holds);
          v.data = std::move(data);
          return some;
        },
        last.data);
    if (!any && v.attributes.contains("column")) return {};
    return v;
  }

  /// All elements of v, and the parts' own given back.
  template <class T>
  std::vector<T> gathered(const Variable& v, const Sources& sources) {
    std::size_t width = 1;
    for (std::size_t a = 1; a < v.shape.size(); ++a) width *= v.shape[a];
    std::vector<T> data(order_.size() * width, hdf5::missing<T>(v.counts));
    std::vector<Variable*> by_part(parts_.size());
    std::vector<std::vector<std::size_t>> moves(parts_.size());
    for (const auto& source : sources) {
      Variable& from = at(source);
      if (from.data.index() != hdf5::Data(std::vector<T>()).index() || from.dimensions != v.dimensions)
        refuse(v);
      by_part[source.first] = &from;
      moves[source.first] = places_of(v, source.first);
    }
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const auto [part, row] = order_[i];
      if (by_part[part] == nullptr) continue;
      auto& from = std::get<std::vector<T>>(by_part[part]->data);
      const auto& to = moves[part];
      for (std::size_t k = 0; k < to.size(); ++k)
        if (to[k] != nowhere) data[i * width + to[k]] = std::move(from.at(row * to.size() + k));
    }
    for (const auto& source : sources) at(source).data = std::vector<T>();
    return data;
  }

  /// Where the elements of a part's row lie in a row of the whole.
  std::vector<std::size_t> places_of(const Variable& v, std::size_t part) const {
    std::vector<std::size_t> all{0};
    for (std::size_t a = 1; a < v.shape.size(); ++a) {
      const std::vector<std::size_t>& positions = unions_.at(v.dimensions[a]).positions.at(part);
      std::vector<std::size_t> next;
      next.reserve(all.size() * positions.size());
      for (const std::size_t o : all)
        for (const std::size_t p : positions)
          next.push_back(o == nowhere || p == nowhere ? nowhere : o * v.shape[a] + p);
      all = std::move(next);
    }
    return all;
  }

  Variable& at(const Sources::value_type& source) {
    return parts_[source.first].variables[static_cast<std::size_t>(source.second)];
  }

  std::vector<hdf5::File> parts_;
  const std::vector<Place>& order_;
  std::vector<Rows> rows_;
  std::map<std::string, Union> unions_;
  std::map<std::string, Sources> names_;
};

}  // namespace

hdf5::File stacked(std::vector<hdf5::File> parts, const std::vector<Place>& order) {
  return Stack(std::move(parts), order).whole();
}

hdf5::File stacked_as(const hdf5::File& outline, std::vector<hdf5::File> rows) {
  std::vector<Place> order;
  for (std::size_t part = 0; part < rows.size(); ++part) order.push_back({part, 0});
  return Stack(std::move(rows), order).as(outline);
}

}  // namespace headlab
