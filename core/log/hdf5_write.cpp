#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "core/log/hdf5_handle.hpp"

namespace headlab::hdf5 {
namespace {

constexpr std::size_t compact_below = 1 << 13, deflate_from = 1 << 15, chunk_bytes = 1 << 20;

Handle space_of(const std::vector<std::size_t>& shape) {
  if (shape.empty()) return Handle(H5Screate(H5S_SCALAR));
  const std::vector<hsize_t> lengths(shape.begin(), shape.end());
  return Handle(H5Screate_simple(static_cast<int>(shape.size()), lengths.data(), nullptr));
}
std::size_t product(const std::vector<std::size_t>& shape, std::size_t from = 0) {
  return std::accumulate(shape.begin() + std::ptrdiff_t(std::min(from, shape.size())), shape.end(),
                         std::size_t{1}, std::multiplies<>());
}

/// Calls `write` with the elements as HDF5 wants them.
template <class T, class Write>
void with_elements(const std::vector<T>& v, const Write& write) {
  write(v.data());
}
template <class Write>
void with_elements(const std::vector<std::string>& v, const Write& write) {
  std::vector<const char*> pointers(v.size());
  std::transform(v.begin(), v.end(), pointers.begin(), [](const std::string& s) { return s.c_str(); });
  write(pointers.data());
}

void put(hid_t object, const char* name, hid_t stored, hid_t type, const std::vector<std::size_t>& shape,
         const void* elements) {
  const Handle a(H5Acreate2(object, name, stored, space_of(shape), H5P_DEFAULT, H5P_DEFAULT));
  checked(H5Awrite(a, type, elements));
}
template <class T>
void put(hid_t object, const char* name, const std::vector<std::size_t>& shape, const std::vector<T>& v) {
  const Handle type = type_of<T>();
  with_elements(v, [&](const void* elements) { put(object, name, type, type, shape, elements); });
}
void put(hid_t object, const Values& values) {
  for (const auto& [key, value] : values)
    std::visit(
        [&, name = key.c_str()]<class T>(const T& v) {
          if constexpr (std::is_same_v<T, bool>)
            put(object, name, {}, std::vector{std::int8_t{v}});
          else if constexpr (std::is_same_v<T, std::vector<double>>)
            put(object, name, {v.size()}, v);
          else
            put(object, name, {}, std::vector{v});
        },
        value);
}

Handle with_groups() {
  Handle links(H5Pcreate(H5P_LINK_CREATE));
  checked(H5Pset_create_intermediate_group(links, 1));
  return links;
}
void put_groups(hid_t file, const std::map<std::string, Values>& groups) {
  for (const auto& [name, values] : groups)
    put(Handle(H5Gcreate2(file, name.c_str(), with_groups(), H5P_DEFAULT, H5P_DEFAULT)), values);
}

/// Small data lie in the object's header, large data in compressed chunks.
template <class T>
Handle storage(const Variable& v, const std::vector<std::size_t>& shape) {
  Handle plan(H5Pcreate(H5P_DATASET_CREATE));
  checked(H5Pset_obj_track_times(plan, false));
  const std::size_t row = sizeof(T) * product(shape, 1), bytes = sizeof(T) * product(shape);
  if (bytes <= compact_below) {
    checked(H5Pset_layout(plan, H5D_COMPACT));
  } else if (bytes >= deflate_from && v.deflated && !std::is_same_v<T, std::string>) {
    std::vector<hsize_t> chunk(shape.begin(), shape.end());
    chunk[0] = std::clamp<hsize_t>(chunk_bytes / row, 1, chunk[0]);
    checked(H5Pset_chunk(plan, static_cast<int>(chunk.size()), chunk.data()));
    checked(H5Pset_shuffle(plan));
    checked(H5Pset_deflate(plan, 4));
  }
  if constexpr (!std::is_same_v<T, std::string>) {
    const T value = missing<T>(v.counts);
    if (!v.is_scale()) checked(H5Pset_fill_value(plan, type_of<T>(), &value));
  }
  return plan;
}

template <class T>
Handle create(hid_t file, const Variable& v, const std::vector<std::size_t>& shape) {
  return Handle(H5Dcreate2(file, v.name.c_str(), type_of<T>(), space_of(shape), with_groups(),
                           storage<T>(v, shape), H5P_DEFAULT));
}
template <class T>
void describe(hid_t dataset, const Variable& v) {
  if constexpr (!std::is_same_v<T, std::string>)
    if (!v.is_scale()) put(dataset, "_FillValue", {}, std::vector{missing<T>(v.counts)});
  put(dataset, v.attributes);
}
template <class T>
Handle write(hid_t file, const Variable& v, const std::vector<std::size_t>& shape,
             const std::vector<T>& data) {
  Handle d = create<T>(file, v, shape);
  with_elements(data, [&, type = type_of<T>()](const void* elements) {
    checked(H5Dwrite(d, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, elements));
  });
  describe<T>(d, v);
  return d;
}

/// HDF5 takes two open files in memory of one name for the same file.
Handle new_file(const std::string& name = "image") {
  const Handle access = in_memory(), creation(H5Pcreate(H5P_FILE_CREATE));
  checked(H5Pset_obj_track_times(creation, false));
  return Handle(H5Fcreate(name.c_str(), H5F_ACC_TRUNC, creation, access));
}

/// The convention of "HDF5 Dimension Scale Specification", without the high-level library, which rewrites a
/// scale's list of users for every user.
class Scales {
 public:
  Scales(hid_t file, const File& value) : file_(file) {
    for (const Variable& v : value.variables)
      if (v.is_scale() && size(v.data) > 0) users_[v.name] = {size(v.data), {}};
  }
  std::vector<std::size_t> shape(const Variable& v) const {
    std::vector<std::size_t> lengths = v.shape;
    if (lengths.empty())
      for (const std::string& name : v.dimensions)
        lengths.push_back(users_.contains(name) ? users_.at(name).first : 0);
    if (product(lengths) != size(v.data))
      throw std::logic_error(fmt::format("{}: {} elements for a shape of {} ({})", v.name, size(v.data),
                                         lengths, fmt::join(v.dimensions, ", ")));
    return lengths;
  }
  void attach(hid_t dataset, const Variable& v) {
    if (v.dimensions.empty() || v.is_scale()) return;
    std::vector<hobj_ref_t> references;
    for (const std::string& name : v.dimensions) references.push_back(reference(name));
    std::vector<hvl_t> lists;
    for (hobj_ref_t& r : references) lists.push_back({1, &r});
    const Handle type(H5Tvlen_create(H5T_STD_REF_OBJ));
    put(dataset, "DIMENSION_LIST", type, type, {lists.size()}, lists.data());
    for (int i = 0; const std::string& name : v.dimensions)
      users_.at(name).second.push_back({reference(v.name), i++});
  }
  void finish() const {
    const Handle user(H5Tcreate(H5T_COMPOUND, sizeof(User)));
    checked(H5Tinsert(user, "dataset", offsetof(User, dataset), H5T_STD_REF_OBJ));
    checked(H5Tinsert(user, "dimension", offsetof(User, dimension), H5T_NATIVE_INT));
    const Handle stored(H5Tcopy(user));
    checked(H5Tpack(stored));  // else the file would hold the struct's padding
    for (const auto& [name, scale] : users_) {
      const Handle d(H5Dopen2(file_, name.c_str(), H5P_DEFAULT));
      put_ascii(d, "CLASS", "DIMENSION_SCALE");
      put_ascii(d, "NAME", name);
      if (!scale.second.empty())
        put(d, "REFERENCE_LIST", stored, user, {scale.second.size()}, scale.second.data());
    }
  }

