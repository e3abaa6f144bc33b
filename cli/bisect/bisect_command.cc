#include "cli/bisect/bisect_command.h"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "cli/bisect/bisect.h"
#include "cli/parity/equal_inputs.h"
#include "cli/parity/network.h"
#include "cli/parity/rounding.h"
#include "cli/print.h"
#include "cli/sdk.h"
#include "converter/provenance.h"
#include "converter/source.h"
#include "sdk/model/mapping.h"
#include "sdk/model/model.h"

namespace ferry::bisect {

ConvertOptions conversion_of(const fbs::Graph& blob, const std::filesystem::path& checkpoint) {
  if (blob.provenance() == nullptr) fail("the blob does not say what it was converted from");
  fbs::ProvenanceT provenance;
  blob.provenance()->UnPackTo(&provenance);
  ConvertOptions out = read_options(provenance);
  out.checkpoint = checkpoint;
  return out;
}

namespace {

namespace fs = std::filesystem;

struct Options {
  std::string blob, checkpoint, fixture, model;
  std::vector<std::string> images;
  cli::BackendOptions backend;
  cli::ThreadOptions threads;
};

// Throws Error unless the file is of the format that the blob was converted from, and gives its graph again.
void check_source(const fbs::Graph& blob, const Options& o) {
  const ferry::Source& format = source_of(o.checkpoint);
  const std::string family = blob.provenance() == nullptr ? "" : text(blob.provenance()->family());
  for (const ferry::Source& source : sources())
    if (source.family != nullptr && (family == source.family) != (format.family == source.family))
      fail("%s is %s, but %s was converted from %s: expected the file that the blob was made from",
           o.checkpoint.c_str(), format.name, o.blob.c_str(), family == source.family ? source.name : "another format");
  if (format.family == nullptr) return;
  if (!o.model.empty())
    fail("--model %s: only for checkpoints, %s is %s", o.model.c_str(), o.checkpoint.c_str(), format.name);
  if (const ConvertOptions made = conversion_of(blob, o.checkpoint); made.settings.has("dynamic"))
    fail("%s has open dimensions: convert with --shape instead of --dynamic, at the fixture's sizes, to search it",
         o.blob.c_str());
}

int run(const Options& o, const SearchQuantised& quantised) {
  if (fs::path(o.checkpoint).extension() == ".ferry") return quantised(o.blob, o.checkpoint, o.images, o.threads);
  if (!o.images.empty()) fail("--images: only for a quantised blob and its float blob");
  if (o.fixture.empty()) fail("--fixture is missing: expected a folder with manifest.json and fixture.safetensors");
  const auto start = std::chrono::steady_clock::now();
  ferry_session_options session = cli::session_options(o.threads);
  session.gpu_required = true;
  cli::set_backend(o.backend, &session);
  if (session.precision == FERRY_PRECISION_FLOAT16) fail("--precision f16: bisect searches float32 runs only");
  if (parity::has_rounded_constants(o.blob) && !parity::computes_on_integers(o.blob))
    fail(
        "%s has rounded weights, but bisect searches float32 runs only: use `ferry parity` to check its operators, "
        "or convert without --weights to search for other faults",
        o.blob.c_str());
  std::unique_ptr<Mapping> blob;
  if (const Status status = Mapping::map_path(o.blob.c_str(), &blob); !status.ok())
    fail("%s: %s", o.blob.c_str(), status.message().data());
  const fbs::Graph* graph = nullptr;
  std::span<const std::byte> data;
  if (const Status status = verify(blob->bytes(), &graph, &data); !status.ok())
    fail("%s: %s", o.blob.c_str(), status.message().data());
  check_source(*graph, o);
  ConvertOptions convert = conversion_of(*graph, o.checkpoint);
  if (!o.model.empty()) convert.settings.set("model", o.model);
  const Finding finding = bisect(blob->bytes(), convert, parity::read_fixture(o.fixture),
                                 [&session](std::span<const std::byte> what, const parity::Fixture& fixture) {
                                   return std::make_unique<parity::Network>(what, fixture, session);
                                 });
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  cli::print_text(finding_text(finding, seconds));
  return finding.fault == Fault::None ? 0 : 1;
}

}  // namespace

void add_command(CLI::App& app, SearchQuantised quantised, int* exit_code) {
  const cli::Command command(app, "bisect", "Find the faulty operator of a blob and the likely cause");
  command.footer(
      "\nRuns the blob on the fixture's input. A second run keeps every operator's result before the first tensor\n"
      "out of bounds. The oracle computes each operator in float64 from the same inputs, once with the blob's\n"
      "parameters and once with those of a graph rebuilt from the checkpoint. Known causes (a flipped kernel, an\n"
      "epsilon, the padding's side, a rotary base, a missing norm...) are then tried on the first operator that\n"
      "differs. If blob and graph agree, the search looks for a cause that reproduces the reference's values.\n"
      "If the task has prompts, the graph that takes them is searched second, on the reference's values.\n"
      "An ONNX or TensorFlow Lite file gives the graph itself: it is imported again, without passes. A network on\n"
      "integers is searched operator by operator, each on the reference's inputs, for more than one step.\n"
      "\nA blob of `ferry quantise` is searched with the float blob that it was made from, on the first of --images:\n"
      "each operator alone, on the float network's values, against the same operator quantised anew.\n"
      "\nExit code: 0 all in bounds, 1 a fault was found, 2 bad usage or input.\n"
      "\nExamples:\n"
      "  ferry bisect m.ferry model.safetensors --fixture fixtures/timm_resnet50_a1_in1k\n"
      "  ferry bisect net.ferry net.onnx --fixture fixtures/net\n"
      "  ferry bisect llama.ferry Llama-3.2-1B/ --fixture fixtures/llama\n"
      "  ferry bisect m8.ferry m.ferry --images photo.jpg");
  auto o = std::make_shared<Options>();
  command.add_option("BLOB", o->blob, "The blob").required().type_name("");
  command.add_option("CKPT", o->checkpoint, "The checkpoint, ONNX, .tflite or float .ferry file that it was made from")
      .required()
      .type_name("");
  command.add_option("--fixture", o->fixture, "Folder with manifest.json and fixture.safetensors").type_name("FOLDER");
  command.add_option("--images", o->images, "Images for a quantised blob, or folders of them").type_name("PATH");
  command.add_option("--model", o->model, "Variant to rebuild the graph as [default: the blob's own]")
      .type_name("VARIANT");
  cli::add_backend_options(command, &o->backend, cli::Tuning::No);
  cli::add_thread_options(command, &o->threads);
  command.callback([o, quantised, exit_code] { *exit_code = run(*o, quantised); });
}

}  // namespace ferry::bisect
