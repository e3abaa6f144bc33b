#include "models/vision/rrdbnet/rrdbnet.h"

namespace ferry::rrdbnet {

// BasicSR's names are canonical. ESRGAN's code numbers its modules, activations and upsamplings included: {n} of
// conv_body is the number of blocks, {p} the index of a convolution in the list.
std::span<const Naming> namings() {
  static const std::vector<Rename> no_taps = {{"body.{n}.rdb{k}.act{i}", {}},
                                              {"body.{n}.rdb{k}.sum", {}},
                                              {"trunk", {}},
                                              {"upscaled.{p}", {}},
                                              {"act.{p}", {}}};
  static const Naming table[] = {
      {.framework = "basicsr",
       .probes = {"conv_first.weight", "body.0.rdb1.conv1.weight"},
       .keys = {{"conv_body.{n}", {"conv_body"}},
                {"conv_up{i}.{p}", {"conv_up{i}"}},
                {"conv_hr.{p}", {"conv_hr"}},
                {"conv_last.{p}", {"conv_last"}}},
       .taps = no_taps},
      {.framework = "esrgan",
       .probes = {"model.0.weight", "model.1.sub.0.RDB1.conv1.0.weight"},
       .keys = {{"conv_first", {"model.0"}},
                {"body.{n}", {"model.1.sub.{n}"}},
                {"body.{n}.rdb{k}", {"model.1.sub.{n}.RDB{k}"}},
                {"body.{n}.rdb{k}.conv{i}", {"model.1.sub.{n}.RDB{k}.conv{i}.0"}},
                {"conv_body.{n}", {"model.1.sub.{n}"}},
                {"conv_up{i}.{p}", {"model.{p}"}},
                {"conv_hr.{p}", {"model.{p}"}},
                {"conv_last.{p}", {"model.{p}"}}},
       .taps = {{"body", {}},  // ESRGAN's Sequential ends with conv_body
                {"conv_body.{n}", {"model.1.sub.{n}", "model.1.sub"}},
                {"body.{n}.rdb{k}.act{i}", {"model.1.sub.{n}.RDB{k}.conv{i}.1", "model.1.sub.{n}.RDB{k}.conv{i}"}},
                {"body.{n}.rdb{k}.sum", {"model.1.sub.{n}.RDB{k}.conv5"}},
                {"trunk", {"model.1"}},
                {"upscaled.{p}", {"model.{p-1}"}},
                {"act.{p}", {"model.{p+1}"}}}},
      {.framework = "esrgan",  // the first release
       .probes = {"conv_first.weight", "RRDB_trunk.0.RDB1.conv1.weight"},
       .keys = {{"body", {"RRDB_trunk"}},
                {"body.{n}", {"RRDB_trunk.{n}"}},
                {"body.{n}.rdb{k}", {"RRDB_trunk.{n}.RDB{k}"}},
                {"body.{n}.rdb{k}.conv{i}", {"RRDB_trunk.{n}.RDB{k}.conv{i}"}},
                {"conv_body.{n}", {"trunk_conv"}},
                {"conv_up{i}.{p}", {"upconv{i}"}},
                {"conv_hr.{p}", {"HRconv"}},
                {"conv_last.{p}", {"conv_last"}}},
       .taps = no_taps},
  };
  return table;
}

}  // namespace ferry::rrdbnet
