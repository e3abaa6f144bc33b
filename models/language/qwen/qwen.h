// Qwen2 and 2.5 (Yang et al., arXiv:2407.10671), Qwen3 (arXiv:2505.09388), Qwen3-Next and Qwen3.5 (dense and with
// experts), Qwen3-VL and Qwen3.5 with images, configured by config.json.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "models/language/language_model.h"

namespace ferry::qwen {

// model_type qwen2, qwen3 and qwen3_moe. Throw Error if a setting is not supported.
language::Network network_2(const nlohmann::json& config);
language::Network network_3(const nlohmann::json& config);
language::Network network_3_moe(const nlohmann::json& config);
// Hybrids: three of four layers use a gated delta rule instead of attention. model_type qwen3_next, qwen3_5_text and
// qwen3_5_moe_text.
language::Network network_next(const nlohmann::json& config);
language::Network network_3_5(const nlohmann::json& config);
language::Network network_3_5_moe(const nlohmann::json& config);
// With a vision tower and multimodal rope: model_type qwen3_vl, qwen3_vl_moe, qwen3_5 and qwen3_5_moe, whose
// text_config is one of the above.
language::Network network_3_vl(const nlohmann::json& config);
language::Network network_3_vl_moe(const nlohmann::json& config);
language::Network network_3_5_vl(const nlohmann::json& config);
language::Network network_3_5_vl_moe(const nlohmann::json& config);

}  // namespace ferry::qwen
