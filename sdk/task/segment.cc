#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "sdk/task/sampler.h"

namespace ferry::task {
namespace {

constexpr float kOutside = 0, kInside = 1, kTopLeft = 2, kBottomRight = 3, kNoPoint = -1;

// Verification checked that the ports exist (sdk/model/verify_recipes.h).
size_t place_of(const flatbuffers::Vector<flatbuffers::Offset<fbs::Port>>& ports, std::string_view name) {
  unsigned i = 0;
  while (ports.Get(i)->name()->string_view() != name) ++i;
  return i;
}

// The session of the graph that accepts prompts.
class Prompted {
 public:
  explicit Prompted(Session& session) : session_(session), graph_(session.model().graph()) {}

  Session& session() { return session_; }
  size_t input(std::string_view name) const { return place_of(*graph_.inputs(), name); }
  float* data(std::string_view input_name) {
    return static_cast<float*>(session_.data(graph_.inputs()->Get(static_cast<unsigned>(input(input_name)))->tensor()));
  }
  const Shape& shape(std::string_view input_name) const {
    return session_.shape(graph_.inputs()->Get(static_cast<unsigned>(input(input_name)))->tensor());
  }
  TensorId output(std::string_view name) const {
    return graph_.outputs()->Get(static_cast<unsigned>(place_of(*graph_.outputs(), name)))->tensor();
  }

