// SPDX-License-Identifier: Apache-2.0
#include "stage/conventions.h"

#include "stage/boxes.h"

namespace plumb {

const std::vector<Convention>& ResizeConventions() {
  static const std::vector<Convention> all = [] {
    std::vector<Convention> list;
    AddResizeNearest(&list);
    AddResizeOpenCv(&list);
    AddResizePillow(&list);
    AddResizeTorch(&list);
    AddResizeTensorFlow(&list);
    for (Convention& resize : list) resize.any_size = true;
    return list;
  }();
  return all;
}

const std::vector<Convention>& BoxConventions() {
  static const std::vector<Convention> all = [] {
    std::vector<Convention> list;
    AddOrder(&list);
    list.resize(1);  // the values as they are; rows are not turned
    AddBoxes(&list);
    return list;
  }();
  return all;
}

const std::vector<Convention>& AllConventions() {
  static const std::vector<Convention> all = [] {
    std::vector<Convention> list;
    AddOrder(&list);
    AddCrop(&list);
    AddColour(&list);
    list.insert(list.end(), ResizeConventions().begin(), ResizeConventions().end());
    AddScores(&list);
    list.insert(list.end(), BoxConventions().begin() + 1, BoxConventions().end());
    return list;
  }();
  return all;
}

}  // namespace plumb
