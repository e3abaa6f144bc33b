// The subcommands of `ferry`. Each adds its options and its help to the parser, and sets *exit_code when it has run.
// Bad input is thrown as Error: main() prints the message as one line and exits with kBadInput.
#pragma once

#include <string>
#include <vector>

#include "cli/arguments.h"
#include "converter/error.h"

namespace ferry::cli {

enum ExitCode : int {
  kDone = 0,
  kCheckFailed = 1,  // parity or a certificate out of bounds, or blobs that differ
  kBadInput = 2,     // bad usage, or input that cannot be used
};

void add_models(CLI::App& ferry, int* exit_code);
void add_get(CLI::App& ferry, int* exit_code);
void add_convert(CLI::App& ferry, int* exit_code);
void add_export(CLI::App& ferry, int* exit_code);
void add_quantise(CLI::App& ferry, int* exit_code);
void add_inspect(CLI::App& ferry, int* exit_code);
void add_diff(CLI::App& ferry, int* exit_code);
void add_verify(CLI::App& ferry, int* exit_code);
void add_run(CLI::App& ferry, int* exit_code);
void add_chat(CLI::App& ferry, int* exit_code);
void add_pack(CLI::App& ferry, int* exit_code);
void add_template(CLI::App& ferry, int* exit_code);
void add_build(CLI::App& ferry, int* exit_code);
void add_bench(CLI::App& ferry, int* exit_code);
void add_tokenize(CLI::App& ferry, int* exit_code);
void add_devices(CLI::App& ferry, int* exit_code);
void add_help(CLI::App& ferry, int* exit_code);
void add_completion(CLI::App& ferry, int* exit_code);

// The names that `ferry convert --model` accepts, as `ferry models` lists them; none without the converter.
std::vector<std::string> variant_names();
// The names that `ferry get` accepts; none where it cannot download.
std::vector<std::string> checkpoint_names();

}  // namespace ferry::cli
