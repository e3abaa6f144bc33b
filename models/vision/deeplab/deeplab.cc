#include "models/vision/deeplab/deeplab.h"

#include "models/blocks/mobilenetv3_trunk.h"
#include "models/blocks/resnet_trunk.h"
#include "models/vision/classifier.h"

namespace ferry {
namespace {

// Inputs of the heads.
struct Maps {
  Tensor image;
  Tensor low;   // 1/8 of the image's size; MobileNetV3 only
  Tensor high;  // the last feature map
};

Maps resnet(const Weights& w, const ResNetConfig& config, const ImageOptions& options) {
  const Tensor image = image_input(w.graph(), options);
  return {.image = image, .low = {}, .high = resnet_trunk(image, w["backbone"], config)};
}

Maps mobilenetv3(const Weights& w, const ImageOptions& options) {
  constexpr size_t kEighth = 2;  // the stage of 1/8 of the size
  MobileStyle style = kMobileNetV3Style;
  style.eps = kMobileNetV3Epsilon;
  style.separate = true;
  const Tensor image = image_input(w.graph(), options);
  std::vector<Tensor> firsts;
  const Tensor high =
      mobile_trunk(image, w["backbone"], dilated(mobilenetv3_large()), style, {.stored = true}, 0, &firsts);
  return {.image = image, .low = firsts[kEighth], .high = high};
}

// The backbone of an architecture, with its last two stages dilated.
Maps trunk(const Weights& w, const ImageOptions& options) {
  const std::string& architecture = options.variant.architecture;
  if (architecture.ends_with("mobilenet_v3_large")) return mobilenetv3(w, options);
  const int depth = architecture.ends_with("resnet101") ? 23 : 6;
  return resnet(w,
                {.architecture = "",
                 .bottleneck = true,
                 .layers = {3, 4, depth, 3},
                 .stem = 0,
                 .widths = {0, 0, 0, 0},
                 .dilations = {1, 1, 2, 4}},
                options);
}

// The first three modules of a Sequential.
Tensor conv_norm_relu(Tensor x, const Weights& w, Conv2dOptions conv) {
  conv.bias = false;
  return tap(relu(batch_norm(conv2d(x, w[0], conv), w[1])), w[2]);
}

// Atrous spatial pyramid pooling: convolutions of several dilation rates, and image pooling.
Tensor pyramid_pooling(Tensor x, const Weights& w) {
  constexpr int kRates[] = {12, 24, 36};
  const Weights convs = w["convs"];
  int i = 0;
  std::vector<Tensor> seen = {tap(conv_norm_relu(x, convs[i], {.kernel = 1}), convs[i])};
  for (const int rate : kRates) {
    ++i;
    seen.push_back(tap(conv_norm_relu(x, convs[i], {.kernel = 3, .padding = rate, .dilation = rate}), convs[i]));
  }
  const Weights pool = convs[++i];
  Tensor mean = tap(global_avg_pool(x), pool[0]);
  mean = tap(relu(batch_norm(conv2d(mean, pool[1], {.kernel = 1, .bias = false}), pool[2])), pool[3]);
  seen.push_back(tap(resize_like(mean, x, fbs::ResizeKind::Bilinear), pool));
  const Weights project = w["project"];
  x = conv_norm_relu(concat(seen), project, {.kernel = 1});
  return tap(tap(tap(x, project[3]), project, kBlock), w);
}

Tensor deeplabv3_head(const Maps& maps, const Weights& w) {
  const Tensor x =
      tap(conv2d(pyramid_pooling(maps.high, w[0]), w[1], {.kernel = 3, .padding = 1, .bias = false}), w[1]);
  return conv2d(tap(relu(batch_norm(x, w[2])), w[3]), w[4], {.kernel = 1});
}

Tensor fcn_head(const Maps& maps, const Weights& w) {
  const Tensor x = conv_norm_relu(maps.high, w, {.kernel = 3, .padding = 1});
  return conv2d(tap(x, w[3]), w[4], {.kernel = 1});
}

Tensor lraspp_head(const Maps& maps, const Weights& w) {
  const Weights scale = w["scale"];
  const Tensor x = tap(conv_norm_relu(maps.high, w["cbr"], {.kernel = 1}), w["cbr"]);
  Tensor gate = conv2d(tap(global_avg_pool(maps.high), scale[0]), scale[1], {.kernel = 1, .bias = false});
  gate = tap(tap(sigmoid(gate), scale[2]), scale);
  const Tensor high = resize_like(x * gate, maps.low, fbs::ResizeKind::Bilinear);
  return conv2d(maps.low, w["low_classifier"], {.kernel = 1}) + conv2d(high, w["high_classifier"], {.kernel = 1});
}

// torchvision's "out": the head's logits, resized to the image.
void build(Tensor (*head)(const Maps& maps, const Weights& w), const Weights& w, const ImageOptions& options) {
  Graph& graph = w.graph();
  const Maps maps = trunk(w, options);
  w["aux_classifier"].discard();  // auxiliary loss of training
  const Weights classifier = w["classifier"];
  if (options.num_classes == 0) return classify(flatten(global_avg_pool(maps.high)), classifier, options);
  const Tensor logits = tap(head(maps, classifier), classifier, kBlock);
  check_classes(channels(logits), classifier, options);
  const Tensor out = resize_like(logits, maps.image, fbs::ResizeKind::Bilinear);
  graph.add_tap("out", out, fbs::Layout::NCHW, kBlock);
  graph.add_output("logits", out, fbs::Layout::NCHW);
  graph.table.postprocess = std::make_unique<fbs::PostprocessT>();
  graph.table.postprocess->task = fbs::Task::SemanticSegmentation;
}

}  // namespace

void deeplabv3::build(Graph&, const Weights& w, const ImageOptions& options) {
  ferry::build(deeplabv3_head, w, options);
}

void fcn::build(Graph&, const Weights& w, const ImageOptions& options) { ferry::build(fcn_head, w, options); }

void lraspp::build(Graph&, const Weights& w, const ImageOptions& options) { ferry::build(lraspp_head, w, options); }

}  // namespace ferry
