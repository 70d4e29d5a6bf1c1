// SPDX-License-Identifier: Apache-2.0
// Mediapipe's custom operators that crop a picture around landmarks and put the landmarks found there back.
#ifndef PLUMB_FORMAT_TFLITE_MAP_LANDMARKS_H_
#define PLUMB_FORMAT_TFLITE_MAP_LANDMARKS_H_

#include "format/tflite/op_context.h"

namespace plumb::tflite {

// Landmarks2TransformMatrix: [1,n,3] to the matrix [1,4,4] that leads from the crop's pixels to the picture's.
Status LandmarksToMatrix(OpContext& c);
// TransformTensorBilinear: the crop, by a picture [1,h,w,c] and that matrix.
Status TransformPicture(OpContext& c);
// TransformLandmarks: [1,n,2] or [1,n,3] of a crop to those of the picture.
Status TransformLandmarks(OpContext& c);

}  // namespace plumb::tflite

#endif  // PLUMB_FORMAT_TFLITE_MAP_LANDMARKS_H_
