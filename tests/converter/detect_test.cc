// Detector heads of every form become boxes on 0..1: the appended operators, computed by the oracle, equal a plain loop
// over rows. The input holds a head's raw values, so that any values can be tested.
#include "converter/detect/detector.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "converter/detect/detector_spec.h"
#include "converter/graph/ops.h"
#include "converter/pack/pack.h"
#include "converter/passes/passes.h"
#include "converter/reference/interpreter.h"
#include "sdk/model/model.h"
#include "tests/support/blobs.h"
#include "tests/support/scratch_folder.h"

namespace ferry::testing {
namespace {

using Rows = std::vector<std::vector<double>>;

constexpr int kHeight = 64, kWidth = 96;

double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }

// Outputs are consecutive slices of the input.
class Head {
 public:
  Head() : graph_(std::make_unique<Graph>()) {
    const Tensor image = graph_->add_input("image", {1, kHeight, kWidth, 3}, fbs::Layout::NCHW);
    flat_ = reshape(image, {kHeight * kWidth * 3});
    for (size_t i = 0; i < size_t{kHeight} * kWidth * 3; ++i)
      numbers_.push_back(3 * std::sin(0.37 * static_cast<double>(i)) + 0.2 * static_cast<double>(i % 7) - 0.5);
  }

  // In the file's order of dimensions; returns the values in that order.
  std::vector<double> add(const std::string& name, const std::vector<int32_t>& dims,
                          Tensor (*function)(Tensor) = nullptr) {
    const int count = std::accumulate(dims.begin(), dims.end(), 1, std::multiplies<>());
    Tensor x = reshape(slice(flat_, 0, used_, count), dims);
    if (function) x = function(x);
    const bool map = dims.size() == 4;
    if (map) x = transpose(x, {0, 2, 3, 1});
    graph_->add_output(name, x, map ? fbs::Layout::NCHW : fbs::Layout::Same);
    const auto begin = numbers_.begin() + used_;
    used_ += count;
    return {begin, begin + count};
  }
  // The same as rows, for outputs of two or three dimensions.
  Rows add_rows(const std::string& name, int rows, int width, Tensor (*function)(Tensor) = nullptr) {
    const std::vector<double> numbers = add(name, {1, rows, width}, function);
    Rows out;
    for (int r = 0; r < rows; ++r) out.emplace_back(numbers.begin() + r * width, numbers.begin() + (r + 1) * width);
    return out;
  }

  Graph& graph() { return *graph_; }

  detect::Detector decode(const std::string& detector) {
    const std::string path = folder_.write("detector.json", detector);
    return *detect::make_detector(*graph_, {.detector = path, .image = {}, .labels = {}});
  }
  // An output's values after the passes.
  std::vector<double> run(size_t output, std::vector<int> shape) {
    if (values_.empty()) {
      run_passes(*graph_, {});
      reference::Array input;
      input.shape = {1, kHeight, kWidth, 3};
      input.values = numbers_;
      values_ = reference::interpret(*graph_, {input});
    }
    const reference::Array& array = values_.at(graph_->table.outputs[output]->tensor);
    EXPECT_EQ(std::vector<int>(array.shape.dims.begin(), array.shape.dims.begin() + array.shape.rank), shape);
    return array.values;
  }
  void expect_rows(size_t output, const Rows& expected) {
    const std::vector<double> got =
        run(output, {1, static_cast<int>(expected.size()), static_cast<int>(expected[0].size())});
    for (size_t r = 0, i = 0; r < expected.size(); ++r)
      for (const double value : expected[r]) ASSERT_NEAR(got[i++], value, 1e-5 * std::max(1.0, std::fabs(value))) << r;
  }

