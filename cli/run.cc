// ferry run
#include "cli/run.h"

#include <cstdio>
#include <filesystem>

#include "cli/command.h"
#include "cli/print.h"

namespace ferry::cli {

void BackendNotes::print(const ferry_session* session) {
  const ferry_report report = report_of(session);
  if (report.gpu_status != FERRY_OK) print(std::string("on the CPU instead of the GPU: ") + report.message);
  if (const std::string why = why_float32(session); !why.empty()) print(why);
  if (const std::string gpu = software_gpu(session); !gpu.empty()) print(gpu);
}

void BackendNotes::print(const std::string& sentence) {
  if (printed_.insert(sentence).second) print_error("ferry run: %s\n", sentence.c_str());
}

namespace {

void check_text(const RunOptions& o) {
  if (o.log_probabilities && !o.json) fail("--log-probabilities goes with --json");
  if (o.has_prompt && o.has_tokens) fail("--prompt and --tokens are two inputs: give one of them");
  if (!o.images.empty() || !o.tensors.empty() || !o.output.empty() || !o.save.empty() || o.taps)
    fail("--%s generates text: it goes with --image, --max-tokens and --json, not with image files or tensors",
         o.has_prompt ? "prompt" : "tokens");
  if (!o.shown.empty() && o.has_tokens) fail("--image goes with --prompt, whose text follows it");
}

void check_images_or_tensors(const RunOptions& o) {
  if (o.images.empty() == o.tensors.empty()) {
    fail(o.images.empty() ? "no input: give an image, --tensors FILE, --prompt TEXT or --tokens IDS"
                          : "an image and --tensors are two inputs: give one of them");
  }
  if (!o.tensors.empty() && !o.output.empty()) fail("-o names the resulting image; with --tensors use --save");
  if (o.images.size() > 1 && !o.save.empty())
    fail("--save stores the tensors of one image, %zu are given", o.images.size());
  if (o.taps && o.save.empty()) fail("--taps needs --save FILE, which the tensors are written to");
  if (!o.tensors.empty() && o.save.empty()) fail("--tensors needs --save FILE, which the outputs are written to");
  if (!o.shown.empty()) fail("--image goes with --prompt; without one an image needs no option");
  if (o.max_tokens != 0) fail("--max-tokens goes with --prompt or --tokens");
  if (!(o.sampling == SamplingOptions())) fail("sampling options go with --prompt or --tokens");
  if (!o.tensors.empty() && o.json) fail("--json goes with images, --prompt or --tokens");
}

// A language model that was given no prompt gets a sentence of its own.
void check_task(const RunOptions& o, const ModelHandle& model) {
  ferry_task_info info{};
  info.struct_size = sizeof(info);
  check(ferry_model_task(model.get(), &info));
  if (info.kind != FERRY_TASK_TEXT || o.text() || !o.tensors.empty()) return;
  const bool sees = ferry_model_input_count(model.get()) > 1;
  if (!o.images.empty() && !sees)
    fail(
        "%s is a language model and accepts text only, no images: give it a text with --prompt TEXT, or talk with it "
        "by `ferry chat`",
        o.model.c_str());
  fail("%s is a language model: give it a text with --prompt TEXT%s", o.model.c_str(),
       o.images.empty() ? ", or token ids with --tokens IDS; `ferry chat` talks with it"
                        : ", and an image with --image FILE");
}

int run(RunOptions& o) {
  ferry_session_options options = session_options(o.threads);
  if (o.top < 0) fail("--top %d: expected 0 (as many as the blob says) or more", o.top);
  if (o.tile < 0) fail("--tile %d: expected 0 (automatic) or a side in pixels", o.tile);
  o.images = images_in(o.images);
  ModelHandle model;
  if (o.text()) {
    check_text(o);
    model = open_model(o.model, o.graph);
  } else {
    if (std::filesystem::exists(o.model)) check_task(o, model = open_model(o.model, o.graph));
    check_images_or_tensors(o);
    if (!model) model = open_model(o.model, o.graph);
  }
  options.all_taps = o.taps;
  set_backend(o.backend, &options);
  const PackedCache cache(o.cache, o.model);
  cache.use(&options);
  int exit_code = 0;
  if (o.text()) {
    exit_code = run_text(o, model, options, cache);
  } else if (!o.images.empty()) {
    exit_code = run_images(o, model, options, cache);
  } else {
    const SessionHandle session = create_session(model, options);
    BackendNotes notes;
    notes.print(session.get());
    exit_code = run_tensors(o, model, session, cache);
    notes.print(session.get());
  }
  return exit_code;
}

}  // namespace

void add_run(CLI::App& ferry, int* exit_code) {
  const Command app(ferry, "run", "Run a blob on an image, on text or on tensors");
  app.footer(
      "\nThe blob's task decides what is printed or written. A classifier prints the best classes with their\n"
      "probabilities, a feature extractor a summary of the embedding, a detector its boxes, which -o draws on the "
      "image.\n"
      "Super-resolution, depth, segmentation and matting write a PNG in the size of the image. Images are JPEG, PNG "
      "or\n"
      "BMP, and are preprocessed as the blob says; large ones are upscaled tile by tile. For several images, or a\n"
      "folder, -o names a folder and --json prints one line per image. An image that cannot be read is named, the "
      "others\n"
      "are run, and the exit code is 2.\n"
      "\nA language model generates text after --prompt, or after the token ids of --tokens: the most probable token "
      "each\n"
      "time, or a random one with --temperature. The text is printed as it is generated; --json prints\n"
      "{\"prompt\": [ids], \"tokens\": [ids]} at the end.\n"
      "\n--tensors reads a safetensors file whose keys are the model's input names; a model with one input accepts a\n"
      "file with one tensor. --save writes the outputs by name, --taps also every tap (tap/<module>). Both use the "
      "layout\n"
      "of the source framework: N,C,H,W for PyTorch. The session is resized to the tensors' height and width.\n"
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
  app.add_option("IMAGE", o->images,
                 "An image (JPEG, PNG or BMP) or a folder of images; several are run one after another")
      .type_name("");
  app.add_option("-o,--output", o->output,
                 "The .png to write, or a folder. Without it: IMAGE_x4.png, IMAGE_depth.png... in the\n"
                 "current folder. A name that ends in .pfm stores the values of a depth map")
      .type_name("FILE");
  app.add_flag("--colours", o->colours, "Write depth or classes in colours");
  app.add_flag("--16bit", o->sixteen_bits, "Write depth as 16-bit PNG; metres as millimetres");
  app.group("Prompts and mattes");
  app.add_option("--mask", o->mask, "The area to inpaint: an image of the same size, white there").type_name("FILE");
  app.add_option("--point", o->points, "A pixel X,Y of the object; -X,Y: a pixel outside of it. May be repeated")
      .type_name("X,Y");
  app.add_option("--box", o->box, "A box around the object: LEFT,TOP,RIGHT,BOTTOM").type_name("BOX");
  app.add_option("--mask-index", o->mask_index, "Which of the network's masks; 0: the best")
      .type_name("N")
      .capture_default_str();
  app.add_option("--composite", o->composite, "Write the matte: the masked part of the image as a PNG with alpha")
      .type_name("FILE");
  app.add_option(
         "--background", o->background,
         "The background of the matte: an image, or a colour #rrggbb. Without --composite it is\nwritten to -o, in "
         "place of the mask")
      .type_name("FILE");
  app.group("Tensors");
  app.add_option("--tensors", o->tensors, "Read the inputs from a safetensors file").type_name("FILE");
  app.add_option("--save", o->save, "Write the outputs to a safetensors file").type_name("FILE");
  app.add_option("--graph", o->graph, "A graph of the blob, by name; without it: the first").type_name("NAME");
  app.add_flag("--taps", o->taps, "Save every tap, too");
  app.group("Options");
  app.add_option("--top", o->top, "Number of classes to print; 0: as many as the blob says")
      .type_name("N")
      .capture_default_str();
  app.add_option("--tile", o->tile, "Side of the tiles of a large image, in pixels; 0: automatic")
      .type_name("N")
      .capture_default_str();
  app.group("Text");
  const Argument prompt =
      app.add_option("--prompt", o->prompt, "The text after which a language model generates").type_name("TEXT");
  app.add_option("--image", o->shown, "An image before the text of --prompt; may be repeated").type_name("FILE");
  const Argument tokens =
      app.add_option("--tokens", o->tokens, "The prompt as token ids: 1,403,407").delimiter(',').type_name("IDS");
  app.add_option("--max-tokens", o->max_tokens,
                 "Maximum number of new tokens. Without it: 256, or as many as the model still holds")
      .range(1, INT32_MAX)
      .type_name("N");
  app.add_flag("--log-probabilities", o->log_probabilities,
               "With --json: the log probability (natural logarithm) of each token");
  add_sampling_options(app, &o->sampling);
  app.group("Options");
  app.add_flag("--json", o->json, "Print JSON: one line per image, or the token ids of prompt and answer");
  add_kv_option(app, &o->backend);
  add_backend_options(app, &o->backend, Tuning::Yes);
  add_cache_options(app, &o->cache);
  add_thread_options(app, &o->threads);
  app.callback([o, prompt, tokens, exit_code] {
    o->has_prompt = prompt.given();
    o->has_tokens = tokens.given();
    *exit_code = run(*o);
  });
}

}  // namespace ferry::cli
