// SPDX-License-Identifier: Apache-2.0
// The model and the inputs made ready on this machine: what the machines cannot read is converted.
#ifndef PLUMB_TOOLS_DEVICE_CHECK_PAYLOAD_H_
#define PLUMB_TOOLS_DEVICE_CHECK_PAYLOAD_H_

#include <string>

#include "device_check/job.h"

namespace plumb {

// `folder`: for converted files.
Result<Payload> MakePayload(const DeviceCheckOptions& options, const std::string& folder);

}  // namespace plumb

#endif  // PLUMB_TOOLS_DEVICE_CHECK_PAYLOAD_H_
