#include "cli/parity/images.h"

#include <algorithm>
#include <string_view>

#include "converter/checkpoint/json.h"
#include "converter/error.h"
#include "sdk/text/images.h"
#include "sdk/text/verify_text.h"

namespace ferry::parity {
namespace {

const FixtureInput& input_of(const Fixture& fixture, const char* name, size_t rank, int64_t last) {
  for (const FixtureInput& input : fixture.inputs) {
    if (input.name != name) continue;
    if (input.shape.size() == rank && (last == 0 || input.shape.back() == last)) return input;
    fail("input %s of the fixture is %s", in_quotes(input.name).c_str(), to_string(input.shape).c_str());
  }
  fail("fixture %s has no input %s, which the vision graph needs", fixture.name.c_str(), name);
}

// In patches.
std::vector<ImageGrid> grids_of(const fbs::Images& images, const Fixture& fixture) {
  const FixtureInput& thw = input_of(fixture, "image_grid_thw", 2, 3);
  std::vector<ImageGrid> out;
  for (size_t i = 0; i < thw.values.size(); i += 3) {
    const auto rows = static_cast<int32_t>(thw.values[i + 1]), columns = static_cast<int32_t>(thw.values[i + 2]);
    if (thw.values[i] != 1 || rows < 1 || columns < 1 || rows % images.merge() != 0 || columns % images.merge() != 0)
      fail("input \"image_grid_thw\" of the fixture: %g frames of %dx%d patches, expected one of multiples of %d",
           static_cast<double>(thw.values[i]), rows, columns, images.merge());
    out.push_back({rows, columns});
  }
  return out;
}

template <typename T>
FixtureInput input(const char* name, Dims shape, const std::vector<T>& values) {
  return {name, std::move(shape), {values.begin(), values.end()}};
}

}  // namespace

const fbs::Images* images_of(const fbs::Graph& root) {
  if (root.text() == nullptr) return nullptr;
  const fbs::Text* text = nullptr;
  if (const Status status = read_text(std::as_bytes(std::span(root.text()->data(), root.text()->size())), &text);
      !status.ok())
    fail("%s", status.message().data());
  return text->images();
}

size_t vision_graph(const fbs::Graph& root, const fbs::Images& images) {
  for (unsigned i = 0; root.graphs() != nullptr && i < root.graphs()->size(); ++i)
    if (text(root.graphs()->Get(i)->name()) == images.graph()->string_view()) return i + 1;
  fail("the blob has no vision graph '%s'", images.graph()->c_str());
}

std::vector<Fixture> of_each_image(const fbs::Images& images, const Fixture& fixture) {
  const FixtureInput& pixels = input_of(fixture, "pixel_values", 2, 0);
  std::vector<Fixture> out;
  auto begin = pixels.values.begin();
  for (const ImageGrid grid : grids_of(images, fixture)) {
    const int64_t count = grid.size(), numbers = count * pixels.shape.back();
    if (numbers > pixels.values.end() - begin)
      fail("input \"pixel_values\" of the fixture has %s values, fewer than the patches of \"image_grid_thw\"",
           to_string(pixels.shape).c_str());
    const PatchPositions places = patch_positions(grid, images.merge(), images.table_side());
    out.push_back(fixture);
    out.back().inputs = {{"pixel_values", {count, pixels.shape.back()}, {begin, begin + numbers}},
                         input("patch_places", {2, count}, places.places),
                         input("table_places", {4, count}, places.table),
                         input("table_weights", {4, count}, places.table_weights)};
    begin += numbers;
  }
  return out;
}

Fixture with_images(const fbs::Images& images, const Fixture& fixture, const std::vector<Computed>& features) {
  const FixtureInput& ids = input_of(fixture, "input_ids", 2, 0);
  std::vector<ImageGrid> squares = grids_of(images, fixture);
  for (ImageGrid& grid : squares) grid = {grid.rows / images.merge(), grid.columns / images.merge()};
  TokenPositions places(images.token());
  const std::vector<int32_t> tokens(ids.values.begin(), ids.values.end());
  if (const Status status = places.append(tokens, squares); !status.ok()) fail("%s", status.message().data());

  const auto count = static_cast<int64_t>(tokens.size());
  FixtureInput position_ids{"position_ids", {3, count}, {}}, rows{"image_rows", {1, count}, {}};
  for (size_t axis = 0; axis < 3; ++axis)
    for (size_t i = 0; i < tokens.size(); ++i) position_ids.values.push_back(static_cast<float>(places.axis(axis, i)));
  for (size_t i = 0; i < tokens.size(); ++i) rows.values.push_back(static_cast<float>(places.row(i)));

  // Stacks each plane: the leading zeros once, then the rows of all images.
  const Dims first = features.front().shape;
  FixtureInput all{"image_features", {first[0], 1, first[2]}, {}};
  std::vector<std::vector<float>> values;
  for (const Computed& of : features) {
    values.push_back(of.read());
    all.shape[1] += of.shape[1] - 1;
  }
  for (int64_t plane = 0; plane < first[0]; ++plane) {
    all.values.insert(all.values.end(), static_cast<size_t>(first[2]), 0.0f);
    for (size_t i = 0; i < features.size(); ++i) {
      const int64_t size = features[i].shape[1] * first[2];
      const auto begin = values[i].begin() + plane * size;
      all.values.insert(all.values.end(), begin + first[2], begin + size);
    }
  }
  Fixture out = fixture;
  out.inputs = {ids, position_ids, rows, all};
  return out;
}

Computed joined(const Computed& first, const Computed& second) {
  Computed out = first;
  const size_t axis = first.shape.size() - 2;
  out.shape[axis] += second.shape[axis];
  out.read = [first, second, axis] {
    const std::vector<float> a = first.read(), b = second.read();
    const int64_t outer = elements({first.shape.begin(), first.shape.begin() + static_cast<std::ptrdiff_t>(axis)});
    const auto of_a = static_cast<std::ptrdiff_t>(a.size()) / outer,
               of_b = static_cast<std::ptrdiff_t>(b.size()) / outer;
    std::vector<float> all;
    for (std::ptrdiff_t i = 0; i < outer; ++i) {
      all.insert(all.end(), a.begin() + i * of_a, a.begin() + (i + 1) * of_a);
      all.insert(all.end(), b.begin() + i * of_b, b.begin() + (i + 1) * of_b);
    }
    return all;
  };
  return out;
}

}  // namespace ferry::parity
