#include "cli/graph_text.h"

#include <cstdio>

#include "cli/summary.h"
#include "cli/text.h"
#include "sdk/task/task.h"

namespace ferry::cli {
namespace {

std::string numbers(const flatbuffers::Vector<float>* list) {
  std::string text;
  for (size_t i = 0; list && i < list->size(); ++i) {
    char number[32];
    std::snprintf(number, sizeof number, "%s%.4g", i ? " " : "",
                  static_cast<double>(list->Get(static_cast<unsigned>(i))));
    text += number;
  }
  return text;
}

std::string size_text(int height, int width) { return std::to_string(height) + "x" + std::to_string(width); }

// "shorter edge to 256 (Bicubic)"; "" where the size is kept.
std::string resize_text(const fbs::Preprocess& p) {
  const std::string filter = std::string(" (") + fbs::EnumNameFilter(p.filter()) + ")";
  const std::string size = size_text(p.resize_h(), p.resize_w());
  const std::string multiples = p.multiple_of() > 1 ? ", sides multiples of " + std::to_string(p.multiple_of()) : "";
  switch (p.resize_mode()) {
    case fbs::ResizeMode::None: break;
    case fbs::ResizeMode::ShortestEdge: return "shorter edge to " + std::to_string(p.resize_h()) + filter;
    case fbs::ResizeMode::LongestEdge: return "longer edge to " + std::to_string(p.resize_h()) + filter;
    case fbs::ResizeMode::Exact: return "to " + size + filter;
    case fbs::ResizeMode::Cover: return "to cover " + size + filter;
    case fbs::ResizeMode::Fit: return "to fit into " + size + filter;
    case fbs::ResizeMode::LeastScaling: return "near " + size + multiples + filter;
    case fbs::ResizeMode::PixelBudget:
      return std::to_string(p.min_pixels()) + " to " + std::to_string(p.max_pixels()) + " pixels" + multiples + filter;
  }
  return "";
}

std::string crop_text(const fbs::Preprocess& p) {
  if (p.crop_h() == 0) return "";
  return std::string(p.corner() ? "padded to " : "centre crop ") + size_text(p.crop_h(), p.crop_w()) +
         (p.fill() ? " with " + numbers(p.fill()) : "");
}

std::string patches_text(const fbs::Preprocess& p) {
  return p.patch() == 0 ? "" : "in patches of " + size_text(p.patch(), p.patch());
}

bool has_values(const flatbuffers::Vector<float>* list) { return list != nullptr && list->size() > 0; }

std::string detection_text(const fbs::Detection& d) {
  char text[128];
  std::snprintf(text, sizeof(text), " of scores from %g, at most %d boxes, overlapping up to %g%s",
                static_cast<double>(d.threshold()), d.maximum(), static_cast<double>(d.overlap()),
                d.across_classes() ? " whatever their classes" : "");
  return text;
}

}  // namespace

std::string preprocess_text(const fbs::Preprocess* p) {
  if (!p) return "none: the app writes tensors";
  std::string text;
  for (const std::string& part : {resize_text(*p), crop_text(*p)}) text += part.empty() ? "" : part + ", ";
  text += fbs::EnumNameColorOrder(p->color());
  text += " on 0..1";
  if (has_values(p->mean())) text += ", minus " + numbers(p->mean());
  if (has_values(p->std())) text += ", over " + numbers(p->std());
  if (p->patch() > 0) text += ", " + patches_text(*p);
  return text;
}

std::vector<std::pair<std::string, std::string>> preprocess_parts(const fbs::Preprocess& p) {
  const auto or_none = [](const std::string& text, const char* none) { return text.empty() ? none : text; };
  std::string crop = or_none(crop_text(p), "none");
  if (p.crop_h() > 0) crop += p.crop_floor() ? ", odd margins rounded down" : ", odd margins rounded to even";
  std::string patches = or_none(patches_text(p), "none");
  if (p.patch() > 0)
    patches += ", blocks of " + size_text(p.patch_block(), p.patch_block()) + ", " + std::to_string(p.patch_frames()) +
               " frames";
  return {{"resizing", or_none(resize_text(p), "none")},
          {"crop", crop},
          {"colour order", fbs::EnumNameColorOrder(p.color())},
          {"mean", has_values(p.mean()) ? numbers(p.mean()) : "0"},
          {"standard deviation", has_values(p.std()) ? numbers(p.std()) : "1"},
          {"patches", patches}};
}

std::string task_text(const fbs::Graph& graph) {
  const fbs::Postprocess* p = graph.postprocess();
  const fbs::Task kind = task::task_of(graph);
  const std::string name = task::entry(kind).name;
  const std::string labels = ", " + std::to_string(graph.labels() ? graph.labels()->size() : 0) + " labels";
  switch (kind) {
    case fbs::Task::Classification:
    case fbs::Task::MultiLabel:
    case fbs::Task::SemanticSegmentation: return name + labels;
    case fbs::Task::ImageToImage:
      return "image to image, " + std::to_string(p->upscale()) + " times as large, halo of " +
             std::to_string(p->halo()) + " pixels" +
             (p->multiple_of() > 1 ? ", sides in multiples of " + std::to_string(p->multiple_of()) : "");
    case fbs::Task::Embedding: return p->unit_length() ? name + " of length 1" : name;
    case fbs::Task::Depth: return name + (p->params_as_Depth()->metric() ? " in metres" : ", larger is nearer");
    case fbs::Task::Detection: return name + detection_text(*p->params_as_Detection()) + labels;
    case fbs::Task::Landmarks: {
      const fbs::Landmarks& l = *p->params_as_Landmarks();
      char text[120];
      std::snprintf(text, sizeof(text), " by graph %.64s, objects from %g", task::second_graph(graph),
                    static_cast<double>(l.threshold()));
      return name + text + "; boxes" + detection_text(*l.detection());
    }
    case fbs::Task::PromptedSegmentation: return name + " by graph " + task::second_graph(graph);
    case fbs::Task::Ocr: {
      const fbs::Ocr& r = *p->params_as_Ocr();
      char text[240];
      std::snprintf(
          text, sizeof(text), " of lines by graph %.64s; text from %g, boxes from %g, lines from %g, unclip %g",
          task::second_graph(graph), static_cast<double>(r.threshold()), static_cast<double>(r.box_threshold()),
          static_cast<double>(r.text_threshold()), static_cast<double>(r.unclip()));
      return name + text;
    }
    default: return name;
  }
}

std::string state_text(const fbs::State& state) {
  const std::string shape = shape_text(std::vector<int64_t>(state.shape()->begin(), state.shape()->end()));
  if (state.axis() < 0) return shape + ", of fixed size";
  const std::string window = state.window() > 0 ? ", a window of " + std::to_string(state.window()) : "";
  const std::string type = state.dtype() != fbs::DType::Float32 ? std::string(", ") + EnumNameDType(state.dtype()) : "";
  return "up to " + shape + " along dimension " + std::to_string(state.axis()) + type + window;
}

}  // namespace ferry::cli
