// Operators that write parts into a larger tensor: windows of images, maxima of pools, tokens of a cache; and crops.
#include <algorithm>
#include <numeric>

#include "converter/onnx/ops/microsoft/microsoft.h"
#include "converter/onnx/ops/window.h"

namespace ferry::onnx {
namespace {

using microsoft::argument;
using microsoft::Argument;
using microsoft::attribute;
using microsoft::call;

Tensor zeros(Op& op, const Dims& dims) {
  const std::vector<double> values(static_cast<size_t>(count_computed(dims)), 0.0);
  return add_constant(op.graph(), op.node().name + ".zeros", make_array(Type::Float32, dims, values));
}

}  // namespace

// [N,C*kernel,windows] to [N,C,image]: the sums of overlapping windows. Rows of a matrix [positions,N*C] are added;
// the row behind the last collects the padding.
void col2im(Op& op) {
  const std::vector<int64_t> image = op.array(1, "image_shape").ints(), kernel = op.array(2, "block_shape").ints();
  const Dims dims = op.dims(0);
  if (dims.size() != 3 || image.empty() || image.size() != kernel.size())
    op.refuse("an input of %s, an image of %s and a block of %s", to_string(dims).c_str(), to_string(image).c_str(),
              to_string(kernel).c_str());
  for (const int64_t size : kernel)
    if (size < 1) op.refuse("a block of %s", to_string(kernel).c_str());
  for (const int64_t size : image)
    if (size < 1) op.refuse("an image of %s", to_string(image).c_str());
  const std::vector<int64_t> strides = read_positive(op, "strides", kernel.size());
  const std::vector<int64_t> dilations = read_positive(op, "dilations", kernel.size());
  const std::vector<int64_t> pads = op.integers("pads", std::vector<int64_t>(2 * kernel.size(), 0));
  if (pads.size() != 2 * kernel.size() ||
      std::any_of(pads.begin(), pads.end(), [](int64_t p) { return p < 0 || p > 1 << 20; }))
    op.refuse("attribute 'pads' is %s, expected %zu sizes", to_string(pads).c_str(), 2 * kernel.size());
  std::vector<Side> sides(kernel.size());
  Dims windows;
  for (size_t i = 0; i < sides.size(); ++i) {
    sides[i] = {.size = image[i],
                .kernel = kernel[i],
                .stride = strides[i],
                .dilation = dilations[i],
                .before = pads[i],
                .after = pads[i + kernel.size()]};
    windows.push_back(sides[i].outputs());
    if (windows.back() < 1) op.refuse("an image of %s has no window", to_string(image).c_str());
  }
  const int64_t cells = count_elements(kernel), count = count_elements(windows), positions = count_elements(image);
  if (dims[2] != count || dims[1] % cells != 0)
    op.refuse("%s has not %lld windows of %lld elements", to_string(dims).c_str(), static_cast<long long>(count),
              static_cast<long long>(cells));
  const Dims in_kernel = strides_of(kernel), in_windows = strides_of(windows), in_image = strides_of(image);
  std::vector<int64_t> rows(static_cast<size_t>(count_computed({cells, count})));
  for (size_t i = 0; i < rows.size(); ++i) {
    const int64_t cell = static_cast<int64_t>(i) / count, window = static_cast<int64_t>(i) % count;
    int64_t row = 0;
    for (size_t d = 0; d < sides.size() && row != positions; ++d) {
      const Side& s = sides[d];
      const int64_t at =
          window / in_windows[d] % windows[d] * s.stride + cell / in_kernel[d] % kernel[d] * s.dilation - s.before;
      row = at < 0 || at >= s.size ? positions : row + at * in_image[d];
    }
    rows[i] = row;
  }
  const int64_t maps = dims[0] * (dims[1] / cells);
  const Tensor updates = ferry::transpose(reshape_to(op.floating(0), {maps, cells * count}), {1, 0});
  const Argument places = make_array(Type::Int64, {cells * count, 1}, rows);
  const Tensor sums =
      call(op, scatter_nd, {zeros(op, {positions + 1, maps}), places, updates}, {{"reduction", attribute("add")}});
  Dims to = {dims[0], dims[1] / cells};
  to.insert(to.end(), image.begin(), image.end());
  op.set(reshape_to(ferry::transpose(ferry::slice(sums, 0, 0, static_cast<int>(positions)), {1, 0}), to), op.type(0));
}

// Indices count in the shape that the pool's parameters imply; a larger output_shape is padded behind.
void max_unpool(Op& op) {
  const Dims dims = op.dims(0);
  const std::vector<int64_t> kernel = read_positive(op, "kernel_shape", dims.size() < 3 ? 1 : dims.size() - 2);
  if (dims.size() < 3 || kernel.size() != dims.size() - 2 || op.dims(1) != dims)
    op.refuse("maxima %s with indices %s in a kernel of %zu dimensions", to_string(dims).c_str(),
              to_string(op.dims(1)).c_str(), kernel.size());
  const std::vector<Side> sides = read_sides(op, kernel);
  Dims implied(dims.begin(), dims.begin() + 2);
  for (size_t i = 0; i < sides.size(); ++i)
    implied.push_back((dims[2 + i] - 1) * sides[i].stride + sides[i].kernel - sides[i].before - sides[i].after);
  const int64_t total = count_elements(implied), maxima = count_elements(dims);
  const Tensor spread =
      call(op, scatter_nd,
           {zeros(op, {total}), reshape_to(op.tensor(1), {maxima, 1}), reshape_to(op.floating(0), {maxima})}, {});
  Tensor y = reshape_to(spread, implied);
  if (op.has(2)) {
    const std::vector<int64_t> wanted = op.array(2, "output_shape").ints();
    bool fits = wanted.size() == implied.size();
    std::vector<int64_t> pads(implied.size(), 0);
    for (size_t d = 0; fits && d < implied.size(); ++d) {
      fits = wanted[d] >= implied[d];
      pads.push_back(wanted[d] - implied[d]);
    }
    if (!fits) op.refuse("output_shape %s is smaller than %s", to_string(wanted).c_str(), to_string(implied).c_str());
    y = call(op, pad, {y, make_vector(pads)}, {});
  }
  op.set(y, op.type(0));
}

// Writes `update` [B,..,S,..] into a cache [B,..,M,..] from write_indices [B] on, or from 0.
void tensor_scatter(Op& op) {
  const Dims dims = op.dims(0), update = op.dims(1);
  const int rank = op.rank(0), axis = op.axis(op.integer("axis", -2), rank);
  const auto at = static_cast<size_t>(axis);
  const std::string mode = op.text("mode", "linear");
  if (mode != "linear" && mode != "circular")
    op.refuse("attribute 'mode' is '%s', expected linear or circular", mode.c_str());
  bool fits = axis > 0 && update.size() == dims.size();
  for (size_t d = 0; fits && d < dims.size(); ++d) fits = d == at ? update[d] <= dims[d] : update[d] == dims[d];
  if (!fits || (op.has(2) && op.dims(2) != Dims{dims[0]}))
    op.refuse("an update of %s for a cache of %s along dimension %d", to_string(update).c_str(),
              to_string(dims).c_str(), axis);
  const int64_t batch = dims[0], size = dims[at], added = update[at];
  // [B,M,rest], flattened to rows [B*M,rest].
  std::vector<int32_t> perm = {0, axis}, back(dims.size());
  for (int d = 1; d < rank; ++d)
    if (d != axis) perm.push_back(d);
  for (size_t d = 0; d < perm.size(); ++d) back[static_cast<size_t>(perm[d])] = static_cast<int32_t>(d);
  const auto rows = [&](Tensor x, int64_t along) {
    const Tensor moved = ferry::transpose(x, perm);
    return reshape_to(moved, {batch * along, count_elements(dims_of(moved)) / (batch * along)});
  };
  std::vector<int64_t> offsets, firsts(static_cast<size_t>(batch), 0);
  count_computed({batch, added});
  const bool known = !op.has(2) || op.known(2);
  if (op.has(2) && known) firsts = op.array(2, "write_indices").ints();
  Argument places;
  if (known) {
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t s = 0; s < added; ++s) {
        const int64_t place = firsts[static_cast<size_t>(b)] + s;
        if (firsts[static_cast<size_t>(b)] < 0 || (mode == "linear" && place >= size))
          op.refuse("position %lld of a cache of %lld", static_cast<long long>(place), static_cast<long long>(size));
        offsets.push_back(b * size + place % size);
      }
    places = make_array(Type::Int64, {batch * added, 1}, offsets);
  } else {
    Tensor place = reshape_to(op.tensor(2), {batch, 1}) + microsoft::counted(op, 0, added);
    if (mode == "circular") place = binary(fbs::BinaryKind::Mod, place, scalar(place, static_cast<double>(size)));
    for (int64_t b = 0; b < batch; ++b) offsets.push_back(b * size);
    const Tensor starts =
        add_constant(op.graph(), op.node().name + ".starts", make_array(Type::Int64, {batch, 1}, offsets));
    places = reshape_to(place + starts, {batch * added, 1});
  }
  const Tensor written = call(op, scatter_nd, {rows(op.tensor(0), size), places, rows(op.tensor(1), added)}, {});
  Dims moved;
  for (const int32_t d : perm) moved.push_back(dims[static_cast<size_t>(d)]);
  op.set(ferry::transpose(reshape_to(written, moved), back), op.type(0));
}

