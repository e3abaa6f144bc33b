// References to the Hugging Face hub, and the hub's settings from the environment.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace ferry {

// "hf:ORG/NAME", "hf:ORG/NAME@REVISION", "hf:ORG/NAME/FOLDER/FILE", "hf:ORG/NAME@REVISION/FILE"
struct HubReference {
  std::string repository;         // "timm/resnet50.a1_in1k"
  std::string revision = "main";  // branch, tag or commit
  std::string file;               // in the repository; empty: its checkpoint

  // For messages, without the file: "hf:timm/resnet50.a1_in1k@v1"; omits main.
  std::string name() const;
};

bool is_hub_reference(std::string_view text);

// Whether a path stays within the folder to which it is appended. Required of revisions and of files.
bool is_safe_path(const std::string& text);

// `revision`: value of --revision; may be empty. Throws Error.
HubReference parse_hub_reference(const std::string& text, const std::string& revision);

// The environment variables of the Python package huggingface_hub, with its meaning.
struct HubSettings {
  std::string endpoint;         // HF_ENDPOINT; without a trailing slash
  std::string token;            // HF_TOKEN, else the file HF_TOKEN_PATH or HF_HOME/token; may be empty
  std::filesystem::path cache;  // HF_HUB_CACHE, else HF_HOME/hub, else ~/.cache/huggingface/hub
  bool offline = false;         // HF_HUB_OFFLINE

  // Throws Error if HF_ENDPOINT is not an http or https address.
  static HubSettings from_environment();
};

}  // namespace ferry