 private:
  struct User {
    hobj_ref_t dataset;
    int dimension;
  };
  /// Of fixed length, as the convention has it: h5netcdf fails on others.
  static void put_ascii(hid_t object, const char* name, const std::string& text) {
    const Handle type(H5Tcopy(H5T_C_S1));
    checked(H5Tset_size(type, text.size() + 1));
    put(object, name, type, type, {}, text.c_str());
  }
  hobj_ref_t reference(const std::string& name) const {
    hobj_ref_t r{};
    checked(H5Rcreate(&r, file_, name.c_str(), H5R_OBJECT, -1));
    return r;
  }
  hid_t file_;
  std::map<std::string, std::pair<std::size_t, std::vector<User>>> users_;
};

}  // namespace

namespace {

/// Calls written(variable) after each.
template <class AnyFile, class Written>
void fill(hid_t file, AnyFile& value, const Written& written) {
  put(file, value.attributes);
  put_groups(file, value.groups);
  Scales scales(file, value);
  for (const bool scale : {true, false})
    for (auto& v : value.variables)
      if (size(v.data) > 0 && v.is_scale() == scale) {
        scales.attach(
            std::visit([&](const auto& data) { return write(file, v, scales.shape(v), data); }, v.data), v);
        written(v);
      }
  scales.finish();
  checked(H5Fflush(file, H5F_SCOPE_GLOBAL));
}

/// Of a file in memory, without a copy.
std::string_view bytes_of(hid_t file) {
  const auto bytes = checked(H5Fget_file_image(file, nullptr, 0));
  void* memory = nullptr;  // of the core driver: where its pointer to the bytes is
  checked(H5Fget_vfd_handle(file, H5P_DEFAULT, &memory));
  return {*static_cast<const char**>(memory), static_cast<std::size_t>(bytes)};
}

}  // namespace

std::string to_image(const File& value) {
  const Handle file = new_file();
  fill(file, value, [](const Variable& /*any*/) {});
  std::string image(static_cast<std::size_t>(checked(H5Fget_file_image(file, nullptr, 0))), '\0');
  checked(H5Fget_file_image(file, image.data(), image.size()));
  return image;
}

struct Image::State {
  Handle file = new_file(fmt::format("image {}", fmt::ptr(this)));
};

Image::Image(File&& file) : state_(std::make_unique<State>()) {
  File rest = std::move(file);
  fill(state_->file, rest, [](Variable& v) {
    if (!v.is_scale())
      std::visit([](auto& data) { std::remove_cvref_t<decltype(data)>().swap(data); }, v.data);
  });
}
Image::~Image() = default;

std::string_view Image::bytes() const { return bytes_of(state_->file); }

struct RowWriter::State {
  explicit State(const File& outline)
      : file(new_file(fmt::format("rows {}", fmt::ptr(this)))), scales(file, outline) {}

