// Families of language models: how one of them is configured from the config.json beside its checkpoint, and what goes
// around the network in a blob.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "converter/family.h"
#include "models/language/language_model.h"

namespace ferry::language {

struct Networks {
  const char* name;        // "Llama"
  const char* model_type;  // as transformers calls it in config.json: "llama"
  // Throws Error where the configuration is not one that is built here.
  Network (*network)(const nlohmann::json& config);
};

class LanguageFamily final : public Family {
 public:
  explicit LanguageFamily(const Networks& networks);

  const char* name() const override { return networks_.name; }
  // One, which stands for all that are built from their config.json.
  std::vector<const Variant*> variants() const override { return {&variant_}; }
  std::span<const Naming> namings() const override;
  // "max-length": the longest text in tokens, prompt and answer together.
  std::span<const std::string_view> settings() const override;
  Description describe(const Variant& variant) const override;
  const Variant* described_by(const nlohmann::json& config) const override;
  // None: without a config.json the keys do not say how many heads there are.
  std::vector<const Variant*> candidates(const Naming&) const override { return {}; }
  Configured configure(const Request& request) const override;

 private:
  Networks networks_;
  Variant variant_;
};

}  // namespace ferry::language
