// What a reference to the Hugging Face hub means, and how the environment says to reach it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace ferry {

// "hf:ORG/NAME", "hf:ORG/NAME@REVISION", "hf:ORG/NAME/FOLDER/FILE", "hf:ORG/NAME@REVISION/FILE"
struct HubReference {
  std::string repository;         // "timm/resnet50.a1_in1k"
  std::string revision = "main";  // branch, tag or commit
  std::string file;               // inside the repository; empty: the checkpoint found there

  // For messages, without the file: "hf:timm/resnet50.a1_in1k@v1"; main is left out.
  std::string name() const;
};

bool is_hub_reference(std::string_view text);

// Does it stay below the folder it is appended to? So does a revision's, and a file's of a repository.
bool is_safe_path(const std::string& text);

// `revision`: of --revision; may be empty. Throws Error.
HubReference parse_hub_reference(const std::string& text, const std::string& revision);

// As the Python package huggingface_hub reads the same variables.
struct HubSettings {
  std::string endpoint;         // HF_ENDPOINT; no slash at its end
  std::string token;            // HF_TOKEN, else the file HF_TOKEN_PATH or HF_HOME/token; may be empty
  std::filesystem::path cache;  // HF_HUB_CACHE, else HF_HOME/hub, else ~/.cache/huggingface/hub
  bool offline = false;         // HF_HUB_OFFLINE

  // Throws Error where HF_ENDPOINT is no http or https address.
  static HubSettings from_environment();
};

}  // namespace ferry
