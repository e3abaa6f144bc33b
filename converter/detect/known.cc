// Detectors with common exports, described as in docs/tasks.md, "Boxes". Values are those of the authors'
// configurations.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "converter/checkpoint/json.h"
#include "converter/detect/detector_spec.h"
#include "converter/detect/movenet.h"

namespace ferry::detect {
namespace {

struct Known {
  const char *name, *spec;
};

constexpr Known kKnown[] = {
    // github.com/Linzaer/Ultra-Light-Fast-Generic-Face-Detector-1MB. Its exports output corners; the simplified ones,
    // the undecoded regression.
    {"ultraface", R"({
      "recognised": true,
      "scores": {"outputs": "scores", "background": 0},
      "boxes": {"outputs": "boxes", "form": "offsets", "variances": [0.1, 0.2]},
      "strides": [8, 16, 32, 64],
      "anchors": {"sizes": [[10, 16, 24], [32, 48], [64, 96], [128, 192, 256]], "even": true, "clip": true},
      "image": {"mean": 127, "std": 128}, "threshold": 0.7, "overlap": 0.3, "labels": ["face"]})"},
    {"ultraface", R"({
      "recognised": true,
      "scores": {"outputs": "scores", "background": 0},
      "boxes": {"outputs": "boxes", "form": "corners", "unit": "share"},
      "strides": [8, 16, 32, 64], "anchors": {"sizes": [[10, 16, 24], [32, 48], [64, 96], [128, 192, 256]]},
      "image": {"mean": 127, "std": 128}, "threshold": 0.7, "overlap": 0.3, "labels": ["face"]})"},
    // OpenCV Zoo's face_detection_yunet_2023mar.
    {"yunet", R"({
      "recognised": true,
      "scores": {"outputs": ["cls_8", "cls_16", "cls_32"]},
      "objectness": {"outputs": ["obj_8", "obj_16", "obj_32"], "join": "root"},
      "boxes": {"outputs": ["bbox_8", "bbox_16", "bbox_32"], "form": "offsets"},
      "landmarks": {"outputs": ["kps_8", "kps_16", "kps_32"], "form": "offsets"},
      "strides": [8, 16, 32], "anchors": {"cell": 0},
      "image": {"range": 255, "colour": "bgr", "resize": "letterbox-corner"},
      "threshold": 0.6, "overlap": 0.3, "labels": ["face"]})"},
    // face_detection_yunet_2022mar: anchors, and a predicted IoU per box.
    {"yunet_2022", R"({
      "recognised": true,
      "scores": {"outputs": "conf", "background": 0},
      "objectness": {"outputs": "iou", "activation": "clamp", "join": "root"},
      "boxes": {"outputs": "loc", "channels": [0, 4], "form": "offsets", "variances": [0.1, 0.2]},
      "landmarks": {"outputs": "loc", "channels": [4, 14], "form": "offsets", "variance": 0.1},
      "strides": [8, 16, 32, 64],
      "anchors": {"sizes": [[10, 16, 24], [32, 48], [64, 96], [128, 192, 256]]},
      "image": {"range": 255, "colour": "bgr", "resize": "letterbox-corner"},
      "threshold": 0.6, "overlap": 0.3, "labels": ["face"]})"},
    // insightface's RetinaFace with MobileNet 0.25: two anchors per position, all centred as the cells of the smallest
    // stride.
    {"retinaface", R"({
      "recognised": true,
      "scores": {"outputs": ["face_rpn_cls_prob_reshape_stride32", "face_rpn_cls_prob_reshape_stride16",
                             "face_rpn_cls_prob_reshape_stride8"],
                 "order": "numbers", "activation": "none", "background": 0},
      "boxes": {"outputs": ["face_rpn_bbox_pred_stride32", "face_rpn_bbox_pred_stride16",
                            "face_rpn_bbox_pred_stride8"], "form": "offsets"},
      "landmarks": {"outputs": ["face_rpn_landmark_pred_stride32", "face_rpn_landmark_pred_stride16",
                                "face_rpn_landmark_pred_stride8"], "form": "offsets", "variance": 0.2},
      "strides": [32, 16, 8], "anchors": {"sizes": [[512, 256], [128, 64], [32, 16]], "offset": 7.5},
      "image": {"range": 255, "resize": "letterbox-corner"},
      "threshold": 0.8, "overlap": 0.4, "labels": ["face"]})"},
    // github.com/biubug6/Pytorch_Retinaface, both backbones.
    {"retinaface", R"({
      "recognised": true,
      "scores": {"width": 2, "background": 0},
      "boxes": {"width": 4, "form": "offsets", "variances": [0.1, 0.2]},
      "landmarks": {"width": 10, "form": "offsets", "variance": 0.1},
      "strides": [8, 16, 32], "anchors": {"sizes": [[16, 32], [64, 128], [256, 512]]},
      "image": {"mean": [104, 117, 123], "std": 1, "colour": "bgr", "resize": "letterbox-corner"},
      "threshold": 0.6, "overlap": 0.4, "labels": ["face"]})"},
    // insightface's SCRFD, with or without five landmarks per face.
    {"scrfd", R"({
      "recognised": true,
      "scores": {"width": 1},
      "boxes": {"width": 4, "form": "distances"},
      "landmarks": {"width": 10, "form": "offsets", "optional": true},
      "strides": [8, 16, 32], "anchors": {"per_cell": 2, "cell": 0},
      "image": {"mean": 127.5, "std": 128, "resize": "letterbox-corner"},
      "threshold": 0.5, "overlap": 0.4, "labels": ["face"]})"},
    // github.com/qfgaohao/pytorch-ssd, MobileNet v1 and v2 at 300x300: corners, or the undecoded regression.
    {"ssd", R"({
      "scores": {"outputs": "scores", "background": 0},
      "boxes": {"outputs": "boxes", "form": "offsets", "variances": [0.1, 0.2]},
      "strides": [16, 32, 64, 100, 150, 300],
      "anchors": {"clip": true, "sizes": [
        {"minimum": 60, "maximum": 105, "ratios": [2, 3]}, {"minimum": 105, "maximum": 150, "ratios": [2, 3]},
        {"minimum": 150, "maximum": 195, "ratios": [2, 3]}, {"minimum": 195, "maximum": 240, "ratios": [2, 3]},
        {"minimum": 240, "maximum": 285, "ratios": [2, 3]}, {"minimum": 285, "maximum": 330, "ratios": [2, 3]}]},
      "image": {"mean": 127, "std": 128}, "threshold": 0.4, "overlap": 0.45})"},
    {"ssd", R"({
      "scores": {"outputs": "scores", "background": 0},
      "boxes": {"outputs": "boxes", "form": "corners", "unit": "share"},
      "image": {"mean": 127, "std": 128}, "threshold": 0.4, "overlap": 0.45})"},
    // Ultralytics' exports of YOLOv5 to v7 with the Detect layer: one decoded output.
    {"yolov5", R"({
      "scores": {"outputs": 0, "channels": [5, null], "activation": "none"},
      "objectness": {"outputs": 0, "channels": [4, 5], "activation": "none"},
      "boxes": {"outputs": 0, "channels": [0, 4], "form": "center_size"},
      "image": {"resize": "letterbox", "fill": 114}, "threshold": 0.25, "overlap": 0.45, "best_class": true})"},
    // Megvii's YOLOX.
    {"yolox", R"({
      "scores": {"outputs": 0, "channels": [5, null], "activation": "none"},
      "objectness": {"outputs": 0, "channels": [4, 5], "activation": "none"},
      "boxes": {"outputs": 0, "channels": [0, 4], "form": "offsets"},
      "strides": [8, 16, 32], "anchors": {"cell": 0},
      "image": {"range": 255, "colour": "bgr", "resize": "letterbox-corner", "fill": 114},
      "threshold": 0.3, "overlap": 0.45, "best_class": true})"},
    // YOLOv8 and later models with its head (YOLO11): one decoded output; or one map per level with bins of distances
    // (DFL).
    {"yolov8", R"({
      "scores": {"outputs": 0, "channels": [4, null], "layout": "first", "activation": "none"},
      "boxes": {"outputs": 0, "channels": [0, 4], "layout": "first", "form": "center_size"},
      "image": {"resize": "letterbox", "fill": 114}, "threshold": 0.25, "overlap": 0.45, "best_class": true})"},
    {"yolov8", R"({
      "scores": {"outputs": [0, 1, 2], "channels": [64, null], "activation": "sigmoid"},
      "boxes": {"outputs": [0, 1, 2], "channels": [0, 64], "form": "distances", "bins": 16},
      "strides": [8, 16, 32],
      "image": {"resize": "letterbox", "fill": 114}, "threshold": 0.25, "overlap": 0.45, "best_class": true})"},
    // NanoDet-Plus: class probabilities, then the bins of the distances.
    {"nanodet", R"({
      "scores": {"outputs": 0, "channels": [0, -32], "activation": "none"},
      "boxes": {"outputs": 0, "channels": [-32, null], "form": "distances", "bins": 8},
      "strides": [8, 16, 32, 64], "anchors": {"cell": 0},
      "image": {"mean": [103.53, 116.28, 123.675], "std": [57.375, 57.12, 58.395], "colour": "bgr"},
      "threshold": 0.35, "overlap": 0.6})"},
    // MediaPipe's face detectors of short and full range, with six landmarks: eyes, nose, mouth and ears. Values are in
    // pixels, as of anchors of one pixel.
    {"blazeface", R"({
      "recognised": true,
      "scores": {"outputs": "classificators", "activation": "sigmoid"},
      "boxes": {"outputs": "regressors", "channels": [0, 4], "form": "sizes"},
      "landmarks": {"outputs": "regressors", "channels": [4, 16], "form": "offsets"},
      "strides": [8, 16], "anchors": {"sizes": [[1, 1], [1, 1, 1, 1, 1, 1]]},
      "image": {"mean": 127.5, "std": 127.5, "resize": "letterbox"},
      "threshold": 0.5, "overlap": 0.3, "labels": ["face"]})"},
    {"blazeface", R"({
      "recognised": true,
      "scores": {"outputs": "reshaped_classifier_face_4", "activation": "sigmoid"},
      "boxes": {"outputs": "reshaped_regressor_face_4", "channels": [0, 4], "form": "sizes"},
      "landmarks": {"outputs": "reshaped_regressor_face_4", "channels": [4, 16], "form": "offsets"},
      "strides": [4], "anchors": {"sizes": [[1]]},
      "image": {"mean": 127.5, "std": 127.5, "resize": "letterbox"},
      "threshold": 0.6, "overlap": 0.3, "labels": ["face"]})"},
    {"blazeface", R"({
      "scores": {"width": 1, "activation": "sigmoid"},
      "boxes": {"width": 16, "channels": [0, 4], "form": "sizes"},
      "landmarks": {"width": 16, "channels": [4, 16], "form": "offsets"},
      "strides": [4], "anchors": {"sizes": [[1]]},
      "image": {"mean": 127.5, "std": 127.5, "resize": "letterbox"},
      "threshold": 0.6, "overlap": 0.3, "labels": ["face"]})"},
    // Persons with the 17 points of COCO: Ultralytics' poses, and MoveNet for several persons.
    {"yolov8_pose", R"({
      "scores": {"outputs": 0, "channels": [4, 5], "layout": "first", "activation": "none"},
      "boxes": {"outputs": 0, "channels": [0, 4], "layout": "first", "form": "center_size"},
      "landmarks": {"outputs": 0, "channels": [5, null], "layout": "first", "numbers": 3, "scored": true,
                    "names": "coco"},
      "image": {"resize": "letterbox", "fill": 114}, "threshold": 0.25, "overlap": 0.7, "labels": ["person"]})"},
    {"movenet_multipose", R"({
      "recognised": true,
      "scores": {"width": 56, "channels": [55, 56], "activation": "none"},
      "boxes": {"width": 56, "channels": [51, 55], "unit": "share", "y_first": true},
      "landmarks": {"width": 56, "channels": [0, 51], "numbers": 3, "unit": "share", "y_first": true, "scored": true,
                    "names": "coco"},
      "image": {"range": 255, "resize": "letterbox"},
      "threshold": 0.3, "overlap": 0.9, "labels": ["person"]})"},
    // MediaPipe's detectors of palms, with seven landmarks, and of persons, with four.
    {"blazepalm", R"({
      "recognised": true,
      "scores": {"width": 1, "activation": "sigmoid"},
      "boxes": {"width": 18, "channels": [0, 4], "form": "sizes"},
      "landmarks": {"width": 18, "channels": [4, 18], "form": "offsets"},
      "strides": [8, 16], "anchors": {"sizes": [[1, 1], [1, 1, 1, 1, 1, 1]]},
      "image": {"range": 1, "resize": "letterbox"},
      "threshold": 0.5, "overlap": 0.3, "labels": ["palm"]})"},
    {"blazepalm", R"({
      "recognised": true,
      "scores": {"width": 1, "activation": "sigmoid"},
      "boxes": {"width": 18, "channels": [0, 4], "form": "sizes"},
      "landmarks": {"width": 18, "channels": [4, 18], "form": "offsets"},
      "strides": [8, 16, 32], "anchors": {"sizes": [[1, 1], [1, 1], [1, 1, 1, 1, 1, 1]]},
      "image": {"range": 1, "resize": "letterbox"},
      "threshold": 0.5, "overlap": 0.3, "labels": ["palm"]})"},
    {"blazepose", R"({
      "recognised": true,
      "scores": {"width": 1, "activation": "sigmoid"},
      "boxes": {"width": 12, "channels": [0, 4], "form": "sizes"},
      "landmarks": {"width": 12, "channels": [4, 12], "form": "offsets"},
      "strides": [8, 16, 32], "anchors": {"sizes": [[1, 1], [1, 1], [1, 1, 1, 1, 1, 1]]},
      "image": {"mean": 127.5, "std": 127.5, "resize": "letterbox"},
      "threshold": 0.5, "overlap": 0.3, "labels": ["person"]})"},
    {"blazepose", R"({
      "recognised": true,
      "scores": {"width": 1, "activation": "sigmoid"},
      "boxes": {"width": 12, "channels": [0, 4], "form": "sizes"},
      "landmarks": {"width": 12, "channels": [4, 12], "form": "offsets"},
      "strides": [8, 16], "anchors": {"sizes": [[1, 1], [1, 1, 1, 1, 1, 1]]},
      "image": {"mean": 127.5, "std": 127.5, "resize": "letterbox"},
      "threshold": 0.5, "overlap": 0.3, "labels": ["person"]})"},
    // Tian et al. 2019, with torchvision's head names; other implementations put a cell's point at its centre.
    {"fcos", R"({
      "scores": {"outputs": "cls_logits"},
      "objectness": {"outputs": "bbox_ctrness", "join": "root"},
      "boxes": {"outputs": "bbox_regression", "form": "distances"},
      "strides": [8, 16, 32, 64, 128], "anchors": {"cell": 0},
      "image": {"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}, "threshold": 0.5, "overlap": 0.6})"},
    // facebookresearch/detr's export, then transformers'.
    {"detr", R"({
      "recognised": true,
      "scores": {"outputs": "pred_logits", "background": -1},
      "boxes": {"outputs": "pred_boxes", "form": "center_size", "unit": "share"},
      "image": {"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}, "threshold": 0.7, "overlap": 1})"},
    {"detr", R"({
      "recognised": true,
      "scores": {"outputs": "logits", "background": -1},
      "boxes": {"outputs": "pred_boxes", "form": "center_size", "unit": "share"},
      "image": {"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}, "threshold": 0.7, "overlap": 1})"},
};

}  // namespace

void set_coco_points(fbs::DetectionT* params) {
  params->points = {"nose",           "left eye",   "right eye",   "left ear",   "right ear",   "left shoulder",
                    "right shoulder", "left elbow", "right elbow", "left wrist", "right wrist", "left hip",
                    "right hip",      "left knee",  "right knee",  "left ankle", "right ankle"};
  params->lines = {0, 1,  0, 2,  1, 3,  2,  4,  5,  6,  5,  7,  7,  9,  6,  8,
                   8, 10, 5, 11, 6, 12, 11, 12, 11, 13, 13, 15, 12, 14, 14, 16};
}

std::vector<DetectorSpec> known_detectors() {
  std::vector<DetectorSpec> specs;
  for (const Known& known : kKnown) specs.push_back(parse_detector(parse_json(known.spec, known.name), known.name));
  return specs;
}

std::vector<std::string> known_names() {
  std::vector<std::string> names;
  for (const Known& known : kKnown)
    if (names.empty() || names.back() != known.name) names.emplace_back(known.name);
  names.emplace_back(kMoveNet);
  return names;
}

std::string known_names_text() {
  std::string all;
  for (const std::string& name : known_names()) all += (all.empty() ? "" : ", ") + name;
  return all;
}

}  // namespace ferry::detect
