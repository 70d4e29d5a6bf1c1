// SPDX-License-Identifier: Apache-2.0
// model_check --op Softmax: one operator call, judged in place of a network (plumb/judge.h, doc/judge.md).
#ifndef PLUMB_TOOLS_MODEL_CHECK_OPERATOR_H_
#define PLUMB_TOOLS_MODEL_CHECK_OPERATOR_H_

namespace plumb {

// Whether the command line asks for that: it has --op or --operator (-op is TNN's folder for outputs).
bool AsksForOperator(int argc, char** argv);
// The whole tool; its exit code.
int JudgeOperator(int argc, char** argv);

}  // namespace plumb

#endif  // PLUMB_TOOLS_MODEL_CHECK_OPERATOR_H_
