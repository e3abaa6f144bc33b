// ferry run
#include "cli/run.h"

#include <cstdio>

#include "cli/command.h"

namespace ferry::cli {
namespace {

// The GPU that was asked for is not used: one line, and on with the CPU.
bool warn_of_cpu(const SessionHandle& session) {
  const ferry_report report = report_of(session);
  if (report.gpu_status == FERRY_OK) return false;
  std::fprintf(stderr, "ferry run: on the CPU instead of the GPU: %s\n", report.message);
  return true;
}

int run(const RunOptions& o) {
  if (o.threads < 0 || o.threads > 1024) fail("--threads %d: expected 0 (one a core) to 1024", o.threads);
  if (o.top < 0) fail("--top %d: expected 0 (as many as the blob says) or more", o.top);
  if (o.tile < 0) fail("--tile %d: expected 0 (automatic) or a side in pixels", o.tile);
  if (o.picture.empty() == o.tensors.empty()) {
    fail(o.picture.empty() ? "what shall it run on? Give a picture, or --tensors FILE"
                           : "a picture and --tensors are two inputs: give one of them");
  }
  if (!o.tensors.empty() && !o.output.empty())
    fail("-o names the picture that a picture gives; with --tensors use --save");
  if (o.taps && o.save.empty()) fail("--taps gives tensors: say where with --save FILE");
  if (!o.tensors.empty() && o.save.empty()) fail("--tensors gives tensors: say where with --save FILE");

  const ModelHandle model = open_model(o.model, o.graph);
  ferry_session_options options = session_options(o.threads);
  options.all_taps = o.taps;
  set_backend(o.backend, &options);
  const SessionHandle session = create_session(model, options);
  const bool warned = warn_of_cpu(session);
  const int exit_code = o.tensors.empty() ? run_picture(o, model, session) : run_tensors(o, model, session);
  if (!warned) warn_of_cpu(session);
  return exit_code;
}

}  // namespace

void add_run(CLI::App& ferry, int* exit_code) {
  const Command app(ferry, "run", "Run a blob on a picture or on tensors");
  app.footer(
      "\nA classifier prints its best classes with their probabilities, a feature extractor a summary of the "
      "embedding;\n"
      "a network from picture to picture writes a PNG.\n"
      "Pictures are JPEG, PNG or BMP, prepared by the blob's own recipe; large ones are enlarged tile by tile.\n"
      "\n--tensors reads a safetensors file whose keys are the model's input names (one tensor fits a model with one\n"
      "input); --save writes the outputs by name, with --taps also every tap (tap/<module>). Both are in the layout of "
      "the\n"
      "framework that the model came from: N,C,H,W for PyTorch. Another height or width than the blob's plans it "
      "anew.\n"
      "\nExamples:\n"
      "  ferry run resnet50.ferry cat.jpg\n"
      "  ferry run esrgan.ferry photo.jpg -o large.png\n"
      "  ferry run m.ferry --tensors in.safetensors --save out.safetensors --taps --threads 2\n"
      "  ferry run resnet50.ferry cat.jpg --backend gpu --precision f16");
  auto o = std::make_shared<RunOptions>();
  app.add_option("MODEL", o->model, "The blob").required().type_name("");
  app.add_option("PICTURE", o->picture, "JPEG, PNG or BMP").type_name("");
  app.add_option("-o,--output", o->output,
                 "The PNG to write. Without it: PICTURE_x4.png (as it enlarges), in this folder")
      .type_name("FILE");
  app.add_option("--tensors", o->tensors, "Inputs from a safetensors file").type_name("FILE");
  app.add_option("--save", o->save, "Outputs to a safetensors file").type_name("FILE");
  app.add_option("--graph", o->graph, "Which graph of a blob that has several; without it: the first")
      .type_name("NAME");
  app.add_flag("--taps", o->taps, "Save every tap of the blob too");
  app.add_option("--top", o->top, "Classes to print; 0: as many as the blob says").type_name("N").capture_default_str();
  app.add_option("--tile", o->tile, "Side of the tiles of a large picture; 0: automatic")
      .type_name("N")
      .capture_default_str();
  add_backend_options(app, &o->backend, Tuning::Yes);
  app.add_option("--threads", o->threads, "Threads; 0: one a core").type_name("N").capture_default_str();
  app.callback([o, exit_code] { *exit_code = run(*o); });
}

}  // namespace ferry::cli
