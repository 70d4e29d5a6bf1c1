// SPDX-License-Identifier: Apache-2.0
#include "util/op_dtypes.h"

namespace plumb {
namespace {

OpCase Row(const char* name, const std::string& params) {
  return OpCase("PlumbResize", name, params).In({4}, {1, 2, 3, 4});
}

std::string Linear(const char* coordinates) { return std::string("mode=linear coordinates=") + coordinates; }
std::string Nearest(const char* coordinates, const char* rounding) {
  return std::string("coordinates=") + coordinates + " nearest_mode=" + rounding;
}

void AddResizeValues(std::vector<OpCase>* cases) {
  // clang-format off
  const std::vector<OpCase> values = {
      Row("linear_up", Linear("half_pixel") + " scales=2").Out({1, 1.25, 1.75, 2.25, 2.75, 3.25, 3.75, 4}),
      Row("linear_align_corners", Linear("align_corners") + " scales=2")
          .Out({1, 1.42857143, 1.85714286, 2.28571429, 2.71428571, 3.14285714, 3.57142857, 4}),
      Row("linear_down", Linear("half_pixel") + " scales=0.6").Out({1.3333333, 2.9999999}),
      Row("linear_down_align_corners", Linear("align_corners") + " scales=0.6").Out({1, 3.142857}),
      Row("linear_to_one", Linear("pytorch_half_pixel") + " sizes=[1]").Out({1}),
      Row("linear_symmetric", Linear("half_pixel_symmetric") + " scales=0.6").Out({1.6666667, 3.3333333}),
      Row("cubic_up", "mode=cubic scales=2").Out({0.89453125, 1.19140625, 1.66796875, 2.296875, 2.703125, 3.33203125,
          3.80859375, 4.10546875}),
      Row("cubic_asymmetric_exclude", "mode=cubic coordinates=asymmetric cubic_coeff_a=-0.5 exclude_outside scales=2")
          .Out({1, 1.41176471, 2, 2.5, 3, 3.58823529, 4, 4.125}),
      Row("cubic_down_exclude", "mode=cubic cubic_coeff_a=-0.5 exclude_outside scales=0.8")
          .Out({1.07362534, 2.37499997, 3.71883526}),
      OpCase("PlumbResize", "linear_antialias_values", "mode=linear antialias scales=0.6").In({4}, {1, 5, 2, 8})
          .Out({2.49999994, 3.9999999}),
      OpCase("PlumbResize", "cubic_antialias", "mode=cubic antialias scales=0.6").In({4}, {1, 5, 2, 8})
          .Out({2.43132532, 4.10714262}),
      OpCase("PlumbResize", "cubic_antialias_exclude", "mode=cubic exclude_outside antialias scales=0.6")
          .In({4}, {1, 5, 2, 8}).Out({2.51530613, 4.32236821}),
      Row("crop_and_resize",
          "mode=linear coordinates=tf_crop_and_resize extrapolation_value=10 scales=0.75 roi=0.4;1.2")
          .Out({2.2, 3.4, 10}),
      Row("nearest_crop_values",
          "coordinates=tf_crop_and_resize nearest_mode=floor extrapolation_value=10 scales=0.75 roi=0.4;1.2")
          .Out({2, 3, 10}),
      Row("nearest_half_pixel", Nearest("half_pixel", "round_prefer_floor") + " scales=2")
          .Out({1, 1, 2, 2, 3, 3, 4, 4}, 0),
      Row("nearest_asymmetric_ceil", Nearest("asymmetric", "ceil") + " scales=2").Out({1, 2, 2, 3, 3, 4, 4, 4}, 0),
      Row("nearest_asymmetric_floor", Nearest("asymmetric", "floor") + " scales=1.5").Out({1, 1, 2, 3, 3, 4}, 0),
      Row("nearest_prefer_ceil", Nearest("asymmetric", "round_prefer_ceil") + " scales=2")
          .Out({1, 2, 2, 3, 3, 4, 4, 4}, 0),
      Row("nearest_prefer_floor", Nearest("asymmetric", "round_prefer_floor") + " scales=2")
          .Out({1, 1, 2, 2, 3, 3, 4, 4}, 0),
      OpCase("PlumbResize", "nearest_symmetric_tie", Nearest("half_pixel_symmetric",
          "round_prefer_ceil") + " scales=0.6").In({6}, {1, 2, 3, 4, 5, 6}).Out({2, 4, 5}, 0),
      OpCase("PlumbResize", "two_dims", Linear("half_pixel") + " scales=1;1;2;2").In({1, 1, 2, 2}, {1, 2, 3, 4})
          .Out({1, 1.25, 1.75, 2, 1.5, 1.75, 2.25, 2.5, 2.5, 2.75, 3.25, 3.5, 3, 3.25, 3.75, 4}),
      OpCase("PlumbResize", "named_axes", Linear("half_pixel") + " axes=[3,-2] scales=2;2")
          .In({1, 1, 2, 2}, {1, 2, 3, 4}).OutShape({1, 1, 4, 4}),
      OpCase("PlumbResize", "not_larger",
          "nearest_mode=floor keep_aspect_ratio_policy=not_larger axes=[2,3] sizes=[7,8]").In({1, 1, 2, 4})
          .OutShape({1, 1, 4, 8}),
      OpCase("PlumbResize", "not_smaller",
          "nearest_mode=floor keep_aspect_ratio_policy=not_smaller axes=[2,3] sizes=[7,8]").In({1, 1, 2, 4})
          .OutShape({1, 1, 7, 14}),
      OpCase("PlumbResize", "same_size", Linear("half_pixel") + " sizes=[3,5]").In({3, 5}, Regime::kSpecials)
          .OutShape({3, 5}),
  };
  // clang-format on
  cases->insert(cases->end(), values.begin(), values.end());
}

void AddResizeSizes(std::vector<OpCase>* cases) {
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    for (const char* coordinates : {"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"}) {
      const std::string start = std::string("mode=") + mode + " coordinates=" + coordinates + " nearest_mode=floor";
      const std::string name = std::string(mode) + "_" + coordinates;
      cases->push_back(OpCase("PlumbResize", name + "_up", start + " axes=[2,3] sizes=[13,22]").In({2, 3, 5, 7}));
      cases->push_back(OpCase("PlumbResize", name + "_down", start + " axes=[2,3] sizes=[9,5]").In({1, 5, 17, 23}));
      cases->push_back(
          OpCase("PlumbResize", name + "_volume", start + " axes=[2,3,4] sizes=[3,4,11]").In({1, 2, 4, 3, 5}));
    }
    const std::string anti = std::string("mode=") + mode + " nearest_mode=floor cubic_coeff_a=-0.5 antialias";
    cases->push_back(OpCase("PlumbResize", std::string(mode) + "_antialias_2d", anti + " axes=[2,3] sizes=[5,9]")
                         .In({2, 3, 16, 20}));
    cases->push_back(OpCase("PlumbResize", std::string(mode) + "_offset", anti + " axes=[2,3] sizes=[7,9]")
                         .In({1, 4, 5, 6}, Regime::kOffset));
    cases->push_back(OpCase("PlumbResize", std::string(mode) + "_crop",
                            std::string("mode=") + mode +
                                " coordinates=tf_crop_and_resize nearest_mode=floor extrapolation_value=7.5 axes=[2,3] "
                                "sizes=[5,6] roi=0.1;-0.2;0.8;1.1")
                         .In({2, 3, 7, 8}));
  }
}

}  // namespace

