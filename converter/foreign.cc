#include "converter/foreign.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <fstream>
#include <string_view>

#include "converter/checkpoint/pytorch.h"
#include "converter/checkpoint/zip.h"
#include "converter/error.h"

namespace ferry {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::string_view kNcnnText = "7767517\n", kNcnnBinary = "\x5d\x86\x76\x00"sv;  // 7767517, little-endian

struct Content {
  const MappedFile& file;
  std::string_view text;

  bool begins(std::string_view magic) const { return text.starts_with(magic); }
  bool has(size_t at, std::string_view magic) const { return text.size() >= at && text.substr(at).starts_with(magic); }
  // Whether the first kilobyte contains this lower-case word, ignoring case.
  bool mentions(std::string_view word) const {
    std::string head(text.substr(0, 1024));
    std::transform(head.begin(), head.end(), head.begin(), [](unsigned char c) { return std::tolower(c); });
    return head.find(word) != head.npos;
  }
  char first() const {
    const size_t at = text.find_first_not_of(" \t\r\n");
    return at == text.npos ? '\0' : text[at];
  }
  // Whether a zip archive has an entry with this suffix. False for damaged archives, which their reader describes.
  bool has_entry(std::string_view end) const {
    if (!begins("PK\x03\x04")) return false;
    try {
      const ZipEntries entries = zip_entries(file);
      return std::any_of(entries.begin(), entries.end(), [&](const auto& e) { return e.first.ends_with(end); });
    } catch (const Error&) {
      return false;
    }
  }
};

// ncnn's weights begin with a tag of their storage. float32 weights have no tag: they are known by their .param file.
bool is_ncnn_weights(const Content& c) {
  if (c.begins("\x47\x6b\x30\x01"sv) || c.begins("\x38\x4b\x0d\x00"sv) || c.begins("\x56\xc0\x02\x00"sv)) return true;
  if (c.file.path().extension() != ".bin") return false;
  std::filesystem::path beside = c.file.path();
  std::ifstream param(beside.replace_extension(".param"), std::ios::binary);
  char head[kNcnnText.size()] = {};
  return param.read(head, sizeof head) && std::string_view(head, sizeof head) == kNcnnText;
}

bool is_html(const Content& c) { return c.first() == '<' && (c.mentions("<!doctype html") || c.mentions("<html")); }

// False for damaged JSON, which its parser describes.
bool is_json_of_another_kind(const Content& c) {
  const size_t last = c.text.find_last_not_of(" \t\r\n");
  return c.first() == '{' && c.text[last] == '}' && c.text.find("\"weight_map\"") == c.text.npos &&
         c.text.find("\"weightsManifest\"") == c.text.npos;
}

// A pickle of protocol 2 to 5, except for files of PyTorch before 1.6. An opcode follows the version, so no 0.
bool is_pickle(const Content& c) {
  const std::string_view t = c.text;
  return t.size() > 2 && t[0] == '\x80' && t[1] >= 2 && t[1] <= 5 && t[2] != 0 && !looks_like_pytorch(t);
}

struct Foreign {
  bool (*matches)(const Content& content);
  const char* sentence;
};

// The first match describes the file. The magic numbers are from each format's specification.
const Foreign kForeign[] = {
    {[](const Content& c) { return c.text.empty(); }, "is empty"},
    {[](const Content& c) { return c.begins("FERRY\r\n\x1a"); },
     "is already a Ferry blob; expected a checkpoint or an ONNX file"},
    {[](const Content& c) { return c.begins("FERRYP\n\x1a"); },
     "holds the packed weights of a blob (`ferry pack`); expected a checkpoint or an ONNX file"},
    {[](const Content& c) { return c.begins("version https://git-lfs"); },
     "is a Git LFS pointer, not the file itself; fetch it with `git lfs pull`"},
    {is_html, "is an HTML page saved in place of the file; download the file that the page links to"},
    {[](const Content& c) { return c.begins("FUGG"); },
     "is a big-endian GGUF file, which Ferry does not read; download the little-endian one"},
    {[](const Content& c) { return c.begins("lmgg") || c.begins("tjgg") || c.begins("fmgg") || c.begins("algg"); },
     "is a ggml file, which Ferry does not read; convert the original checkpoint"},
    {[](const Content& c) { return c.begins(kNcnnText) || c.begins("7767517\r\n") || c.begins(kNcnnBinary); },
     "is an ncnn model (.param), which Ferry does not read; convert the original checkpoint or ONNX file"},
    {is_ncnn_weights,
     "holds the weights of an ncnn model (.bin), which Ferry does not read; convert the original checkpoint or ONNX "
     "file"},
    {[](const Content& c) { return c.has(4, "ET12") || c.has(4, "ET13"); },
     "is an ExecuTorch program (.pte), which Ferry does not read; save the module's weights with torch.save() or "
     "safetensors, or export the module with torch.onnx.export()"},
    {[](const Content& c) { return c.has(4, "ORTM"); },
     "is a model in ONNX Runtime's own format (.ort), which Ferry does not read; convert the original ONNX file"},
    {[](const Content& c) { return c.begins("\x89HDF\r\n\x1a\n"); },
     "is an HDF5 file (Keras), which Ferry does not read; convert it with tensorflowjs_converter "
     "--input_format=keras, or save the weights as safetensors"},
    {[](const Content& c) { return c.has_entry(".weights.h5"); },
     "is a Keras model (.keras), which Ferry does not read; save it as .h5 and convert it with tensorflowjs_converter "
     "--input_format=keras, or make an ONNX file: model.export(\"net.onnx\", format=\"onnx\")"},
    {[](const Content& c) { return c.has_entry("/constants.pkl"); },
     "is a TorchScript program, which Ferry does not read; save only its weights: "
     "torch.save(torch.jit.load(file).state_dict(), \"weights.pth\")"},
    {[](const Content& c) {
       return c.has_entry("serialized_exported_program.json") || c.has_entry("models/model.json");
     },
     "is a torch.export program (.pt2), which Ferry does not read; save the module's weights with torch.save(), or "
     "export the module with torch.onnx.export()"},
    {[](const Content& c) { return c.has_entry(".npy") || c.begins("\x93NUMPY"); },
     "holds NumPy arrays, which Ferry does not read; save them as safetensors, with their names: "
     "safetensors.numpy.save_file()"},
    {[](const Content& c) { return c.has_entry("Manifest.json"); },
     "is a Core ML package, which Ferry does not read; convert the original model"},
    {[](const Content& c) { return c.begins("\xff\xd8\xff"); },
     "is a JPEG image, not a network; `ferry run MODEL.ferry IMAGE` runs a network on an image"},
    {[](const Content& c) { return c.begins("\x89PNG\r\n\x1a\n"); },
     "is a PNG image, not a network; `ferry run MODEL.ferry IMAGE` runs a network on an image"},
    {[](const Content& c) { return c.begins("GIF8") || (c.begins("RIFF") && c.has(8, "WEBP")); },
     "is an image, not a network"},
    {[](const Content& c) { return c.begins("%PDF-"); }, "is a PDF document, not a network"},
    {[](const Content& c) {
       return c.begins("\x1f\x8b") || c.begins("\x28\xb5\x2f\xfd") || c.begins("BZh") || c.begins("7z\xbc\xaf") ||
              c.begins(
                  "\xfd"
                  "7zXZ") ||
              c.has(257, "ustar");
     },
     "is an archive or a compressed file; unpack it first"},
    {[](const Content& c) { return c.first() == '<' && c.mentions("<net "); },
     "is an OpenVINO network, which Ferry does not read; convert the original checkpoint or ONNX file"},
    {is_pickle, "is a Python pickle, but not one that torch.save wrote"},
    {is_json_of_another_kind,
     "is JSON, but neither the index of a sharded checkpoint (\"weight_map\") nor a TensorFlow.js model "
     "(\"weightsManifest\")"},
};

}  // namespace

std::string describe_foreign(const MappedFile& file) {
  const Content content{file, {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()}};
  for (const Foreign& known : kForeign)
    if (known.matches(content)) return known.sentence;
  return {};
}

}  // namespace ferry
