// SPDX-License-Identifier: Apache-2.0
// The Python that runs frameworks for us.
#ifndef PLUMB_SESSION_PYTHON_H_
#define PLUMB_SESSION_PYTHON_H_

#include <string>

namespace plumb {

// `given`, where it is not empty; $PLUMB_PYTHON; else the environment that platforms/linux/run.sh makes, build/venv
// beside the build that this program lies in, or the one that the wheel is installed in, around
// lib/python3.11/site-packages/plumbnn/bin; else what PATH finds.
std::string PythonOf(const std::string& given);

}  // namespace plumb

#endif  // PLUMB_SESSION_PYTHON_H_