 private:
  std::unique_ptr<Graph> graph_;
  Tensor flat_;
  std::vector<double> numbers_;
  int32_t used_ = 0;
  ScratchFolder folder_;
  std::map<TensorId, reference::Array> values_;
};

// The resulting graph packs into a blob that opens.
void expect_blob(Graph& graph) {
  run_passes(graph, {});
  AlignedBytes bytes(pack(graph));
  std::shared_ptr<Model> model;
  const Status status = Model::open_memory(bytes.data(), bytes.size(), &model);
  EXPECT_TRUE(status.ok()) << status.message();
}

struct Cell {
  int stride, row, column, anchor;
};

// In the order of rows: levels, cells, anchors.
std::vector<Cell> cells(const std::vector<int>& strides, int anchors = 1) {
  std::vector<Cell> all;
  for (const int stride : strides)
    for (int row = 0; row < (kHeight + stride - 1) / stride; ++row)
      for (int column = 0; column < (kWidth + stride - 1) / stride; ++column)
        for (int a = 0; a < anchors; ++a) all.push_back({stride, row, column, a});
  return all;
}

// From corners in pixels.
std::vector<double> on_0_to_1(double left, double top, double right, double bottom) {
  return {left / kWidth, top / kHeight, right / kWidth, bottom / kHeight};
}
std::vector<double> around(double x, double y, double width, double height) {
  return on_0_to_1(x - width / 2, y - height / 2, x + width / 2, y + height / 2);
}

const std::string kImage = R"("image": {"mean": [104, 117, 123], "std": 1, "colour": "bgr"})";

TEST(Detect, CornersAndProbabilitiesStayUnchanged) {
  Head head;
  const Rows scores = head.add_rows("p", 10, 3, sigmoid), boxes = head.add_rows("b", 10, 4);
  const detect::Detector done = head.decode(R"({"scores": {"outputs": "p"}, "threshold": 0.25, "overlap": 0.5,
      "boxes": {"outputs": "b", "form": "corners", "unit": "share"}, "maximum": 7, "across_classes": true,
      "labels": ["one", "two", "three"], )" +
                                            kImage + "}");
  EXPECT_EQ(done.boxes, 10);
  EXPECT_EQ(done.classes, 3);
  EXPECT_FALSE(done.recognised);
  head.expect_rows(0, boxes);
  Rows expected = scores;
  for (auto& row : expected)
    for (double& p : row) p = sigmoid_of(p);
  head.expect_rows(1, expected);
  const fbs::GraphT& table = head.graph().table;
  EXPECT_EQ(table.labels, (std::vector<std::string>{"one", "two", "three"}));
  ASSERT_EQ(table.postprocess->task, fbs::Task::Detection);
  const fbs::DetectionT& params = *table.postprocess->params.AsDetection();
  EXPECT_EQ(params.threshold, 0.25f);
  EXPECT_EQ(params.overlap, 0.5f);
  EXPECT_TRUE(params.across_classes);
  EXPECT_EQ(params.maximum, 7);
  EXPECT_EQ(table.preprocess->resize_mode, fbs::ResizeMode::Exact);
  EXPECT_EQ(table.preprocess->resize_h, kHeight);
  EXPECT_EQ(table.preprocess->color, fbs::ColorOrder::BGR);
  EXPECT_FLOAT_EQ(table.preprocess->mean[1], 117 / 255.0f);
  EXPECT_FLOAT_EQ(table.preprocess->std[1], 1 / 255.0f);
}

TEST(Detect, CornersInPixelsWithYFirstAndScoresOfOneOfAll) {
  Head head;
  const Rows raw = head.add_rows("out", 6, 9);
  head.decode(R"({"scores": {"outputs": 0, "channels": [5, null], "background": 1},
      "boxes": {"outputs": 0, "channels": [1, 5], "form": "corners", "y_first": true}, )" +
              kImage + "}");
  Rows boxes, scores;
  for (const auto& row : raw) {
    boxes.push_back(on_0_to_1(row[2], row[1], row[4], row[3]));
    double sum = 0;
    for (int c = 5; c < 9; ++c) sum += std::exp(row[static_cast<size_t>(c)]);
    scores.push_back({std::exp(row[5]) / sum, std::exp(row[7]) / sum, std::exp(row[8]) / sum});
  }
  head.expect_rows(0, boxes);
  head.expect_rows(1, scores);
}

// YOLOv8's: channels first, centre and size in pixels, the best class of each position.
TEST(Detect, CentreAndSizeWithChannelsFirst) {
  Head head;
  const int n = 9, width = 4 + 3 + 2 * 3;
  const std::vector<double> raw = head.add("output0", {1, width, n});
  head.decode(R"({"scores": {"outputs": 0, "channels": [4, 7], "layout": "first", "activation": "none"},
      "boxes": {"outputs": 0, "channels": [0, 4], "layout": "first", "form": "center_size"},
      "landmarks": {"outputs": 0, "channels": [7, null], "layout": "first", "numbers": 3},
      "best_class": true, )" +
              kImage + "}");
  const auto at = [&](int row, int channel) { return raw[static_cast<size_t>(channel * n + row)]; };
  Rows boxes, scores, landmarks;
  for (int r = 0; r < n; ++r) {
    boxes.push_back(around(at(r, 0), at(r, 1), at(r, 2), at(r, 3)));
    std::vector<double> row = {at(r, 4), at(r, 5), at(r, 6)};
    const double best = *std::max_element(row.begin(), row.end());
    for (double& score : row) score = score == best ? score : 0;
    scores.push_back(row);
    landmarks.push_back({at(r, 7) / kWidth, at(r, 8) / kHeight, at(r, 10) / kWidth, at(r, 11) / kHeight});
  }
  head.expect_rows(0, boxes);
  head.expect_rows(1, scores);
  head.expect_rows(2, landmarks);
}

