// SPDX-License-Identifier: Apache-2.0
// The lists of conventions whose numbers are known beforehand. Others are found in the pictures: masks.h, boxes.h,
// written_text.h, and letterboxes and lines of normalisations (explain.h).
#ifndef PLUMB_STAGE_CONVENTIONS_H_
#define PLUMB_STAGE_CONVENTIONS_H_

#include <vector>

#include "stage/picture.h"

namespace plumb {

// Of every library, in the order in which they are tried; and the resizes and those of boxes among them.
const std::vector<Convention>& ResizeConventions();
const std::vector<Convention>& BoxConventions();
const std::vector<Convention>& AllConventions();

}  // namespace plumb

#endif  // PLUMB_STAGE_CONVENTIONS_H_
