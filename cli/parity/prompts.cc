#include "cli/parity/prompts.h"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "cli/parity/images.h"
#include "cli/sdk.h"
#include "converter/checkpoint/json.h"
#include "converter/error.h"

namespace ferry::parity {
namespace {

constexpr float kBoxTopLeft = 2, kBoxBottomRight = 3, kNoPoint = -1;
constexpr std::array kPoints = {"point_coords", "input_points"};
constexpr std::array kLabels = {"point_labels", "input_labels"};
constexpr std::array kBoxes = {"boxes", "input_boxes"};
constexpr std::array kMasks = {"mask_input", "input_masks"};

template <typename Names>
bool is_one_of(const std::string& name, const Names& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_prompt(const FixtureInput& input) {
  return is_one_of(input.name, kPoints) || is_one_of(input.name, kLabels) || is_one_of(input.name, kBoxes) ||
         is_one_of(input.name, kMasks) || input.name == "has_mask_input";
}

template <typename Names>
const FixtureInput* find(const Fixture& fixture, const Names& names) {
  for (const FixtureInput& input : fixture.inputs)
    if (is_one_of(input.name, names)) return &input;
  return nullptr;
}

// Checks that the last dimension is `last` (0: any) and that all dimensions before the last `own` are 1.
void check_one_group(const FixtureInput& input, size_t own, int64_t last) {
  const size_t before = input.shape.size() - std::min(own, input.shape.size());
  const bool one = std::all_of(input.shape.begin(), input.shape.begin() + static_cast<std::ptrdiff_t>(before),
                               [](int64_t d) { return d == 1; });
  if (input.shape.size() < own || !one || (last != 0 && input.shape.back() != last))
    fail("input %s of the fixture is %s, expected one group of prompts for one image", in_quotes(input.name).c_str(),
         to_string(input.shape).c_str());
}

struct Points {
  std::vector<float> coords, labels;
};
Points points_of(const Fixture& fixture) {
  Points out;
  const FixtureInput* points = find(fixture, kPoints);
  const FixtureInput* labels = find(fixture, kLabels);
  const FixtureInput* box = find(fixture, kBoxes);
  if (points != nullptr) {
    check_one_group(*points, 2, 2);
    out.coords = points->values;
    out.labels.assign(points->values.size() / 2, 1.0f);
  }
  if (labels != nullptr) {
    check_one_group(*labels, 1, 0);
    if (labels->values.size() != out.labels.size())
      fail("input %s of the fixture has %zu labels for %zu points", in_quotes(labels->name).c_str(),
           labels->values.size(), out.labels.size());
    out.labels = labels->values;
  }
  if (box != nullptr) {
    check_one_group(*box, 1, 4);
    out.coords.insert(out.coords.end(), box->values.begin(), box->values.end());
    out.labels.insert(out.labels.end(), {kBoxTopLeft, kBoxBottomRight});
  } else {
    out.coords.insert(out.coords.end(), 2, 0.0f);
    out.labels.push_back(kNoPoint);
  }
  return out;
}

}  // namespace

size_t prompted_graph(const fbs::Graph& root) {
  const fbs::Postprocess* post = root.postprocess();
  if (post == nullptr || post->task() != fbs::Task::PromptedSegmentation) return 0;
  const std::string name = text(post->params_as_PromptedSegmentation()->graph());
  unsigned i = 0;
  while (text(root.graphs()->Get(i)->name()) != name) ++i;
  return i + 1;
}

std::vector<size_t> graphs_of_fixtures(const fbs::Graph& root) {
  if (const size_t prompted = prompted_graph(root); prompted > 0) return {0, prompted};
  const fbs::Images* images = images_of(root);
  return images != nullptr ? std::vector<size_t>{vision_graph(root, *images), 0} : std::vector<size_t>{0};
}

Fixture without_prompts(const Fixture& fixture) {
  Fixture out = fixture;
  std::erase_if(out.inputs, is_prompt);
  return out;
}

Fixture with_prompts(const fbs::Graph& graph, const Fixture& fixture, const ComputedTensors& computed) {
  Fixture out = fixture;
  out.inputs.clear();
  const Points points = points_of(fixture);
  const int64_t count = static_cast<int64_t>(points.labels.size());
  const FixtureInput* mask = find(fixture, kMasks);
  const FixtureInput* has_mask = find(fixture, std::array{"has_mask_input"});
  for (const fbs::Port* port : *graph.inputs()) {
    const std::string name = text(port->name());
    const auto add = [&](Dims shape, std::vector<float> values) {
      out.inputs.push_back({name, std::move(shape), std::move(values)});
    };
    if (const auto given = computed.find(name); given != computed.end()) {
      add(given->second.shape, given->second.read());
    } else if (name == "point_coords") {
      add({1, count, 2}, points.coords);
    } else if (name == "point_labels") {
      add({1, count}, points.labels);
    } else if (name == "mask_input") {
      const fbs::Tensor& tensor = *graph.tensors()->Get(index_of(port->tensor()));
      const int64_t height = tensor.shape()->Get(1), width = tensor.shape()->Get(2);
      if (mask != nullptr) check_one_group(*mask, 2, width);
      add({1, 1, height, width},
          mask != nullptr ? mask->values : std::vector<float>(static_cast<size_t>(height * width), 0.0f));
      if (static_cast<int64_t>(out.inputs.back().values.size()) != height * width)
        fail("input %s of the fixture is %s, expected a mask of %dx%d", in_quotes(mask->name).c_str(),
             to_string(mask->shape).c_str(), static_cast<int>(height), static_cast<int>(width));
    } else if (name == "has_mask_input") {
      add({1}, has_mask != nullptr ? has_mask->values : std::vector<float>{mask != nullptr ? 1.0f : 0.0f});
    } else {
      fail("graph '%s' has an input %s, which is not a prompt", text(graph.name()), in_quotes(name).c_str());
    }
  }
  return out;
}

std::vector<GraphFixture> by_graph(const std::shared_ptr<const Model>& model, const Fixture& fixture,
                                   const ComputedTensors& computed) {
  const auto open = [&](size_t index) {
    std::shared_ptr<const Model> graph;
    if (const Status status = model->open_graph(index, &graph); !status.ok()) fail("%s", status.message().data());
    return graph;
  };
  if (const size_t index = prompted_graph(model->root()); index > 0) {
    const std::shared_ptr<const Model> prompted = open(index);
    return {{0, model, without_prompts(fixture)},
            {index, prompted, with_prompts(prompted->graph(), fixture, computed)}};
  }
  const fbs::Images* images = images_of(model->root());
  if (images == nullptr) return {{0, model, fixture}};
  const std::vector<Fixture> each = of_each_image(*images, fixture);
  if (each.size() != 1) fail("fixture %s has %zu images, expected one", fixture.name.c_str(), each.size());
  const size_t vision = vision_graph(model->root(), *images);
  return {{vision, open(vision), each.front()},
          {0, model, with_images(*images, fixture, {computed.at("image_features")})}};
}

}  // namespace ferry::parity