// FCOS's and SCRFD's: one map per level, two anchors per position.
TEST(Detect, DistancesOfMapsWithAnchorsAtAPlace) {
  for (const double cell : {0.0, 0.5}) {
    Head head;
    const std::vector<int> strides = {16, 32};
    std::map<int, std::vector<double>> boxes, scores, quality, points;
    for (const int s : strides) {
      const std::string level = std::to_string(s);
      const int h = kHeight / s, w = kWidth / s;
      scores[s] = head.add("score_" + level, {1, 2 * 3, h, w});
      boxes[s] = head.add("bbox_" + level, {1, 2 * 4, h, w});
      quality[s] = head.add("centerness_" + level, {1, 2, h, w});
      points[s] = head.add("kps_" + level, {1, 2 * 2, h, w});
    }
    head.decode(R"({"scores": {"outputs": ["score_16", "score_32"]},
        "objectness": {"outputs": ["centerness_16", "centerness_32"], "join": "root"},
        "boxes": {"outputs": ["bbox_16", "bbox_32"], "form": "distances"},
        "landmarks": {"outputs": ["kps_16", "kps_32"], "form": "offsets"},
        "strides": [16, 32], "anchors": {"per_cell": 2, "cell": )" +
                std::to_string(cell) + "}, " + kImage + "}");
    Rows expected_boxes, expected_scores, expected_points;
    for (const auto& [s, row, column, anchor] : cells(strides, 2)) {
      const int h = kHeight / s, w = kWidth / s;
      const auto at = [&, s = s, row = row, column = column, anchor = anchor](
                          const std::map<int, std::vector<double>>& map, int width, int c) {
        return map.at(s)[static_cast<size_t>(((anchor * width + c) * h + row) * w + column)];
      };
      const double x = (column + cell) * s, y = (row + cell) * s;
      expected_boxes.push_back(on_0_to_1(x - at(boxes, 4, 0) * s, y - at(boxes, 4, 1) * s, x + at(boxes, 4, 2) * s,
                                         y + at(boxes, 4, 3) * s));
      std::vector<double> of_classes;
      for (int c = 0; c < 3; ++c)
        of_classes.push_back(std::sqrt(sigmoid_of(at(scores, 3, c)) * sigmoid_of(at(quality, 1, 0))));
      expected_scores.push_back(of_classes);
      expected_points.push_back({(x + at(points, 2, 0) * s) / kWidth, (y + at(points, 2, 1) * s) / kHeight});
    }
    head.expect_rows(0, expected_boxes);
    head.expect_rows(1, expected_scores);
    head.expect_rows(2, expected_points);
  }
}

// NanoDet's, and YOLOv8's before its last layer; strides do not divide the sides.
TEST(Detect, BinsOfDistances) {
  Head head;
  const std::vector<int> strides = {24, 48};
  const std::vector<Cell> places = cells(strides);
  const int bins = 5, classes = 2;
  const Rows raw = head.add_rows("output", static_cast<int>(places.size()), classes + 4 * bins);
  head.decode(R"({"scores": {"outputs": "output", "channels": [0, -20], "activation": "sigmoid"},
      "boxes": {"outputs": "output", "channels": [-20, null], "form": "distances", "bins": 5},
      "strides": [24, 48], )" +
              kImage + "}");
  Rows boxes;
  for (size_t r = 0; r < raw.size(); ++r) {
    const Cell& cell = places[r];
    double distance[4];
    for (int side = 0; side < 4; ++side) {
      double sum = 0, weighted = 0;
      for (int b = 0; b < bins; ++b) {
        const double e = std::exp(raw[r][static_cast<size_t>(classes + side * bins + b)]);
        sum += e;
        weighted += b * e;
      }
      distance[side] = weighted / sum * cell.stride;
    }
    const double x = (cell.column + 0.5) * cell.stride, y = (cell.row + 0.5) * cell.stride;
    boxes.push_back(on_0_to_1(x - distance[0], y - distance[1], x + distance[2], y + distance[3]));
  }
  head.expect_rows(0, boxes);
}

