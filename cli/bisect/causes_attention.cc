#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

#include "cli/bisect/causes.h"

namespace ferry::bisect {
namespace {

std::string scale_text(double scale) {
  char text[64];
  const double width = std::nearbyint(1 / (scale * scale));
  if (width > 1 && std::fabs(scale * std::sqrt(width) - 1) < 1e-4)
    std::snprintf(text, sizeof text, "%.6g (1/sqrt(%.0f))", scale, width);
  else
    std::snprintf(text, sizeof text, "%.6g", scale);
  return text;
}

Cause scale_cause(size_t k, float now, float other) {
  const auto text = [](float wrong, float right) {
    return "attention's scale is " + scale_text(static_cast<double>(wrong)) + " instead of " +
           scale_text(static_cast<double>(right));
  };
  return {.text = text(other, now), .repaired = text(now, other), .from = k, .plant = [k, other](Piece& p) {
            p.operators[k].params.AsAttention()->scale = other;
          }};
}

void scale_causes(const Suspect& suspect, size_t k, const fbs::AttentionT& a, Causes& out) {
  std::set<float> scales{1};
  if (const Array* q = suspect.value(suspect.piece.operators[k].inputs[0])) {
    const auto width = static_cast<float>(q->shape[q->shape.rank - 1]), head = width / static_cast<float>(a.heads);
    scales.insert({1 / std::sqrt(head), 1 / std::sqrt(width), 1 / head});
  }
  for (const float scale : scales)
    if (std::fabs(scale / a.scale - 1) > 1e-6f) out.known.push_back(scale_cause(k, a.scale, scale));
  const auto now = static_cast<double>(a.scale);
  if (now > 0)
    out.fits.push_back({.low = now / 64, .high = now * 64, .cause = [k, now = a.scale](double scale) {
                          return scale_cause(k, now, static_cast<float>(scale));
                        }});
}

std::string seen_text(int window) {
  return window == 0 ? "all previous tokens" : "the last " + std::to_string(window) + " tokens";
}

// Other sizes of the attention window: all small ones and those near powers of two. 0 means no window.
void extent_causes(const Suspect& suspect, size_t k, const fbs::AttentionT& a, std::vector<Cause>& out) {
  const Array* keys = suspect.value(suspect.piece.operators[k].inputs[1]);
  if (!a.causal || keys == nullptr || keys->shape.rank != 3) return;
  constexpr int kEach = 128;
  const int length = keys->shape[1], now = a.window < length ? a.window : 0;
  std::set<int> windows{0, now - 1, now + 1, now / 2, now * 2};
  for (int i = 1; i < std::min(length, kEach); ++i) windows.insert(i);
  for (int i = kEach; i < length; i *= 2) windows.insert({i - 1, i, i + 1});
  for (const int window : windows) {
    if (window == now || window < 0 || window >= length) continue;
    const auto text = [](int wrong, int right) {
      return "attention's window: a token attends to " + seen_text(wrong) + " instead of " + seen_text(right);
    };
    out.push_back({.text = text(window, now), .repaired = text(now, window), .from = k, .plant = [k, window](Piece& p) {
                     p.operators[k].params.AsAttention()->window = window;
                   }});
  }
}

}  // namespace

void attention_causes(const Suspect& suspect, size_t k, Causes& out) {
  const fbs::OperatorT& op = suspect.piece.operators[k];
  fbs::OpParamsUnion params = op.params;
  if (params.AsAttention() == nullptr) return;
  const fbs::AttentionT& a = *params.AsAttention();
  const auto add = [&](std::string text, std::string repaired, const auto& change) {
    out.known.push_back({std::move(text), std::move(repaired), k, [k, change](Piece& p) { change(p.operators[k]); }});
  };
  scale_causes(suspect, k, a, out);
  extent_causes(suspect, k, a, out.known);
  if (a.softcap > 0)
    add("attention's softcap is left out", blob_has("a softcap of attention's scores", "none"),
        [](fbs::OperatorT& o) { o.params.AsAttention()->softcap = 0; });
  if (a.sinks)
    add("attention's sinks are left out", "attention has sinks and should not", [](fbs::OperatorT& o) {
      o.inputs.pop_back();
      o.params.AsAttention()->sinks = false;
    });
  for (size_t bias = 3; bias < op.inputs.size() - (a.sinks ? 1 : 0); ++bias)
    add("attention's bias or mask is dropped", blob_has("a bias or mask of attention's scores", "none"),
        [bias](fbs::OperatorT& o) { o.inputs.erase(o.inputs.begin() + static_cast<std::ptrdiff_t>(bias)); });
  const auto see_all = [](fbs::OperatorT& o) { o.params.AsAttention()->causal = false; };
  const auto see_past = [](fbs::OperatorT& o) { o.params.AsAttention()->causal = true; };
  const std::string sees_all = "attention attends to later tokens (the causal mask is dropped)",
                    sees_past = "attention does not attend to later tokens (it is causal and should not be)";
  if (a.causal)
    add(sees_all, sees_past, see_all);
  else
    add(sees_past, sees_all, see_past);
  const auto turned = [](const char* pair) { return blob_has(pair, "in the other"); };
  add("query and key are exchanged", turned("attention's query and key in one order"),
      [](fbs::OperatorT& o) { std::swap(o.inputs[0], o.inputs[1]); });
  add("key and value are exchanged", turned("attention's key and value in one order"),
      [](fbs::OperatorT& o) { std::swap(o.inputs[1], o.inputs[2]); });
}

}  // namespace ferry::bisect