std::vector<OpCase> resize_cases() {
  std::vector<OpCase> cases;
  AddResizeValues(&cases);
  AddResizeSizes(&cases);
  // clang-format off
  const std::vector<OpCase> refused = {
      Row("unknown_mode", "mode=area scales=2").Refused("mode 'area' is none of nearest, linear, cubic"),
      Row("unknown_coordinates", Linear("corners") + " scales=2")
          .Refused("coordinates 'corners' is none of half_pixel"),
      Row("both", Linear("half_pixel") + " sizes=[8] scales=2")
          .Refused("expects 1 sizes or scales, found 1 sizes and 1 scales"),
      Row("neither", Linear("half_pixel") + "").Refused("found 0 sizes and 0 scales"),
      Row("count", Linear("half_pixel") + " scales=2;2").Refused("expects 1 sizes or scales"),
      Row("scale_zero", Linear("half_pixel") + " scales=0").Refused("is not positive"),
      Row("scale_text", Linear("half_pixel") + " scales=2;x").Refused("is no list of numbers"),
      Row("negative_size", Linear("half_pixel") + " sizes=[-3]").Refused("cannot resize dim 0"),
      Row("axis_twice", Linear("half_pixel") + " axes=[0,0] scales=2;2").Refused("axis 0 is named twice"),
      Row("roi_missing", Linear("tf_crop_and_resize") + " scales=2").Refused("expects 2 roi numbers, found 0"),
      OpCase("PlumbResize", "linear_integers", Linear("half_pixel") + " scales=2").In({4}, Regime::kInts, DType::kI32)
          .Refused("expects a float blob"),
  };
  // clang-format on
  cases.insert(cases.end(), refused.begin(), refused.end());
  AddForEveryDType(OpCase("PlumbResize", "dtype", Nearest("asymmetric", "floor") + " sizes=[3,8]").In({2, 5}), &cases);
  return cases;
}

}  // namespace plumb
