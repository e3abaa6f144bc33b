// ferry export
#include <cstdio>
#include <memory>
#include <string>

#include "cli/command.h"
#include "cli/print.h"
#include "cli/progress.h"
#include "cli/text.h"
#if defined(FERRY_HAS_CONVERTER)
#include "converter/export/export.h"
#endif

namespace ferry::cli {
namespace {

struct ExportOptions {
  std::string model, output;
};

#if defined(FERRY_HAS_CONVERTER)

int export_blob(const ExportOptions& o) {
  Exported done;
  {
    ProgressLine line("exporting");
    done = export_checkpoint(o.model, o.output, [&line](std::string_view file, double fraction) {
      line.update(std::string(file), fraction);
    });
  }
  print("%s  %zu file%s, %s, each with its original SHA-256\n", o.output.c_str(), done.files,
        done.files == 1 ? "" : "s", bytes_text(done.bytes).c_str());
  return kDone;
}

#else

int export_blob(const ExportOptions&) { fail("this build has no converter: export with a desktop build"); }

#endif

}  // namespace

void add_export(CLI::App& ferry, int* exit_code) {
  const Command app(ferry, "export", "Restore the checkpoint that a blob was made from, byte for byte");
  app.footer(
      "\nWrites the checkpoint's files (safetensors, PyTorch or TensorFlow.js, with their index), and config.json, "
      "the\n"
      "tokenizer's files and the image preprocessor's. This proves that the converter lost and changed nothing: each\n"
      "file must have its original SHA-256, else no file is written. Blobs with integer weights (--weights i8, i4) "
      "and\n"
      "blobs from ONNX files cannot be exported. If folding changed weights irreversibly, the command says so; then\n"
      "convert with `ferry convert --exportable`.\n"
      "\nExamples:\n"
      "  ferry convert Qwen3-0.6B/ -o qwen.ferry\n"
      "  ferry export qwen.ferry -o folder/");
  auto o = std::make_shared<ExportOptions>();
  app.add_option("MODEL", o->model, "The blob").required().type_name("");
  app.add_option("-o,--output", o->output, "The folder to write, new or empty").required().type_name("FOLDER");
  app.callback([o, exit_code] { *exit_code = export_blob(*o); });
}

}  // namespace ferry::cli
