#include "sdk/text/image_reader.h"

#include <algorithm>
#include <cstring>

namespace ferry {
namespace {

constexpr size_t kInputs = 4;  // of both graphs

// Whether an input has that type and shape; 0: any.
bool takes(const ferry_tensor& tensor, ferry_dtype dtype, std::initializer_list<int32_t> shape) {
  return tensor.dtype == dtype && tensor.rank == static_cast<int32_t>(shape.size()) &&
         std::equal(shape.begin(), shape.end(), tensor.shape,
                    [](int32_t wanted, int32_t d) { return wanted == 0 || wanted == d; });
}

struct Inputs {
  ferry_tensor all[kInputs];

  Status read(ferry_session* session) {
    for (size_t i = 0; i < kInputs; ++i) FERRY_TRY(status_of(ferry_session_input(session, i, &all[i])));
    return {};
  }
  // Changes one dimension of each of these inputs.
  Status resize(ferry_session* session, std::initializer_list<std::pair<int, size_t>> changes) {
    size_t i = 0;
    for (const auto& [dimension, size] : changes) all[i++].shape[dimension] = static_cast<int32_t>(size);
    FERRY_TRY(status_of(ferry_session_resize_inputs(session, all, kInputs)));
    return read(session);
  }
  template <typename T>
  void write(size_t input, const std::vector<T>& values) {
    std::memcpy(all[input].data, values.data(), std::min(all[input].bytes, values.size() * sizeof(T)));
  }
};

}  // namespace

Status ImageReader::open(const ferry_model* model, const fbs::Images& table, const ferry_session_options& options,
                         ferry_session* reading, std::unique_ptr<ImageReader>* out) {
  auto made = std::make_unique<ImageReader>();
  made->table_ = &table;
  made->name_ = ferry_model_name(model);
  made->take(options);
  ferry_model* vision = nullptr;
  FERRY_TRY(status_of(ferry_model_open_graph(model, table.graph()->c_str(), &vision)));
  made->vision_.reset(vision);
  const bool counts = ferry_model_input_count(vision) == kInputs && ferry_model_output_count(vision) > 0;
  ferry_tensor in[kInputs], given;
  for (size_t i = 0; counts && i < kInputs; ++i) FERRY_TRY(status_of(ferry_model_input(vision, i, &in[i])));
  if (counts) FERRY_TRY(status_of(ferry_model_output(vision, 0, &given)));
  if (!counts || !takes(in[0], FERRY_FLOAT32, {0, 0}) || !takes(in[1], FERRY_INT32, {2, 0}) ||
      !takes(in[2], FERRY_INT32, {4, 0}) || !takes(in[3], FERRY_FLOAT32, {4, 0}) ||
      !takes(given, FERRY_FLOAT32, {0, 0, 0}))
    return error(FERRY_CORRUPT, "'%.64s': graph '%.64s' does not encode images", made->name_.c_str(),
                 table.graph()->c_str());
  made->planes_ = given.shape[0];
  made->width_ = given.shape[2];
  Inputs inputs;
  FERRY_TRY(inputs.read(reading));
  if (!takes(inputs.all[1], FERRY_INT32, {3, 0}) || !takes(inputs.all[2], FERRY_INT32, {1, 0}) ||
      !takes(inputs.all[3], FERRY_FLOAT32, {made->planes_, 0, made->width_}))
    return error(FERRY_CORRUPT, "'%.64s': its inputs do not match the images of graph '%.64s'", made->name_.c_str(),
                 table.graph()->c_str());
  *out = std::move(made);
  return {};
}

// Copies strings of the options, because images may be added after create() returned.
void ImageReader::take(const ferry_session_options& options) {
  options_ = options;
  const auto keep = [](const char** text, std::string* kept) {
    if (*text == nullptr) return;
    *kept = *text;
    *text = kept->c_str();
  };
  keep(&options_.gpu_device, &gpu_device_);
  keep(&options_.gpu_cache_dir, &gpu_cache_dir_);
  keep(&options_.cache_dir, &cache_dir_);
  if (options_.gpu != nullptr) options_.backend = FERRY_BACKEND_CPU;
  options_.gpu = nullptr;
  options_.graph = nullptr;
  options_.states = nullptr;
  options_.taps = nullptr;
  options_.tap_count = 0;
  options_.all_taps = false;
}

std::vector<int32_t> ImageReader::tokens_of_last() const {
  std::vector<int32_t> tokens(static_cast<size_t>(grids_.back().size()), token());
  if (table_->start() >= 0) tokens.insert(tokens.begin(), table_->start());
  if (table_->end() >= 0) tokens.push_back(table_->end());
  return tokens;
}

// Creates a session of the vision graph for this many patches, and writes all inputs except pixels.
Status ImageReader::start(ImageGrid grid, SessionHandle* out) const {
  const int32_t merge = table_->merge();
  if (grid.rows < merge || grid.columns < merge || grid.rows % merge != 0 || grid.columns % merge != 0)
    return error(FERRY_INVALID_ARGUMENT, "an image of %dx%d patches: multiples of %d are merged", grid.rows,
                 grid.columns, merge);
  ferry_session* session = nullptr;
  FERRY_TRY(status_of(ferry_session_create(vision_.get(), &options_, &session)));
  out->reset(session);
  const auto count = static_cast<size_t>(grid.size());
  Inputs inputs;
  FERRY_TRY(inputs.read(session));
  FERRY_TRY(inputs.resize(session, {{0, count}, {1, count}, {1, count}, {1, count}}));
  const PatchPositions places = patch_positions(grid, merge, table_->table_side());
  inputs.write(1, places.places);
  inputs.write(2, places.table);
  inputs.write(3, places.table_weights);
  return {};
}

// Runs the vision graph and stores its results.
Status ImageReader::finish(ferry_session* session, ImageGrid patches) {
  const ImageGrid grid = {patches.rows / table_->merge(), patches.columns / table_->merge()};
  FERRY_TRY(status_of(ferry_session_run(session)));
  ferry_tensor given;
  FERRY_TRY(status_of(ferry_session_output(session, 0, &given)));
  if (!takes(given, FERRY_FLOAT32, {planes_, static_cast<int32_t>(1 + grid.size()), width_}))
    return error(FERRY_CORRUPT, "'%.64s': graph '%.64s' gives %d rows for an image of %lld merged patches",
                 name_.c_str(), table_->graph()->c_str(), given.rank > 1 ? given.shape[1] - 1 : 0,
                 static_cast<long long>(grid.size()));
  // Removes the zeros before each plane.
  const auto width = static_cast<size_t>(width_), size = static_cast<size_t>(grid.size()) * width;
  std::vector<float> rows;
  rows.reserve(static_cast<size_t>(planes_) * size);
  const auto* from = static_cast<const float*>(given.data);
  for (int32_t plane = 0; plane < planes_; ++plane, from += width + size)
    rows.insert(rows.end(), from + width, from + width + size);
  rows_.push_back(std::move(rows));
  grids_.push_back(grid);
  return {};
}

Status ImageReader::see(const ferry_image& image) {
  ImageGrid grid;
  FERRY_TRY(status_of(ferry_model_image_patches(vision_.get(), image.width, image.height, &grid.rows, &grid.columns)));
  SessionHandle session;
  FERRY_TRY(start(grid, &session));
  FERRY_TRY(status_of(ferry_session_set_image(session.get(), &image)));
  return finish(session.get(), grid);
}

Status ImageReader::see_patches(std::span<const float> patches, ImageGrid grid) {
  SessionHandle session;
  FERRY_TRY(start(grid, &session));
  ferry_tensor values;
  FERRY_TRY(status_of(ferry_session_input(session.get(), 0, &values)));
  if (values.bytes != patches.size_bytes())
    return error(FERRY_INVALID_ARGUMENT, "%zu values for an image of %dx%d patches, %zu are expected", patches.size(),
                 grid.rows, grid.columns, values.bytes / sizeof(float));
  std::memcpy(values.data, patches.data(), values.bytes);
  return finish(session.get(), grid);
}

void ImageReader::forget() {
  grids_.clear();
  rows_.clear();
}

void ImageReader::forget_last() {
  grids_.pop_back();
  rows_.pop_back();
}

Status ImageReader::write(ferry_session* reading, std::span<const int32_t> ids, const TokenPositions& places,
                          size_t begin) const {
  const size_t count = ids.size();
  size_t seen = 0;
  for (size_t i = 0; i < count; ++i) seen += places.row(begin + i) > 0 ? 1 : 0;
  Inputs inputs;
  FERRY_TRY(inputs.read(reading));
  FERRY_TRY(inputs.resize(reading, {{1, count}, {1, count}, {1, count}, {1, 1 + seen}}));
  std::memcpy(inputs.all[0].data, ids.data(), ids.size_bytes());
  auto* axes = static_cast<int32_t*>(inputs.all[1].data);
  for (size_t axis = 0; axis < 3; ++axis)
    for (size_t i = 0; i < count; ++i) *axes++ = places.axis(axis, begin + i);
  auto* chosen = static_cast<int32_t*>(inputs.all[2].data);
  auto* features = static_cast<float*>(inputs.all[3].data);
  const auto width = static_cast<size_t>(width_), plane = (1 + seen) * width;
  for (int32_t p = 0; p < planes_; ++p) std::fill_n(features + static_cast<size_t>(p) * plane, width, 0.0f);
  size_t row = 0, image = 0, before = 0;  // merged patches of the images before that one
  for (size_t i = 0; i < count; ++i) {
    const auto square = static_cast<size_t>(places.row(begin + i));
    chosen[i] = square > 0 ? static_cast<int32_t>(++row) : 0;
    if (square == 0) continue;
    while (square - before > static_cast<size_t>(grids_[image].size()))
      before += static_cast<size_t>(grids_[image++].size());
    const size_t squares = static_cast<size_t>(grids_[image].size());
    for (size_t p = 0; p < static_cast<size_t>(planes_); ++p)
      std::copy_n(rows_[image].data() + (p * squares + square - before - 1) * width, width,
                  features + p * plane + row * width);
  }
  return {};
}

}  // namespace ferry