// Crops and pads in the middle; of an odd difference, the larger part is behind.
void center_crop_pad(Op& op) {
  const std::vector<int64_t> shape = op.array(1, "shape").ints();
  const Dims dims = op.dims(0);
  std::vector<int64_t> all(dims.size());
  std::iota(all.begin(), all.end(), 0);
  const std::vector<int> axes = op.axes(op.integers("axes", all), op.rank(0));
  if (axes.size() != shape.size()) op.refuse("a shape of %zu sizes for %zu axes", shape.size(), axes.size());
  std::vector<int64_t> begins, ends, on, pads(2 * dims.size(), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto d = static_cast<size_t>(axes[i]);
    if (shape[i] < 1) op.refuse("a shape of %s", to_string(shape).c_str());
    const int64_t more = shape[i] - dims[d], begin = more < 0 ? -more / 2 : 0;
    begins.push_back(begin);
    ends.push_back(begin + std::min(shape[i], dims[d]));
    on.push_back(axes[i]);
    if (more > 0) pads[d] = more / 2;
    if (more > 0) pads[dims.size() + d] = more - more / 2;
  }
  const Argument cropped = microsoft::call_all(
      op, slice, {argument(op, 0), make_vector(begins), make_vector(ends), make_vector(on)}, {}, 1)[0];
  const Argument y = microsoft::call_all(op, pad, {cropped, make_vector(pads)}, {}, 1)[0];
  op.set(y.value, op.type(0));
}

}  // namespace ferry::onnx
