// Checkpoints as a source of the converter: a family builds the network, a checkpoint has its weights.
#pragma once

#include "converter/source.h"

namespace ferry {

Source checkpoint_source();

}  // namespace ferry