// SSD's and RetinaFace's; UltraFace's even cells.
TEST(Detect, OffsetsFromAnchors) {
  for (const bool even : {false, true}) {
    Head head;
    const std::vector<int> strides = {16, 48};
    const std::vector<Cell> places = cells(strides, 2);
    const Rows boxes = head.add_rows("loc", static_cast<int>(places.size()), 4);
    head.add_rows("conf", static_cast<int>(places.size()), 2, softmax);
    const Rows points = head.add_rows("landms", static_cast<int>(places.size()), 4);
    head.decode(std::string(R"({"scores": {"outputs": "conf", "background": 0},
        "boxes": {"outputs": "loc", "form": "offsets", "variances": [0.1, 0.2]},
        "landmarks": {"outputs": "landms", "form": "offsets", "variance": 0.1},
        "strides": [16, 48], "anchors": {"sizes": [[10, [20, 80]], [60, [30, 70]]], "clip": true, "even": )") +
                (even ? "true}, " : "false}, ") + kImage + "}");
    const double sizes[2][2][2] = {{{10, 10}, {20, 80}}, {{60, 60}, {30, 70}}};
    Rows expected, expected_points;
    for (size_t r = 0; r < places.size(); ++r) {
      const Cell& cell = places[r];
      const auto& size = sizes[cell.stride == 48][cell.anchor];
      const double w = std::min<double>(size[0], kWidth), h = std::min<double>(size[1], kHeight);
      const double x = (cell.column + 0.5) * (even ? kWidth / std::ceil(1.0 * kWidth / cell.stride) : cell.stride);
      const double y = (cell.row + 0.5) * (even ? kHeight / std::ceil(1.0 * kHeight / cell.stride) : cell.stride);
      const std::vector<double>& t = boxes[r];
      expected.push_back(
          around(x + 0.1 * t[0] * w, y + 0.1 * t[1] * h, w * std::exp(0.2 * t[2]), h * std::exp(0.2 * t[3])));
      std::vector<double> of_points;
      for (size_t p = 0; p < 4; p += 2) {
        of_points.push_back((x + 0.1 * points[r][p] * w) / kWidth);
        of_points.push_back((y + 0.1 * points[r][p + 1] * h) / kHeight);
      }
      expected_points.push_back(of_points);
    }
    head.expect_rows(0, expected);
    head.expect_rows(2, expected_points);
    EXPECT_EQ(head.run(1, {1, static_cast<int>(places.size()), 1}).size(), places.size());
  }
}

// Liu et al.'s sizes by ratios: a square, a larger one, and two for each ratio.
TEST(Detect, SizesByRatios) {
  Head head;
  const std::vector<Cell> places = cells({32}, 4);
  const Rows boxes = head.add_rows("loc", static_cast<int>(places.size()), 4);
  head.add_rows("conf", static_cast<int>(places.size()), 3);
  head.decode(R"({"scores": {"outputs": "conf", "background": -1}, "boxes": {"outputs": "loc", "form": "offsets"},
      "strides": [32], "anchors": {"sizes": [{"minimum": 20, "maximum": 45, "ratios": [4]}]}, )" +
              kImage + "}");
  const double sizes[][2] = {{20, 20}, {30, 30}, {40, 10}, {10, 40}};
  Rows expected;
  for (size_t r = 0; r < places.size(); ++r) {
    const Cell& cell = places[r];
    const auto& [w, h] = sizes[cell.anchor];
    const std::vector<double>& t = boxes[r];
    expected.push_back(around((cell.column + 0.5) * 32 + t[0] * w, (cell.row + 0.5) * 32 + t[1] * h, w * std::exp(t[2]),
                              h * std::exp(t[3])));
  }
  head.expect_rows(0, expected);
  EXPECT_EQ(head.run(1, {1, static_cast<int>(places.size()), 2}).size(), 2 * places.size());
}

TEST(Detect, AnchorsThatAreListed) {
  Head head;
  const Rows boxes = head.add_rows("loc", 2, 4);
  head.add_rows("conf", 2, 1);
  head.decode(R"({"scores": {"outputs": "conf"}, "boxes": {"outputs": "loc", "form": "offsets"},
      "anchors": {"boxes": [[0.5, 0.25, 0.5, 0.125], [0.1, 0.9, 1, 1]]}, )" +
              kImage + "}");
  const double anchors[][4] = {{0.5, 0.25, 0.5, 0.125}, {0.1, 0.9, 1, 1}};
  Rows expected;
  for (size_t r = 0; r < 2; ++r) {
    const auto& [x, y, w, h] = anchors[r];
    const std::vector<double>& t = boxes[r];
    expected.push_back(around((x + t[0] * w) * kWidth, (y + t[1] * h) * kHeight, w * std::exp(t[2]) * kWidth,
                              h * std::exp(t[3]) * kHeight));
  }
  head.expect_rows(0, expected);
}

// YOLOX's: the anchor is the position's cell.
TEST(Detect, GridOffsets) {
  Head head;
  const std::vector<Cell> places = cells({8, 16, 32});
  const Rows raw = head.add_rows("output", static_cast<int>(places.size()), 7);
  const detect::Detector done = *detect::make_detector(head.graph(), {.detector = "yolox", .image = {}, .labels = {}});
  EXPECT_EQ(done.classes, 2);
  Rows boxes, scores;
  for (size_t r = 0; r < raw.size(); ++r) {
    const auto& [s, row, column, anchor] = places[r];
    const std::vector<double>& t = raw[r];
    boxes.push_back(around((column + t[0]) * s, (row + t[1]) * s, std::exp(t[2]) * s, std::exp(t[3]) * s));
    scores.push_back({t[5] >= t[6] ? t[4] * t[5] : 0, t[6] >= t[5] ? t[4] * t[6] : 0});
  }
  head.expect_rows(0, boxes);
  head.expect_rows(1, scores);
  expect_blob(head.graph());
}

