#include "models/vision/deeplab/deeplab.h"
#include "models/vision/published.h"

namespace ferry {
namespace {

// Settings of torchvision's weight transforms. Trained on the COCO images that contain classes of Pascal VOC.
std::vector<ImageVariant> published(std::initializer_list<const char*> architectures) {
  std::vector<ImageVariant> all;
  for (const char* architecture : architectures) {
    ImageVariant row =
        torchvision(architecture, "coco_with_voc_labels_v1", {.num_classes = 21, .size = 520, .crop_pct = 1});
    row.image.crop_mode = CropMode::ShortestEdge;
    row.any_classes = true;
    row.labels = {
        "__background__", "aeroplane", "bicycle",     "bird", "boat",  "bottle",    "bus",    "car",         "cat",
        "chair",          "cow",       "diningtable", "dog",  "horse", "motorbike", "person", "pottedplant", "sheep",
        "sofa",           "train",     "tvmonitor"};
    all.push_back(std::move(row));
  }
  return all;
}

}  // namespace

std::span<const ImageVariant> deeplabv3::variants() {
  static const auto all = published({"deeplabv3_resnet50", "deeplabv3_resnet101", "deeplabv3_mobilenet_v3_large"});
  return all;
}

std::span<const ImageVariant> fcn::variants() {
  static const auto all = published({"fcn_resnet50", "fcn_resnet101"});
  return all;
}

std::span<const ImageVariant> lraspp::variants() {
  static const auto all = published({"lraspp_mobilenet_v3_large"});
  return all;
}

}  // namespace ferry
