// Precision of a network on a device (-sp, -pr): HIGH is fp32; NORMAL stores fp16 and accumulates fp32; LOW computes in
// fp16 where the device can. A device without fp16 runs HIGH and says so.
#ifndef PLUMB_PRECISION_H_
#define PLUMB_PRECISION_H_

namespace plumb {

enum class Precision { kHigh, kNormal, kLow };

// "HIGH", "NORMAL", "LOW".
inline const char* PrecisionName(Precision precision) {
  return precision == Precision::kHigh ? "HIGH" : precision == Precision::kNormal ? "NORMAL" : "LOW";
}

}  // namespace plumb

#endif  // PLUMB_PRECISION_H_