// YOLOv5's and YOLOv3's before their last layer: [1,anchors,H,W,values] or [1,anchors*values,H,W].
TEST(Detect, SigmoidsOfPlacesInCells) {
  for (const bool five : {false, true}) {
    for (const bool square : {false, true}) {
      Head head;
      const int s = 32, h = kHeight / s, w = kWidth / s, a = 2, n = 6;
      const std::vector<double> raw = head.add("map", five ? std::vector{1, a, h, w, n} : std::vector{1, a * n, h, w});
      const std::string part = R"({"outputs": "map", "activation": "sigmoid", "channels": )";
      head.decode(R"({"scores": )" + part + R"([5, null]}, "objectness": )" + part + R"([4, 5]},
          "boxes": {"outputs": "map", "channels": [0, 4], "form": ")" +
                  (square ? "sigmoid_square" : "sigmoid_exp") + R"("},
          "strides": [32], "anchors": {"sizes": [[[10, 13], [33, 23]]]}, )" +
                  kImage + "}");
      const double sizes[][2] = {{10, 13}, {33, 23}};
      Rows expected, scores;
      for (int row = 0; row < h; ++row)
        for (int column = 0; column < w; ++column)
          for (int anchor = 0; anchor < a; ++anchor) {
            const auto at = [&](int c) {
              return raw[static_cast<size_t>(five ? ((anchor * h + row) * w + column) * n + c
                                                  : ((anchor * n + c) * h + row) * w + column)];
            };
            const auto place = [&](int c) { return square ? 2 * sigmoid_of(at(c)) - 0.5 : sigmoid_of(at(c)); };
            const auto side = [&](int c) { return square ? std::pow(2 * sigmoid_of(at(c)), 2) : std::exp(at(c)); };
            expected.push_back(around((column + place(0)) * s, (row + place(1)) * s, side(2) * sizes[anchor][0],
                                      side(3) * sizes[anchor][1]));
            scores.push_back({sigmoid_of(at(4)) * sigmoid_of(at(5))});
          }
      head.expect_rows(0, expected);
      head.expect_rows(1, scores);
    }
  }
}

// YOLOv5's rows before its last layer, flattened: all of a level's first anchor, then all of the second.
TEST(Detect, RowsThatGoAnchorByAnchor) {
  Head head;
  const int s = 32, h = kHeight / s, w = kWidth / s;
  const Rows raw = head.add_rows("out", 2 * h * w, 5);
  head.decode(R"({"scores": {"outputs": "out", "channels": [4, 5]},
      "boxes": {"outputs": "out", "channels": [0, 4], "form": "sigmoid_exp"},
      "strides": [32], "anchors": {"sizes": [[10, 30]], "first": true}, )" +
              kImage + "}");
  Rows expected;
  for (const double size : {10.0, 30.0})
    for (int place = 0; place < h * w; ++place) {
      const std::vector<double>& t = raw[expected.size()];
      expected.push_back(around((place % w + sigmoid_of(t[0])) * s, (place / w + sigmoid_of(t[1])) * s,
                                std::exp(t[2]) * size, std::exp(t[3]) * size));
    }
  head.expect_rows(0, expected);
}

// Heads identified by their outputs, in any order.
TEST(Detect, KnownHeadsAreRecognised) {
  const auto recognised = [](Head& head) -> std::string {
    const auto done = detect::make_detector(head.graph(), {});
    if (!done || !done->recognised) return "";
    expect_blob(head.graph());
    return done->name;
  };
  const int places = static_cast<int>(cells({8, 16, 32}).size());
  Head multipose;
  multipose.add_rows("output_0", 6, 3 * 17 + 4 + 1, sigmoid);
  EXPECT_EQ(recognised(multipose), "movenet_multipose");
  Head ultraface;
  int anchors = 0;
  for (const auto& [stride, count] : {std::pair(8, 3), {16, 2}, {32, 2}, {64, 3}})
    anchors += count * static_cast<int>(cells({stride}).size());
  ultraface.add_rows("scores", anchors, 2, softmax);
  ultraface.add_rows("boxes", anchors, 4);
  EXPECT_EQ(recognised(ultraface), "ultraface");
  EXPECT_EQ(ultraface.graph().table.labels, std::vector<std::string>{"face"});

  Head yunet;
  for (const auto& [name, width] : {std::pair("cls_", 1), {"obj_", 1}, {"bbox_", 4}, {"kps_", 10}})
    for (const int stride : {8, 16, 32})
      yunet.add_rows(name + std::to_string(stride), static_cast<int>(cells({stride}).size()), width,
                     width == 1 ? sigmoid : nullptr);
  EXPECT_EQ(recognised(yunet), "yunet");

  Head retinaface;
  retinaface.add_rows("586", 2 * places, 2, softmax);
  retinaface.add_rows("output0", 2 * places, 4);
  retinaface.add_rows("585", 2 * places, 10);
  EXPECT_EQ(recognised(retinaface), "retinaface");

  for (const bool points : {false, true}) {
    Head scrfd;
    for (const int width : {1, 4, 10})
      for (const int stride : {32, 8, 16})
        if (width < 10 || points)
          scrfd.add_rows(std::to_string(100 * width + stride), 2 * static_cast<int>(cells({stride}).size()), width,
                         width == 1 ? sigmoid : nullptr);
    EXPECT_EQ(recognised(scrfd), "scrfd");
    EXPECT_EQ(scrfd.graph().table.outputs.size(), points ? 3u : 2u);
  }

  Head detr;
  detr.add_rows("logits", 20, 6);
  detr.add_rows("pred_boxes", 20, 4, sigmoid);
  EXPECT_EQ(recognised(detr), "detr");

  // A number of rows that UltraFace does not have at this size.
  Head other;
  other.add_rows("scores", anchors - 1, 2, softmax);
  other.add_rows("boxes", anchors - 1, 4);
  EXPECT_EQ(recognised(other), "");
  EXPECT_EQ(other.graph().table.outputs.size(), 2u);
  EXPECT_EQ(other.graph().table.postprocess, nullptr);
}

