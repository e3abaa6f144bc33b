// Families of language models: configured by the config.json beside the checkpoint, packed with tokenizer and caches.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "converter/family.h"
#include "models/language/language_model.h"

namespace ferry::language {

struct Networks {
  const char* name;        // "Llama"
  const char* model_type;  // in config.json: "llama"
  // Throws Error if a setting is not supported.
  Network (*network)(const nlohmann::json& config);
};

class LanguageFamily final : public Family {
 public:
  explicit LanguageFamily(const Networks& networks);

  const char* name() const override { return networks_.name; }
  // One variant, for every network configured by its config.json.
  std::vector<const Variant*> variants() const override { return {&variant_}; }
  std::span<const Naming> namings() const override;
  // "max-length": the maximum length in tokens of prompt and answer together.
  std::span<const std::string_view> settings() const override;
  Description describe(const Variant& variant) const override;
  const Variant* described_by(const nlohmann::json& config) const override;
  // None: the keys alone do not tell the number of heads.
  std::vector<const Variant*> candidates(const Naming&) const override { return {}; }
  Configured configure(const ConfigureRequest& request) const override;

 private:
  Networks networks_;
  Variant variant_;
};

}  // namespace ferry::language
