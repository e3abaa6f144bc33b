// ferry run
#include "cli/run.h"

#include <cstdio>

#include "cli/command.h"

namespace ferry::cli {

void CpuWarnings::print(const ferry_session* session) {
  const ferry_report report = report_of(session);
  if (report.gpu_status != FERRY_OK) print(std::string("on the CPU instead of the GPU: ") + report.message);
  if (const std::string why = why_float32(session); !why.empty()) print(why);
}

void CpuWarnings::print(const std::string& sentence) {
  if (printed_.insert(sentence).second) std::fprintf(stderr, "ferry run: %s\n", sentence.c_str());
}

namespace {

void check_text(const RunOptions& o) {
  if (o.log_probabilities && !o.json) fail("--log-probabilities goes with --json");
  if (o.has_prompt && o.has_tokens) fail("--prompt and --tokens are two inputs: give one of them");
  if (!o.images.empty() || !o.tensors.empty() || !o.output.empty() || !o.save.empty() || o.taps)
    fail("--%s gives text: it goes with --image, --max-tokens and --json, not with images or tensors",
         o.has_prompt ? "prompt" : "tokens");
  if (!o.shown.empty() && o.has_tokens) fail("--image goes with --prompt, whose text comes behind it");
}

void check_images_or_tensors(const RunOptions& o) {
  if (o.images.empty() == o.tensors.empty()) {
    fail(o.images.empty() ? "what shall it run on? Give an image, --tensors FILE, --prompt TEXT or --tokens IDS"
                          : "an image and --tensors are two inputs: give one of them");
  }
  if (!o.tensors.empty() && !o.output.empty())
    fail("-o names the image that an image gives; with --tensors use --save");
  if (o.images.size() > 1 && !o.save.empty())
    fail("--save keeps the tensors of one image, %zu are given", o.images.size());
  if (o.taps && o.save.empty()) fail("--taps gives tensors: say where with --save FILE");
  if (!o.tensors.empty() && o.save.empty()) fail("--tensors gives tensors: say where with --save FILE");
  if (!o.shown.empty()) fail("--image goes with --prompt; without one an image needs no option");
  if (o.max_tokens != 0) fail("--max-tokens goes with --prompt or --tokens");
  if (!(o.sampling == SamplingOptions())) fail("how tokens are chosen goes with --prompt or --tokens");
  if (!o.tensors.empty() && o.json) fail("--json goes with images, --prompt or --tokens");
}

int run(RunOptions& o) {
  ferry_session_options options = session_options(o.threads);
  if (o.top < 0) fail("--top %d: expected 0 (as many as the blob says) or more", o.top);
  if (o.tile < 0) fail("--tile %d: expected 0 (automatic) or a side in pixels", o.tile);
  o.images = images_in(o.images);
  if (o.text()) {
    check_text(o);
  } else {
    check_images_or_tensors(o);
  }

  const ModelHandle model = open_model(o.model, o.graph);
  options.all_taps = o.taps;
  set_backend(o.backend, &options);
  if (o.text()) return run_text(o, model, options);
  if (!o.images.empty()) return run_images(o, model, options);
  const SessionHandle session = create_session(model, options);
  CpuWarnings warnings;
  warnings.print(session.get());
  const int exit_code = run_tensors(o, model, session);
  warnings.print(session.get());
  return exit_code;
}

}  // namespace

void add_run(CLI::App& ferry, int* exit_code) {
  const Command app(ferry, "run", "Run a blob on an image, on text or on tensors");
  app.footer(
      "\nThe blob says what it is for: a classifier prints its best classes with their probabilities, a feature\n"
      "extractor a summary of the embedding, a detector its boxes, which are drawn where -o names a file; what gives "
      "a\n"
      "image, a depth map, each pixel's class or a mask writes a PNG in the size of the image that was given.\n"
      "Images are JPEG, PNG or BMP, prepared by the blob's own recipe; large ones are upscaled tile by tile. Of\n"
      "several, or a folder's, -o names a folder, and --json prints one line for each; one that cannot be read is\n"
      "named, the others are run, and the exit code is 2.\n"
      "\nA language model goes on with the text of --prompt, or with the token ids of --tokens, by the most probable\n"
      "token or, with a --temperature, by chance. The text appears as it is made; --json gives {\"prompt\": [ids],\n"
      "\"tokens\": [ids]} at the end.\n"
      "\n--tensors reads a safetensors file whose keys are the model's input names (one tensor fits a model with one\n"
      "input); --save writes the outputs by name, with --taps also every tap (tap/<module>). Both are in the layout\n"
      "of the framework that the model came from: N,C,H,W for PyTorch. Another height or width than the blob's plans\n"
      "it anew.\n"
      "\nExamples:\n"
      "  ferry run resnet50.ferry cat.jpg\n"
      "  ferry run stories.ferry --prompt 'Once upon a time' --max-tokens 100\n"
      "  ferry run stories.ferry --prompt 'Once upon a time' --temperature 0.8 --top-p 0.95 --seed 7\n"
      "  ferry run qwen-vl.ferry --image photo.jpg --prompt 'This image shows'\n"
      "  ferry run esrgan.ferry photo.jpg -o large.png\n"
      "  ferry run depth.ferry room.jpg -o depth.png --colours\n"
      "  ferry run migan.ferry street.jpg --mask people.png -o empty.png\n"
      "  ferry run mobile_sam.ferry dog.jpg --point 320,240 --point -40,12 --composite dog.png\n"
      "  ferry run birefnet.ferry portrait.jpg -o cut.png --background '#00ff00'\n"
      "  ferry run faces.ferry group.jpg -o boxes.png --json\n"
      "  ferry run resnet50.ferry holidays/ --json\n"
      "  ferry run m.ferry --tensors in.safetensors --save out.safetensors --taps --threads 2\n"
      "  ferry run resnet50.ferry cat.jpg --backend gpu --precision f16");
  auto o = std::make_shared<RunOptions>();
  app.add_option("MODEL", o->model, "The blob").required().type_name("");
  app.add_option("IMAGE", o->images, "JPEG, PNG or BMP, or a folder of them; several are run one after the other")
      .type_name("");
  app.add_option("-o,--output", o->output,
                 "The PNG to write, or a folder. Without it: IMAGE_x4.png, IMAGE_depth.png... in this folder. A\n"
                 "name that ends in .pfm gets a depth map's numbers")
      .type_name("FILE");
  app.add_flag("--colours", o->colours, "Depth and classes in colours, to look at");
  app.add_flag("--16bit", o->sixteen_bits, "Depth in 65,536 levels; metres as millimetres");
  app.add_option("--mask", o->mask, "What to paint anew: an image of the same size, white there").type_name("FILE");
  app.add_option("--point", o->points, "A pixel X,Y of what is meant; -X,Y: of what is not. May be given again")
      .type_name("X,Y");
  app.add_option("--box", o->box, "Around what is meant: LEFT,TOP,RIGHT,BOTTOM").type_name("BOX");
  app.add_option("--mask-index", o->mask_index, "Which of the network's masks; 0: the best")
      .type_name("N")
      .capture_default_str();
  app.add_option("--composite", o->composite, "What the mask covers, cut out of the image: a PNG with alpha")
      .type_name("FILE");
  app.add_option("--background", o->background,
                 "What stands behind it: an image, or a colour #rrggbb. Without\n--composite the file of -o is of "
                 "that, not the mask")
      .type_name("FILE");
  app.add_option("--tensors", o->tensors, "Inputs from a safetensors file").type_name("FILE");
  app.add_option("--save", o->save, "Outputs to a safetensors file").type_name("FILE");
  app.add_option("--graph", o->graph, "Which graph of a blob that has several; without it: the first")
      .type_name("NAME");
  app.add_flag("--taps", o->taps, "Save every tap of the blob too");
  app.add_option("--top", o->top, "Classes to print; 0: as many as the blob says").type_name("N").capture_default_str();
  app.add_option("--tile", o->tile, "Side of the tiles of a large image; 0: automatic")
      .type_name("N")
      .capture_default_str();
  const Argument prompt =
      app.add_option("--prompt", o->prompt, "Text that a language model goes on with").type_name("TEXT");
  app.add_option("--image", o->shown, "An image before the text of --prompt; may be given again").type_name("FILE");
  const Argument tokens =
      app.add_option("--tokens", o->tokens, "The same as token ids: 1,403,407").delimiter(',').type_name("IDS");
  app.add_option("--max-tokens", o->max_tokens,
                 "Tokens to add at most. Without it: 256, or as many as the model still holds")
      .range(1, INT32_MAX)
      .type_name("N");
  add_sampling_options(app, &o->sampling);
  app.add_flag("--log-probabilities", o->log_probabilities, "With --json: the natural logarithm of each token's");
  app.add_flag("--json", o->json, "The answer as JSON: a line for each image, or the token ids of prompt and answer");
  add_backend_options(app, &o->backend, Tuning::Yes);
  add_thread_options(app, &o->threads);
  app.callback([o, prompt, tokens, exit_code] {
    o->has_prompt = prompt.given();
    o->has_tokens = tokens.given();
    *exit_code = run(*o);
  });
}

}  // namespace ferry::cli