// Heads that cannot be identified fit the head that the user names.
TEST(Detect, KnownHeadsAreNamed) {
  const auto named = [](Head& head, const char* name, int boxes, int classes) {
    const auto done = detect::make_detector(head.graph(), {.detector = name, .image = {}, .labels = {}});
    ASSERT_TRUE(done) << name;
    EXPECT_EQ(done->boxes, boxes) << name;
    EXPECT_EQ(done->classes, classes) << name;
    expect_blob(head.graph());
  };
  const auto count = [](const std::vector<int>& strides) { return static_cast<int>(cells(strides).size()); };
  for (const bool decoded : {false, true}) {
    Head ssd;
    const int rows = 6 * count({16, 32, 64, 100, 150, 300});
    ssd.add_rows("scores", rows, 4, softmax);
    ssd.add_rows("boxes", rows, 4, decoded ? tanh : nullptr);
    named(ssd, "ssd", rows, 3);
  }
  Head yunet;
  const int rows = 3 * count({8}) + 2 * count({16, 32}) + 3 * count({64});
  yunet.add_rows("loc", rows, 14);
  yunet.add_rows("conf", rows, 2, softmax);
  yunet.add_rows("iou", rows, 1);
  named(yunet, "yunet_2022", rows, 1);
  EXPECT_EQ(yunet.graph().table.outputs.size(), 3u);
  Head yolov5;
  yolov5.add_rows("output0", 50, 5 + 4, tanh);
  named(yolov5, "yolov5", 50, 4);
  Head yolov8;
  yolov8.add("output0", {1, 4 + 3, 33}, tanh);
  named(yolov8, "yolov8", 33, 3);
  const auto persons = [](Head& head) {
    const fbs::GraphT& table = head.graph().table;
    EXPECT_EQ(table.outputs.size(), 4u);
    EXPECT_EQ(table.postprocess->params.AsDetection()->points.size(), 17u);
  };
  Head pose;
  pose.add("output0", {1, 4 + 1 + 3 * 17, 33}, sigmoid);
  named(pose, "yolov8_pose", 33, 1);
  persons(pose);
  Head multipose;
  multipose.add_rows("output_0", 6, 3 * 17 + 4 + 1, sigmoid);
  named(multipose, "movenet_multipose", 6, 1);
  persons(multipose);
  Head maps;
  for (const int stride : {8, 16, 32})
    maps.add("map" + std::to_string(stride), {1, 64 + 2, kHeight / stride, kWidth / stride});
  named(maps, "yolov8", count({8, 16, 32}), 2);
  Head nanodet;
  nanodet.add_rows("output", count({8, 16, 32, 64}), 7 + 32, tanh);
  named(nanodet, "nanodet", count({8, 16, 32, 64}), 7);
  Head fcos;
  const int places = count({8, 16, 32, 64, 128});
  fcos.add_rows("cls_logits", places, 5);
  fcos.add_rows("bbox_regression", places, 4, relu);
  fcos.add_rows("bbox_ctrness", places, 1);
  named(fcos, "fcos", places, 5);
}

