#include "sdk/task/task.h"

namespace ferry::task {

Status read(Networks&, const Request&, Answer*) { return error(FERRY_UNSUPPORTED, "reading is not there yet"); }

}  // namespace ferry::task
