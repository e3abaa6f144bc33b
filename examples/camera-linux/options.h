// SPDX-License-Identifier: Apache-2.0
// Command-line options.
#pragma once

#include <string>

#include "recogniser.h"
#include "sources.h"

namespace camera {

struct Options {
  enum class From { Device, RawFile, Folder };

  std::string model;
  From from = From::Device;
  std::string path = "/dev/video0";
  Wanted wanted;
  ferry::SessionOptions session;
  Prompts prompts;
  int frames = 0;  // number to process; 0: all
  bool page = true;
  std::string address = "127.0.0.1";
  int port = 8080;    // 0: any free port
  bool help = false;  // was requested
};

// FERRY_INVALID_ARGUMENT with a message if they are invalid.
ferry::Result<Options> read_options(int argc, char** argv);
const char* help_text();

}  // namespace camera
