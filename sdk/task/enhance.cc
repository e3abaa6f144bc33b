#include "sdk/image/enhance.h"

#include "sdk/task/task.h"

namespace ferry::task {

Status enhance(Networks& networks, const TaskRequest& request, Answer* answer) {
  image::Pixels made;
  FERRY_TRY(image::enhance(networks.session, request.image, request.tile, request.progress, &made));
  return image::to_rgb(static_cast<image::Pixels&&>(made), &answer->pixels);
}

}  // namespace ferry::task