std::string head_refusal(Head& head, const std::string& detector) {
  try {
    head.decode(detector);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Detect, MismatchesGiveOneMessage) {
  const auto refused = [](const std::string& detector) {
    Head head;
    head.add_rows("scores", 24, 2);
    head.add_rows("boxes", 24, 4);
    head.add_rows("fewer", 23, 4);
    head.add_rows("made", 24, 2, [](Tensor x) { return tanh(x) * sigmoid(x); });
    return head_refusal(head, detector);
  };
  const std::string scores = R"("scores": {"outputs": "scores"}, )", boxes = R"("boxes": {"outputs": "boxes"}, )";
  const std::pair<std::string, std::string> cases[] = {
      {"{", "detector.json"},
      {"[]", "detector.json: expected an object"},
      {"{" + scores + kImage + "}", "detector.json: boxes is missing: expected an object"},
      {"{" + scores + R"("boxes": {"outputs": "box"}, )" + kImage + "}",
       "detector.json: boxes: there is no output 'box': the file has scores, boxes, fewer, made"},
      {"{" + scores + R"("boxes": {"outputs": 4}, )" + kImage + "}", "detector.json: boxes: there is no output 4"},
      {"{" + scores + R"("boxes": {}, )" + kImage + "}", "detector.json: boxes: outputs: expected either that"},
      {"{" + scores + R"("boxes": {"outputs": "scores"}, )" + kImage + "}",
       "detector.json: boxes: output 'scores' gives 2 values per row, expected 4"},
      {"{" + scores + R"("boxes": {"outputs": "boxes", "channels": [1, 5]}, )" + kImage + "}",
       "detector.json: boxes: channels 1 to 5 of output 'boxes', which has 4"},
      {"{" + scores + R"("boxes": {"outputs": "fewer"}, )" + kImage + "}",
       "detector.json: scores have 24 rows and the boxes 23: expected equal numbers"},
      {"{" + scores + R"("boxes": {"outputs": ["boxes", "made"]}, )" + kImage + "}",
       "output 'boxes' has rows of 4 values, 'made' of 2: expected equal numbers"},
      {"{" + scores + R"("boxes": {"outputs": "boxes", "form": "circle"}, )" + kImage + "}",
       "detector.json: boxes: form: expected one of corners, center_size, distances"},
      {"{" + scores + R"("boxes": {"outputs": "boxes", "form": "distances"}, )" + kImage + "}",
       "detector.json: strides are missing"},
      {"{" + scores + R"("boxes": {"outputs": "boxes", "form": "distances"}, "strides": [8], )" + kImage + "}",
       "the outputs have 24 rows, but the strides and anchors make 96 of an image of 64x96"},
      {"{" + scores + boxes + R"("treshold": 0.5, )" + kImage + "}",
       R"(detector.json has no "treshold": it has scores)"},
      {"{" + scores + boxes + R"("threshold": 50, )" + kImage + "}", "threshold: expected a number from 0 to 1"},
      {"{" + scores + boxes + R"("labels": ["a"], )" + kImage + "}",
       "detector.json has 1 names, but the network has 2 classes"},
      {R"({"scores": {"outputs": "made"}, )" + boxes + kImage + "}",
       "detector.json: scores: what computes output 'made' does not show whether its values are probabilities"},
      {"{" + scores + boxes + R"("strides": [])" + "}", "detector.json: the preprocessing is unknown"},
      {"{" + scores + boxes + R"("image": {"scale": 2}})", R"(detector.json: image has no "scale")"},
      {"{" + scores + boxes + R"("image": {"resize": "squeeze"}})", R"(the resizing "squeeze" is none of stretch)"},
      {"{" + scores + boxes + R"("image": {"mean": [1, 2]}})", "mean: 2 numbers for an input of 3 channels"},
      {"{" + scores + boxes + R"("image": {"colour": "cmyk"}})", R"(the colour "cmyk" is none of rgb, bgr, gray)"},
      {"{" + scores + boxes + R"("image": {"std": 0}})", "std: 0, expected more than 0"},
      {"{" + scores + boxes + R"("landmarks": {"outputs": "boxes", "names": ["a"]}, )" + kImage + "}",
       "detector.json: landmarks: 1 names for 2 points"},
      {"{" + scores + boxes + R"("landmarks": {"outputs": "boxes", "names": "body"}, )" + kImage + "}",
       R"(detector.json: landmarks: names: expected "coco" or a list of names)"},
      {"{" + scores + boxes + R"("landmarks": {"outputs": "boxes", "lines": [[0, 2]]}, )" + kImage + "}",
       "detector.json: landmarks: a line to point 2 of 2"},
      {"{" + scores + boxes + R"("landmarks": {"outputs": "boxes", "lines": [0, 1]}, )" + kImage + "}",
       "detector.json: landmarks: lines: expected a list of lines, which are lists of points"},
      {"{" + scores + boxes + R"("landmarks": {"outputs": "boxes", "scored": true}, )" + kImage + "}",
       "detector.json: landmarks: scored: the third of a point's numbers is its score, and there are 2"},
      {"{" + scores + boxes + R"("picture": {}})", R"("picture" is called "image" since 0.3)"},  // words: ok
  };
  for (const auto& [detector, sentence] : cases)
    EXPECT_NE(refused(detector).find(sentence), std::string::npos) << detector << "\n" << refused(detector);
}

TEST(Detect, LandmarksHaveScoresNamesAndLines) {
  Head head;
  const Rows rows = head.add_rows("o", 6, 11);
  head.decode(R"({"scores": {"outputs": "o", "channels": [4, 5], "activation": "none"},
      "boxes": {"outputs": "o", "channels": [0, 4], "unit": "share"},
      "landmarks": {"outputs": "o", "channels": [5, 11], "unit": "share", "numbers": 3, "y_first": true, "scored": true,
                    "names": ["left", "right"], "lines": [[0, 1, 0]]}, )" +
              kImage + "}");
  Rows points, scores;
  for (const auto& row : rows) {
    points.push_back({row[6], row[5], row[9], row[8]});
    scores.push_back({row[7], row[10]});
  }
  head.expect_rows(2, points);
  head.expect_rows(3, scores);
  const fbs::DetectionT& params = *head.graph().table.postprocess->params.AsDetection();
  EXPECT_EQ(params.points, (std::vector<std::string>{"left", "right"}));
  EXPECT_EQ(params.lines, (std::vector<uint16_t>{0, 1, 1, 0}));
  expect_blob(head.graph());
}

