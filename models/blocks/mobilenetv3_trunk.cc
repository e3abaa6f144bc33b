#include "models/blocks/mobilenetv3_trunk.h"

namespace ferry {
namespace {

using enum MobileBlock;
constexpr bool kRelu = true;

// Adds naming rules for the modules of a trunk.
class TorchvisionNames {
 public:
  explicit TorchvisionNames(Naming* naming) : naming_(*naming) {}

  // `to`: the name of the Sequential. `also`: a second name of its output, for a Sequential that no activation ends.
  void sequential(const std::string& in, const std::string& conv, const std::string& bn, const std::string& to,
                  bool act, const std::string& also = "") {
    naming_.keys.push_back({in + conv, {to + ".0"}});
    naming_.keys.push_back({in + bn, {to + ".1"}});
    if (act) {
      naming_.taps.push_back({in + bn + ".act", {to, to + ".2"}});
    } else {
      naming_.taps.push_back({in + bn, {to, to + ".1", also}});
    }
  }

  void block(const std::string& canonical, const std::string& source, const MobileRow& row) {
    int step = 0;
    const auto next = [&] { return source + ".block." + std::to_string(step++); };
    const std::string in = canonical + ".";
    const bool expanded = row.kind == Inverted;
    if (expanded) sequential(in, "conv_pw", "bn1", next(), true);
    sequential(in, "conv_dw", expanded ? "bn2" : "bn1", next(), true);
    if (row.squeeze > 0) {
      const std::string se = next();
      naming_.keys.push_back({in + "se", {se}});
      naming_.keys.push_back({in + "se.conv_reduce", {se + ".fc1"}});
      naming_.keys.push_back({in + "se.conv_expand", {se + ".fc2"}});
      naming_.taps.push_back({in + "se.pool", {se + ".avgpool"}});
      naming_.taps.push_back({in + "se.act1", {se + ".activation"}});
      naming_.taps.push_back({in + "se.gate", {se + ".scale_activation"}});
    }
    sequential(in, expanded ? "conv_pwl" : "conv_pw", expanded ? "bn3" : "bn2", next(), false, source + ".block");
    naming_.taps.push_back({canonical, {source}});
  }

 private:
  Naming& naming_;
};

}  // namespace

// Table 1 of the paper.
const MobileStages& mobilenetv3_large() {
  static const MobileStages stages = {
      {{Separable, 1, 3, 1, 1, 16, 0, kRelu}},
      {{Inverted, 1, 3, 2, 4, 24, 0, kRelu}, {Inverted, 1, 3, 1, 3, 24, 0, kRelu}},
      {{Inverted, 3, 5, 2, 3, 40, 0.25, kRelu}},
      {{Inverted, 1, 3, 2, 6, 80}, {Inverted, 1, 3, 1, 2.5, 80}, {Inverted, 2, 3, 1, 2.3, 80}},
      {{Inverted, 2, 3, 1, 6, 112, 0.25}},
      {{Inverted, 3, 5, 2, 6, 160, 0.25}},
      {{Conv, 1, 1, 1, 1, 960}},
  };
  return stages;
}

// Table 2 of the paper.
const MobileStages& mobilenetv3_small() {
  static const MobileStages stages = {
      {{Separable, 1, 3, 2, 1, 16, 0.25, kRelu}},
      {{Inverted, 1, 3, 2, 4.5, 24, 0, kRelu}, {Inverted, 1, 3, 1, 3.67, 24, 0, kRelu}},
      {{Inverted, 1, 5, 2, 4, 40, 0.25}, {Inverted, 2, 5, 1, 6, 40, 0.25}},
      {{Inverted, 2, 5, 1, 3, 48, 0.25}},
      {{Inverted, 3, 5, 2, 6, 96, 0.25}},
      {{Conv, 1, 1, 1, 1, 576}},
  };
  return stages;
}

MobileStages dilated(MobileStages stages) {
  for (MobileRow& row : stages[stages.size() - 2]) {
    row.stride = 1;
    row.dilation = 2;
  }
  return stages;
}

int add_torchvision_names(Naming* naming, const MobileStages& stages, const std::string& canonical,
                          const std::string& source) {
  TorchvisionNames names(naming);
  names.sequential(canonical, "conv_stem", "bn1", source + "0", true);
  int number = 1;
  for (size_t s = 0; s + 1 < stages.size(); ++s) {
    const std::string stage = canonical + "blocks." + std::to_string(s);
    int b = 0;
    for (const MobileRow& row : stages[s])
      for (int r = 0; r < row.repeats; ++r)
        names.block(stage + "." + std::to_string(b++), source + std::to_string(number++), row);
    naming->taps.push_back({stage, {}});
  }
  const std::string stage = canonical + "blocks." + std::to_string(stages.size() - 1);
  names.sequential(stage + ".0.", "conv", "bn1", source + std::to_string(number), true);
  naming->taps.push_back({stage, {}});
  return number;
}

}  // namespace ferry
