#include "models/vision/mobilenetv3/mobilenetv3.h"

namespace ferry::mobilenetv3 {
namespace {

// timm's names are the canonical ones. Its head runs for `pooled` and again for `logits`: two records.
Naming timm() {
  return {.framework = "timm",
          .probes = {"conv_stem.weight", "blocks.0.0.conv_dw.weight", "blocks.1.1.conv_pwl.weight", "conv_head.bias"},
          .taps = {{"global_pool", {"global_pool", "global_pool#1"}},
                   {"conv_head", {"conv_head", "conv_head#1"}},
                   {"norm_head", {"norm_head", "norm_head#1"}}}};
}

// torchvision numbers all blocks through, and the steps of a block too; a convolution, its normalization and activation
// are one Sequential. Its classifier begins with what is timm's conv_head, as a linear layer.
class TorchvisionNaming {
 public:
  // `squeezed`: for each stage's blocks 's' with squeeze-and-excitation, '.' without.
  explicit TorchvisionNaming(const std::vector<std::string>& squeezed) {
    sequential("", "conv_stem", "bn1", "features.0", true);
    int number = 1;
    for (size_t s = 0; s < squeezed.size(); ++s) {
      for (size_t b = 0; b < squeezed[s].size(); ++b, ++number)
        block("blocks." + std::to_string(s) + "." + std::to_string(b), "features." + std::to_string(number), s > 0,
              squeezed[s][b] == 's');
      naming_.taps.push_back({"blocks." + std::to_string(s), {}});
    }
    const std::string last = "features." + std::to_string(number), stage = "blocks." + std::to_string(squeezed.size());
    sequential(stage + ".0.", "conv", "bn1", last, true);
    naming_.taps.push_back({stage + ".0", {"features"}});
    naming_.taps.push_back({stage, {}});
    naming_.probes = {"features.1.block.0.0.weight", last + ".0.weight", "classifier.3.weight"};
    naming_.keys.push_back({"conv_head", {"classifier.0"}});
    naming_.keys.push_back({"classifier", {"classifier.3"}});
    naming_.taps.push_back({"classifier", {"classifier", "classifier.3"}});
    naming_.taps.push_back({"global_pool", {"avgpool"}});
    naming_.taps.push_back({"norm_head", {}});
  }

  const Naming& get() const { return naming_; }

 private:
  void sequential(const std::string& in, const std::string& conv, const std::string& bn, const std::string& to,
                  bool act) {
    naming_.keys.push_back({in + conv, {to + ".0"}});
    naming_.keys.push_back({in + bn, {to + ".1"}});
    naming_.taps.push_back({in + bn, {to, to + (act ? ".2" : ".1")}});
    naming_.taps.push_back({in + bn + ".act", {}});
  }

  void block(const std::string& canonical, const std::string& source, bool expanded, bool squeezed) {
    int step = 0;
    const auto next = [&] { return source + ".block." + std::to_string(step++); };
    const std::string in = canonical + ".";
    if (expanded) sequential(in, "conv_pw", "bn1", next(), true);
    sequential(in, "conv_dw", expanded ? "bn2" : "bn1", next(), true);
    if (squeezed) {
      const std::string se = next();
      naming_.keys.push_back({in + "se", {se}});
      naming_.keys.push_back({in + "se.conv_reduce", {se + ".fc1"}});
      naming_.keys.push_back({in + "se.conv_expand", {se + ".fc2"}});
      naming_.taps.push_back({in + "se.act1", {se + ".activation"}});
      naming_.taps.push_back({in + "se.gate", {se + ".scale_activation"}});
    }
    sequential(in, expanded ? "conv_pwl" : "conv_pw", expanded ? "bn3" : "bn2", next(), false);
    naming_.taps.push_back({canonical, {source}});
  }

  Naming naming_{.framework = "torchvision"};
};

}  // namespace

std::span<const Naming> namings() {
  static const Naming table[] = {timm(), TorchvisionNaming({".", "..", "sss", "....", "ss", "sss"}).get(),
                                 TorchvisionNaming({"s", "..", "sss", "ss", "sss"}).get()};
  return table;
}

}  // namespace ferry::mobilenetv3
