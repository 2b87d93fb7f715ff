#include <fmt/format.h>

#include <algorithm>

#include "core/log/hdf5_handle.hpp"

namespace headlab::hdf5 {
namespace {

/// Calls read(type in memory, where to).
template <class T, class Read>
Data elements(hid_t type, std::size_t n, const Read& read) {
  std::vector<T> v(n);
  checked(read(type, v.data()));
  return v;
}
template <class Read>
Data texts(hid_t type, std::size_t n, const Read& read) {
  std::vector<char*> pointers(n);
  checked(read(type, pointers.data()));
  std::vector<std::string> v(n);
  std::transform(pointers.begin(), pointers.end(), v.begin(), [](const char* p) { return p ? p : ""; });
  for (char* p : pointers) checked(H5free_memory(p));
  return v;
}
/// Nothing of a type that we do not write.
template <class Read>
Data elements(const Handle& type, std::size_t n, const Read& read) {
  std::size_t bytes = H5Tget_size(type);
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      if (checked(H5Tget_sign(type)) == H5T_SGN_NONE) ++bytes;  // into what holds all of them
      if (bytes == 1) return elements<std::int8_t>(H5T_NATIVE_INT8, n, read);
      if (bytes <= 4) return elements<std::int32_t>(H5T_NATIVE_INT32, n, read);
      return elements<std::int64_t>(H5T_NATIVE_INT64, n, read);
    case H5T_FLOAT:
      if (bytes <= 4) return elements<float>(H5T_NATIVE_FLOAT, n, read);
      return elements<double>(H5T_NATIVE_DOUBLE, n, read);
    case H5T_STRING:
      if (checked(H5Tis_variable_str(type))) return texts(type, n, read);
      return {};
    default:
      return {};
  }
}

std::vector<std::size_t> shape_of(const Handle& space) {
  std::vector<hsize_t> lengths(static_cast<std::size_t>(checked(H5Sget_simple_extent_ndims(space))));
  if (!lengths.empty()) checked(H5Sget_simple_extent_dims(space, lengths.data(), nullptr));
  return {lengths.begin(), lengths.end()};
}
std::size_t points(const Handle& space) {
  return static_cast<std::size_t>(checked(H5Sget_simple_extent_npoints(space)));
}

std::vector<std::string> attribute_names(hid_t object) {
  std::vector<std::string> names;
  const auto add = [](hid_t, const char* name, const H5A_info_t*, void* to) -> herr_t {
    static_cast<std::vector<std::string>*>(to)->emplace_back(name);
    return 0;
  };
  checked(H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, nullptr, add, &names));
  return names;
}
std::vector<std::string> link_names(hid_t group) {
  std::vector<std::string> names;
  const auto add = [](hid_t, const char* name, const auto*,
                      void* to) -> herr_t {  // H5L_info_t, then _info2_t
    static_cast<std::vector<std::string>*>(to)->emplace_back(name);
    return 0;
  };
  checked(H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, nullptr, add, &names));
  return names;
}

Value value_of(Data data, bool list) {
  return std::visit(
      [&]<class T>(std::vector<T>& v) -> Value {
        if constexpr (std::is_same_v<T, std::int8_t>) return v[0] != 0;
        if constexpr (std::is_same_v<T, std::string>) return std::move(v[0]);
        if constexpr (std::is_floating_point_v<T>)
          if (list) return std::vector<double>(v.begin(), v.end());
        if constexpr (std::is_floating_point_v<T>) return double{v[0]};
        if constexpr (std::is_integral_v<T>) return std::int64_t{v[0]};
      },
      data);
}

Values attributes(hid_t object) {
  Values values;
  for (const std::string& name : attribute_names(object)) {
    if (name == "_FillValue" || name == "CLASS" || name == "NAME" || name.ends_with("_LIST")) continue;
    const Handle a(H5Aopen(object, name.c_str(), H5P_DEFAULT)), type(H5Aget_type(a)), space(H5Aget_space(a));
    Data data = elements(type, points(space), [&](hid_t t, void* to) { return H5Aread(a, t, to); });
    if (size(data) > 0)
      values.emplace(name, value_of(std::move(data), checked(H5Sget_simple_extent_ndims(space)) > 0));
  }
  return values;
}

std::string name_of(hid_t object) {
  std::string name(static_cast<std::size_t>(checked(H5Iget_name(object, nullptr, 0))), '\0');
  checked(H5Iget_name(object, name.data(), name.size() + 1));
  return name.substr(1);  // without the root's slash
}

std::vector<std::string> dimensions(hid_t dataset, const std::string& name) {
  if (checked(H5Aexists(dataset, "CLASS"))) return {name};
  if (!checked(H5Aexists(dataset, "DIMENSION_LIST"))) return {};
  const Handle a(H5Aopen(dataset, "DIMENSION_LIST", H5P_DEFAULT)), type(H5Aget_type(a)),
      space(H5Aget_space(a));
  std::vector<hvl_t> lists(points(space));
  checked(H5Aread(a, type, lists.data()));
  std::vector<std::string> names;
  for (const hvl_t& list : lists)
    names.push_back(name_of(Handle(H5Rdereference2(dataset, H5P_DEFAULT, H5R_OBJECT, list.p))));
  checked(H5Dvlen_reclaim(type, space, H5P_DEFAULT, lists.data()));
  return names;
}

bool counts(hid_t dataset) {
  if (!checked(H5Aexists(dataset, "_FillValue"))) return false;
  const Handle a(H5Aopen(dataset, "_FillValue", H5P_DEFAULT)), type(H5Aget_type(a));
  std::int64_t fill = 0;
  if (H5Tget_class(type) == H5T_INTEGER) checked(H5Aread(a, H5T_NATIVE_INT64, &fill));
  return fill == -1;
}