 private:
  Session& session_;
  const fbs::Graph& graph_;
};

struct Prompt {
  float x, y, label;
};

Status check_prompts(const TaskRequest& request, int width, int height) {
  if (request.points.empty() && request.box == nullptr) {
    return error(FERRY_INVALID_ARGUMENT, "no prompt: give points or a box");
  }
  for (const ferry_point& p : request.points) {
    if (!(p.x >= 0 && p.y >= 0 && p.x <= static_cast<float>(width) && p.y <= static_cast<float>(height))) {
      return error(FERRY_INVALID_ARGUMENT, "point %g,%g lies outside the image, which has %dx%d pixels",
                   static_cast<double>(p.x), static_cast<double>(p.y), width, height);
    }
  }
  if (const ferry_box* b = request.box) {
    if (!(b->left < b->right && b->top < b->bottom)) {
      return error(FERRY_INVALID_ARGUMENT, "box %g,%g,%g,%g is empty: it goes from left and top to right and bottom",
                   static_cast<double>(b->left), static_cast<double>(b->top), static_cast<double>(b->right),
                   static_cast<double>(b->bottom));
    }
    if (!(b->left < static_cast<float>(width) && b->top < static_cast<float>(height) && b->right > 0 &&
          b->bottom > 0)) {
      return error(FERRY_INVALID_ARGUMENT, "box %g,%g,%g,%g lies outside the image, which has %dx%d pixels",
                   static_cast<double>(b->left), static_cast<double>(b->top), static_cast<double>(b->right),
                   static_cast<double>(b->bottom), width, height);
    }
  }
  return {};
}

// The prompts in input coordinates. Without a box, a padding point ends the points, as in training (Kirillov et al.
// 2023).
std::vector<Prompt> seen_prompts(const Networks& networks, const TaskRequest& request) {
  const image::Geometry& g = networks.intake.plan().geometry;
  const auto seen = [&g](float x, float y, float label) {
    return Prompt{static_cast<float>(x * g.scale_x + g.shift_x), static_cast<float>(y * g.scale_y + g.shift_y), label};
  };
  std::vector<Prompt> prompts;
  for (const ferry_point& p : request.points) prompts.push_back(seen(p.x, p.y, p.outside ? kOutside : kInside));
  if (const ferry_box* b = request.box) {
    prompts.push_back(seen(b->left, b->top, kTopLeft));
    prompts.push_back(seen(b->right, b->bottom, kBottomRight));
  } else {
    prompts.push_back({0, 0, kNoPoint});
  }
  return prompts;
}

Status encode(Networks& networks, const TaskRequest& request, Prompted& prompted) {
  networks.encoded = networks.plain = false;
  networks.former.clear();
  FERRY_TRY(set_image(networks.session, request.frame, &networks.intake));
  FERRY_TRY(networks.session.run());
  networks.width = request.frame.seen_width();
  networks.height = request.frame.seen_height();
  const fbs::Port& output = *networks.graph().outputs()->Get(0);
  const std::string_view name = output.name()->string_view();
  const Shape& shape = networks.session.shape(output.tensor());
  if (prompted.shape(name) != shape) FERRY_TRY(prompted.session().resize(prompted.input(name), shape));
  std::memcpy(prompted.data(name), networks.session.data(output.tensor()),
              static_cast<size_t>(shape.elements()) * sizeof(float));
  networks.encoded = true;
  return {};
}

Status write_prompts(const Networks& networks, const TaskRequest& request, Prompted& prompted) {
  const std::vector<Prompt> prompts = seen_prompts(networks, request);
  const auto count = static_cast<int32_t>(prompts.size());
  if (prompted.shape("point_labels")[1] != count) {
    const std::span<Shape> shapes = prompted.session().input_shapes();
    shapes[prompted.input("point_coords")] = {1, count, 2};
    shapes[prompted.input("point_labels")] = {1, count};
    FERRY_TRY(prompted.session().resize(shapes));
  }
  float *coords = prompted.data("point_coords"), *labels = prompted.data("point_labels");
  for (const Prompt& p : prompts) {
    *coords++ = p.x;
    *coords++ = p.y;
    *labels++ = p.label;
  }
  float* mask = prompted.data("mask_input");
  const auto elements = static_cast<size_t>(prompted.shape("mask_input").elements());
  if (request.refine && networks.former.size() != elements) {
    return error(FERRY_INVALID_ARGUMENT, "no mask to refine: the last run gave none for this image");
  }
  *prompted.data("has_mask_input") = request.refine ? 1.0f : 0.0f;
  if (request.refine) {
    std::copy(networks.former.begin(), networks.former.end(), mask);
  } else {
    std::fill(mask, mask + elements, 0.0f);
  }
  return {};
}

// Selects one of the network's masks. Several prompts describe one object, for which the first mask is trained. One
// point is ambiguous, and the mask with the best estimated quality is selected.
Status choose(const TaskRequest& request, std::span<const float> qualities, size_t* chosen) {
  if (request.mask_index < 0 || static_cast<size_t>(request.mask_index) > qualities.size()) {
    return error(FERRY_INVALID_ARGUMENT, "mask %d: the network outputs %zu; 0 selects the best", request.mask_index,
                 qualities.size());
  }
  *chosen = 0;
  if (request.mask_index > 0) {
    *chosen = static_cast<size_t>(request.mask_index) - 1;
  } else if (request.points.size() == 1 && request.box == nullptr && qualities.size() > 1) {
    const auto best = std::max_element(qualities.begin() + 1, qualities.end());
    *chosen = static_cast<size_t>(best - qualities.begin());
  }
  return {};
}

}  // namespace

Status segment(Networks& networks, const TaskRequest& request, Answer* answer) {
  Prompted prompted(*networks.second);
  const bool given = request.frame.given();
  if (!given && !networks.encoded) return error(FERRY_INVALID_ARGUMENT, "no image: the first run needs one");
  FERRY_TRY(check_prompts(request, given ? request.frame.seen_width() : networks.width,
                          given ? request.frame.seen_height() : networks.height));
  if (given) FERRY_TRY(encode(networks, request, prompted));
  FERRY_TRY(write_prompts(networks, request, prompted));
  Session& session = prompted.session();
  const bool unchanged = std::exchange(networks.plain, false) && !request.refine;
  FERRY_TRY(session.run(unchanged ? StaticInputs::Unchanged : StaticInputs::Changed));
  networks.plain = !request.refine;

  const TensorId logits = prompted.output("mask_logits"), qualities = prompted.output("mask_qualities");
  const Shape& shape = session.shape(logits);
  const std::span quality(static_cast<const float*>(session.data(qualities)), static_cast<size_t>(shape[3]));
  size_t chosen = 0;
  FERRY_TRY(choose(request, quality, &chosen));
  FERRY_TRY(answer->pixels.allocate(networks.width, networks.height, 1));
  const float* masks = static_cast<const float*>(session.data(logits));
  networks.former.resize(static_cast<size_t>(shape[1]) * static_cast<size_t>(shape[2]));
  for (size_t i = 0; i < networks.former.size(); ++i) {
    networks.former[i] = masks[i * static_cast<size_t>(shape[3]) + chosen];
  }
  const Grid grid = {networks.former.data(), shape[1], shape[2], 1};
  Sampler sampler(grid, input_extent(networks.session), networks.intake.plan().geometry, networks.width,
                  networks.height);
  sampler.for_each_row(*session.pool(), 0, networks.height, [&](int y, const float* row, size_t) {
    uint8_t* to = answer->pixels.row(y);
    int x = 0, from = 0;
    bool inside = row[sampler.column(0).first] > 0;  // whether the pixels from `from` to `x` are inside
    const auto fill = [&] {
      std::memset(to + from, inside ? 255 : 0, static_cast<size_t>(x - from));
      from = x;
    };
    for (const int border : sampler.borders()) {
      const bool first = row[sampler.column(x).first] > 0, next = row[sampler.column(x).next] > 0;
      if (first != inside) fill();
      inside = first;
      if (first == next) {  // all pixels between two cells of equal sign have that sign
        x = border;
        continue;
      }
      fill();
      for (; x < border; ++x) to[x] = sampler.at(row, x) > 0 ? 255 : 0;
      from = x;
    }
    fill();
  });
  answer->quality = quality[chosen];
  return {};
}

}  // namespace ferry::task
