// SPDX-License-Identifier: Apache-2.0
#include "plumb/check.h"

namespace plumb {

const char* VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kAligned: return "aligned";
    case Verdict::kNotTested: return "not tested";
    case Verdict::kGrey: return "grey";
    case Verdict::kWrong: return "wrong";
  }
  return "wrong";
}

}  // namespace plumb