/// All but the data.
Variable described(hid_t dataset, const std::string& name) {
  Variable v{
      name, dimensions(dataset, name), {}, attributes(dataset), shape_of(Handle(H5Dget_space(dataset)))};
  v.counts = counts(dataset);
  return v;
}

Variable read(hid_t dataset, const std::string& name, Detail detail) {
  const Handle type(H5Dget_type(dataset)), space(H5Dget_space(dataset));
  const auto read = [&](hid_t t, void* to) { return H5Dread(dataset, t, H5S_ALL, H5S_ALL, H5P_DEFAULT, to); };
  Variable v = detail == Detail::all ? described(dataset, name) : Variable{name, {}, {}, {}, shape_of(space)};
  v.data = elements(type, points(space), read);
  return v;
}

Data slab(hid_t dataset, std::size_t first, std::size_t count) {
  const Slab rows(Handle(H5Dget_space(dataset)), first, count);
  return elements(Handle(H5Dget_type(dataset)), points(rows.memory), [&](hid_t t, void* to) {
    return H5Dread(dataset, t, rows.memory, rows.file, H5P_DEFAULT, to);
  });
}

/// Calls found(name, dataset) for all datasets below a group, in the order of names.
template <class Found>
void walk(hid_t group, const std::string& prefix, std::map<std::string, Values>& groups, const Found& found) {
  for (const std::string& name : link_names(group)) {
    const Handle object(H5Oopen(group, name.c_str(), H5P_DEFAULT));
    const H5I_type_t type = H5Iget_type(object);
    if (type == H5I_DATASET) found(prefix + name, object);
    if (type != H5I_GROUP) continue;
    if (Values values = attributes(object); !values.empty()) groups[prefix + name] = std::move(values);
    walk(object, prefix + name + "/", groups, found);
  }
}

Handle open(std::string_view image) {
  const Handle access = in_memory();
  checked(H5Pset_file_image(access, const_cast<char*>(image.data()), image.size()));  // copies it
  return Handle(H5Fopen("image", H5F_ACC_RDONLY, access));
}

/// The descriptor's file, whatever has become of its name.
Handle open(int descriptor) {
  return Handle(H5Fopen(fmt::format("/proc/self/fd/{}", descriptor).c_str(), H5F_ACC_RDONLY, on_disk()));
}

File read(const Handle& file, const std::function<bool(std::string_view)>& wanted, Detail detail) {
  File value{attributes(file), {}};
  walk(file, "", value.groups, [&](const std::string& name, hid_t dataset) {
    if (!wanted || wanted(name)) value.variables.push_back(read(dataset, name, detail));
  });
  return value;
}

}  // namespace

File from_image(std::string_view image, const std::function<bool(std::string_view)>& wanted, Detail detail) {
  return read(open(image), wanted, detail);
}
File from_disk(int descriptor, const std::function<bool(std::string_view)>& wanted, Detail detail) {
  return read(open(descriptor), wanted, detail);
}

bool reads_back(std::string_view image, const File& expected) {
  const Handle file = open(image);
  std::map<std::string_view, const Variable*> missing;
  for (const Variable& v : expected.variables)
    if (size(v.data) > 0) missing.emplace(v.name, &v);
  bool same = true;
  std::map<std::string, Values> groups;
  walk(file, "", groups, [&](const std::string& name, hid_t dataset) {
    const auto node = missing.extract(name);
    same = same && node && identical(read(dataset, name, Detail::all), *node.mapped());
  });
  return same && missing.empty() && attributes(file) == expected.attributes && groups == expected.groups;
}

struct RowReader::State {
  explicit State(int descriptor) : file(open(descriptor)), root(hdf5::attributes(file)) {}

  Handle file;
  Values root;
  File outline;
  std::vector<Handle> datasets;  ///< of the outline's variables; open, so that their chunks are kept
};

RowReader::RowReader(int descriptor) : state_(std::make_unique<State>(descriptor)) {}
RowReader::~RowReader() = default;
RowReader::RowReader(RowReader&&) noexcept = default;

const Values& RowReader::attributes() const { return state_->root; }

const File& RowReader::outline() {
  State& s = *state_;
  if (!s.datasets.empty()) return s.outline;
  s.outline.attributes = s.root;
  for (const std::string& name : link_names(s.file)) {
    Handle d(H5Oopen(s.file, name.c_str(), H5P_DEFAULT));
    if (H5Iget_type(d) != H5I_DATASET) continue;
    Variable v = described(d, name);
    if (v.shape.empty()) continue;
    if (v.is_scale())
      v.data = read(d, name, Detail::values).data;
    else
      v.data = elements(Handle(H5Dget_type(d)), 0, [](hid_t, void*) { return 0; });
    s.outline.variables.push_back(std::move(v));
    s.datasets.push_back(std::move(d));
  }
  return s.outline;
}

File RowReader::rows(std::size_t first, std::size_t count) {
  File some = outline();
  for (std::size_t i = 0; i < some.variables.size(); ++i) {
    Variable& v = some.variables[i];
    if (v.is_scale()) continue;
    v.data = slab(state_->datasets[i], first, count);
    v.shape[0] = count;
  }
  return some;
}

std::vector<std::string> RowReader::texts(const std::string& name) {
  if (!checked(H5Lexists(state_->file, name.c_str(), H5P_DEFAULT))) throw std::out_of_range(name);
  const Handle d(H5Dopen2(state_->file, name.c_str(), H5P_DEFAULT));
  return std::get<std::vector<std::string>>(read(d, name, Detail::values).data);
}

}  // namespace headlab::hdf5
