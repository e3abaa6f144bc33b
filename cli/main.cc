// ferry: the command line.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstring>
#include <new>

#if defined(FERRY_HAS_CONVERTER)
#include "cli/bisect/bisect_command.h"
#include "cli/bisect_quantised.h"
#endif
#include "cli/command.h"
#include "cli/description.h"
#include "cli/parity/parity_command.h"
#include "cli/print.h"
#include "cli/signals.h"
#include "cli/text.h"
#include "cli/unconverted.h"
#include "converter/suggest.h"
#include "ferry/ferry.h"

namespace ferry::cli {
namespace {

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// The parser's error as one line.
std::string sentence(const CLI::ParseError& error, const CLI::App& app, const CLI::App& command) {
  // A mistyped option first: a missing argument may follow from it.
  const std::vector<std::string> extra = app.remaining(true);
  for (const std::string& word : extra) {
    if (!word.starts_with('-')) continue;
    return "no option is called " + word + did_you_mean(word.substr(0, word.find('=')), option_names(command));
  }
  if (!extra.empty()) return "one argument too many: '" + extra.front() + "'";
  std::string text = error.what();
  if (error.get_name() == "ArgumentMismatch") return text.substr(0, text.find(':')) + " needs a value";
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  return text;
}

// A checkpoint, an ONNX file or another program's file in the place of a blob ends every command with one sentence,
// which says how to convert it or what it is. `inspect` describes some files before conversion.
void expect_blobs(CLI::App& ferry) {
  for (CLI::App* command : ferry.get_subcommands([](CLI::App*) { return true; })) {
    const bool inspects = command->get_name() == "inspect";
    for (const char* name : {"MODEL", "BLOB", "FOLDER_OR_BLOB", "A", "B"}) {
      CLI::Option* option = command->get_option_no_throw(name);
      if (option == nullptr) continue;
      option->check([inspects](const std::string& path) {
        if (!inspects || !has_outline(path)) require_blob(path);
        return std::string();
      });
    }
  }
}

int complain(const std::string& where, const std::string& what) {
  print_error("%s: %s\n", where.c_str(), what.c_str());
  return kBadInput;
}

int run_command_line(int argc, char** argv) {
  remove_temporaries_on_signals();
  CLI::App app(
      "Runs PyTorch, ONNX and Keras models on phones and boards: converts a checkpoint to one file, runs it, and "
      "compares it with its framework.",
      "ferry");
  app.set_version_flag("--version", std::string("ferry ") + ferry_version(), "Print the version");
  app.set_help_flag("-h,--help", "Print this text");
  app.require_subcommand(1);
  app.footer(
      "\nFirst steps:\n"
      "  ferry models resnet                     networks that can be converted\n"
      "  ferry get torchvision/resnet50.v2       download and convert a publisher's checkpoint\n"
      "  ferry convert FILE --model resnet50     convert a checkpoint of your own\n"
      "  ferry inspect m.ferry                   what a blob contains\n"
      "  ferry run m.ferry photo.jpg             run it\n"
      "  ferry quantise m.ferry --images photos/ -o m8.ferry\n"
      "                                          8-bit integers, with a measured error\n"
      "  ferry bench m.ferry                     how fast it is on this machine\n"
      "  ferry parity m.ferry FIXTURE            compare it with its framework's results\n"
      "  ferry bisect m.ferry FILE --fixture FIXTURE\n"
      "                                          find the faulty operator and the cause\n"
      "  ferry verify m.ferry                    check the certificate on this machine\n"
      "  ferry build --for m.ferry arm64 -o out  a minimal library with only this model's operators\n"
      "\n`ferry COMMAND --help` describes a command. Exit codes: 0 done, 1 a check failed, 2 bad usage or input.\n");
  int exit_code = kDone;
  add_models(app, &exit_code);
  add_get(app, &exit_code);
  add_convert(app, &exit_code);
  add_export(app, &exit_code);
  add_quantise(app, &exit_code);
  add_inspect(app, &exit_code);
  add_run(app, &exit_code);
  add_chat(app, &exit_code);
  add_parity(app, &exit_code);
#if defined(FERRY_HAS_CONVERTER)
  bisect::add_command(app, bisect_quantised, &exit_code);
#endif
  add_diff(app, &exit_code);
  add_verify(app, &exit_code);
  add_pack(app, &exit_code);
  add_template(app, &exit_code);
  add_build(app, &exit_code);
  add_bench(app, &exit_code);
  add_tokenize(app, &exit_code);
  add_devices(app, &exit_code);
  add_help(app, &exit_code);
  add_completion(app, &exit_code);

  expect_blobs(app);

  const std::vector<std::string> commands = command_names(app);
  if (argc < 2) return complain("ferry", "which command? " + join(commands, ", ") + " (see `ferry --help`)");
  const std::string first = argv[1];
  if (!first.starts_with('-') && std::find(commands.begin(), commands.end(), first) == commands.end()) {
    return complain("ferry",
                    "no command is called '" + first + "'" + did_you_mean(first, commands) + ": see `ferry --help`");
  }
  const CLI::App* command = &app;
  for (const CLI::App* c : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (c->get_name() == first) command = c;
  }
  const std::string where = command == &app ? "ferry" : "ferry " + first;
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    print_text(help_text(cli::describe(app), command == &app ? "" : first, terminal_width()));
    return kDone;
  } catch (const CLI::Success& asked) {  // --version
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    return complain(where, sentence(error, app, *command) + " (see `" + where + " --help`)");
  } catch (const Error& error) {
    return complain(where, error.what());
  } catch (const std::bad_alloc&) {
    return complain(where, "out of memory");
  } catch (const std::exception& error) {
    return complain(where, error.what());
  }
  return exit_code;
}

}  // namespace
}  // namespace ferry::cli

int main(int argc, char** argv) { return ferry::cli::run_command_line(argc, argv); }
