// The frameworks' configuration files beside a checkpoint, with each of their readers.
#include <nlohmann/json.hpp>

#include "converter/checkpoint/json.h"
#include "converter/identify.h"
#include "converter/preprocessing/preprocessing.h"
#include "models/families.h"
#include "tests/fuzz/harness.h"

namespace {

using namespace ferry;

// No tensors: networks are configured, but fail to build.
class Empty : public Checkpoint {
 public:
  const std::map<std::string, CheckpointTensor>& tensors() const override { return tensors_; }
  const char* format() const override { return "safetensors"; }
  std::string sha256() const override { return ""; }
  const std::filesystem::path& path() const override { return path_; }

 private:
  std::map<std::string, CheckpointTensor> tensors_;
  std::filesystem::path path_ = fuzz::Folder::get().path() / "model.safetensors";
};

const Naming& naming_of(const Family& family, const Variant& variant) {
  for (const Naming& naming : family.namings())
    if (naming.framework == variant.framework) return naming;
  return family.namings().front();
}

}  // namespace

FERRY_FUZZ(config) {
  static const auto checkpoint = std::make_shared<const Empty>();
  nlohmann::json config;
  if (!expect_error_only([&] { config = parse_json(text, "config.json"); }) || !config.is_object()) return;
  expect_error_only([&] { touch(std::string_view(transformers_preprocessing(config).resize_h > 0 ? "a" : "b")); });
  expect_error_only([&] {
    ImagePreprocessing recipe;
    int height = 224, width = 224;
    read_timm_config(config, &recipe, &height, &width);
    blob_preprocessing(recipe, height, width, "timm");
  });
  Folder::get().write("config.json", text);
  expect_error_only([&] { identify(families(), checkpoint); });
  expect_error_only([&] { identify(families(), *checkpoint, "transformers/vit"); });
  const Settings settings;
  for (const Family* family : families())
    expect_error_only([&] {
      const Variant* variant = nullptr;
      try {
        variant = family->described_by(config);
      } catch (const nlohmann::json::exception& error) {
        fail("config.json: %s", error.what());  // like identify() reports it
      }
      if (variant == nullptr) return;
      const Configured configured = family->configure({.checkpoint = checkpoint,
                                                       .naming = naming_of(*family, *variant),
                                                       .variant = *variant,
                                                       .config = config,
                                                       .settings = settings,
                                                       .labels = {}});
      Graph graph;
      Ledger ledger(checkpoint, naming_of(*family, *variant), Ledger::Mode::Try);
      configured.build(graph, Weights(graph, ledger));
    });
}