  template <class T>
  void write_rows(const Variable& v, std::size_t count) {
    const Handle& d = datasets.at(v.name);
    const Slab slab(Handle(H5Dget_space(d)), done, count);
    with_elements(std::get<std::vector<T>>(v.data), [&, type = type_of<T>()](const void* elements) {
      checked(H5Dwrite(d, type, slab.memory, slab.file, H5P_DEFAULT, elements));
    });
  }

  Handle file;
  Scales scales;
  std::map<std::string, Handle> datasets;  ///< without scales; open, so that their chunks are compressed once
  std::size_t done = 0;                    ///< rows
};

RowWriter::RowWriter(const File& outline) : state_(std::make_unique<State>(outline)) {
  put(state_->file, outline.attributes);
  for (const bool scale : {true, false})
    for (const Variable& v : outline.variables)
      if (v.is_scale() == scale)
        std::visit(
            [&]<class T>(const std::vector<T>& data) {
              if (scale) return void(write(state_->file, v, state_->scales.shape(v), data));
              Handle d = create<T>(state_->file, v, v.shape);
              describe<T>(d, v);
              state_->scales.attach(d, v);
              state_->datasets.emplace(v.name, std::move(d));
            },
            v.data);
}
RowWriter::~RowWriter() = default;

void RowWriter::append(const File& rows) {
  std::size_t count = 0;
  for (const Variable& v : rows.variables) {
    if (v.is_scale()) continue;
    count = v.shape.at(0);
    if (product(v.shape) != size(v.data))
      throw std::logic_error(fmt::format("{}: {} elements for a shape of {}", v.name, size(v.data), v.shape));
    std::visit([&]<class T>(const std::vector<T>&) { state_->write_rows<T>(v, count); }, v.data);
  }
  state_->done += count;
}

std::string_view RowWriter::image() {
  state_->datasets.clear();
  state_->scales.finish();
  checked(H5Fflush(state_->file, H5F_SCOPE_GLOBAL));
  return bytes_of(state_->file);
}

}  // namespace headlab::hdf5
