// SPDX-License-Identifier: Apache-2.0
// The way from uncertain integers to floats.
#ifndef PLUMB_REFERENCE_CORE_STEPS_H_
#define PLUMB_REFERENCE_CORE_STEPS_H_

namespace plumb {

// Of integers tau says how far they may be off, and a healthy device is off by all of that; of floats it is 8 sigma.
constexpr double kStepsToTau = 8;

}  // namespace plumb

#endif  // PLUMB_REFERENCE_CORE_STEPS_H_
