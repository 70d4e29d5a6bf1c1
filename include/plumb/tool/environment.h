// SPDX-License-Identifier: Apache-2.0
// The environment variables that Plumb reads: one list, from which the check for misspelt names, messages and the table
// in doc/environment.md (a test compares them) derive. The test also looks for readers of names that are not in it.
//
// Threading: free functions; nobody else may change the environment meanwhile.
#ifndef PLUMB_TOOL_ENVIRONMENT_H_
#define PLUMB_TOOL_ENVIRONMENT_H_

#include <vector>

#include "plumb/status.h"

namespace plumb {

struct EnvironmentVariable {
  const char* name;
  const char* values;
  const char* meaning;
};

const std::vector<EnvironmentVariable>& EnvironmentVariables();

// What a message says it takes. REQUIRES: a name of the list.
const char* EnvironmentValues(const char* name);

// InvalidArgument when a variable is set whose name is none of the list but close to one: then it was meant for us and
// would do nothing. Names that only share the prefix are another program's. Also for a PLUMB_LOG that is no level;
// other values are read where they are used.
Status CheckEnvironment();

}  // namespace plumb

#endif  // PLUMB_TOOL_ENVIRONMENT_H_