// An image of integers, whose first 51 are the points.
TEST(Detect, MoveNetFindsOnePerson) {
  Graph graph;
  const Tensor image = graph.add_input("image", {1, 8, 8, 3}, fbs::Layout::Same, fbs::DType::Int32);
  fbs::CastT real;
  real.to = fbs::DType::Float32;
  const Tensor flat = reshape(graph.add_op("", real, {image}), {192}) * (1.0 / 256);
  graph.add_output("out", reshape(slice(flat, 0, 0, 51), {1, 1, 17, 3}), fbs::Layout::Same);
  const auto found = detect::make_detector(graph, detect::DetectorRequest{});
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->name, "movenet");
  EXPECT_TRUE(found->recognised);
  EXPECT_EQ(graph.table.labels, std::vector<std::string>{"person"});
  EXPECT_EQ(graph.dtype(graph.table.inputs[0]->tensor), fbs::DType::Float32);
  expect_blob(graph);
  reference::Array input;
  input.shape = {1, 8, 8, 3};
  for (int i = 0; i < 192; ++i) input.values.push_back(i * 37 % 256);
  const auto values = reference::interpret(graph, {input});
  const auto output = [&](size_t index) { return values.at(graph.table.outputs[index]->tensor).values; };
  std::vector<double> xy, scores, box = {1, 1, 0, 0};
  double mean = 0;
  for (int p = 0; p < 17; ++p) {
    const double y = input.values[static_cast<size_t>(3 * p)] / 256,
                 x = input.values[static_cast<size_t>(3 * p + 1)] / 256;
    scores.push_back(input.values[static_cast<size_t>(3 * p + 2)] / 256);
    mean += scores.back() / 17;
    xy.insert(xy.end(), {x, y});
    box = {std::min(box[0], x), std::min(box[1], y), std::max(box[2], x), std::max(box[3], y)};
  }
  EXPECT_EQ(output(0), box);
  EXPECT_NEAR(output(1).at(0), mean, 1e-6);
  EXPECT_EQ(output(2), xy);
  EXPECT_EQ(output(3), scores);
}

TEST(Detect, MoveNetOfAnotherOutputIsRefused) {
  Head head;
  head.add("out", {1, 17, 3});
  try {
    detect::make_detector(head.graph(), {.detector = "movenet", .image = {}, .labels = {}});
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "--detect movenet: expected one image and one output [1,1,17,3]");
  }
}

TEST(Detect, EveryKnownDetectorIsWellFormed) {
  EXPECT_GE(detect::known_detectors().size() + 1, detect::known_names().size());
  for (const detect::DetectorSpec& detector : detect::known_detectors())
    EXPECT_TRUE(detector.image.given()) << detector.name;
}

TEST(ImageSettings, ALaterOptionOverridesAnEarlierOne) {
  ImageSettings base, over;
  base.mean = {104, 117, 123};
  base.std = {1};
  base.resize = "letterbox";
  base.fill = {114};
  over.mean = {0.5};
  fbs::PreprocessT preprocess = blob_preprocessing(overridden(base, over), 20, 30, 3);
  EXPECT_EQ(preprocess.mean, (std::vector<float>{0.5f, 0.5f, 0.5f}));
  EXPECT_FLOAT_EQ(preprocess.std[2], 1 / 255.0f);
  EXPECT_FLOAT_EQ(preprocess.fill[0], 114 / 255.0f);
  EXPECT_EQ(preprocess.resize_mode, fbs::ResizeMode::Fit);
  EXPECT_EQ(preprocess.crop_w, 30);
  EXPECT_FALSE(preprocess.corner);
  over = {};
  over.resize = "256";
  over.fill = {};
  base.fill = {};
  preprocess = blob_preprocessing(overridden(base, over), 224, 224, 3);
  EXPECT_EQ(preprocess.resize_mode, fbs::ResizeMode::ShortestEdge);
  EXPECT_EQ(preprocess.resize_h, 256);
  EXPECT_EQ(preprocess.crop_h, 224);
  base = {};
  base.range = 255;
  preprocess = blob_preprocessing(base, 8, 8, 1);
  EXPECT_EQ(preprocess.mean, std::vector<float>{0});
  EXPECT_EQ(preprocess.color, fbs::ColorOrder::Gray);
  EXPECT_FLOAT_EQ(preprocess.std[0], 1 / 255.0f);
}

}  // namespace
}  // namespace ferry::testing
