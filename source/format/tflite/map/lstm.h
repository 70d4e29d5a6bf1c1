// SPDX-License-Identifier: Apache-2.0
// The places of the tensors of UNIDIRECTIONAL_SEQUENCE_LSTM and LSTM, and what their options say alike.
#ifndef PLUMB_FORMAT_TFLITE_MAP_LSTM_H_
#define PLUMB_FORMAT_TFLITE_MAP_LSTM_H_

#include "format/tflite/op_context.h"

namespace plumb::tflite {

constexpr int64_t kMostHidden = 1 << 20;  // values of a state

constexpr size_t kNoPlace = 1000;  // beyond any operator's inputs

// The first inputs of each kind, in the order of the gates: input, forget, cell, output. Peepholes have no cell gate.
struct LstmPlaces {
  size_t weights = 1, recurrent = 5, peepholes = 9, biases = 12, projection = 16, projection_bias = 17;
  size_t hidden_state = 18, cell_state = 19, norms = 20, aux_weights = kNoPlace;
};
enum Gate : size_t { kInput, kForget, kCell, kOutput };

struct LstmOptions {
  float cell_clip = 0, projection_clip = 0;
  bool one_step = false, time_major = true;
};

// Vectors [steps,batch,channels] of a sequence, or those of one step.
struct Sequence {
  std::string x, aux;  // aux: read by weights of its own; "": none
  int64_t steps = 1, batch = 1;
  bool reversed = false;
};

// Of floats: h of all steps, [steps,batch,hidden]. float_lstm.cc
Result<std::string> FloatLstm(OpContext& c, const LstmPlaces& places, const LstmOptions& options,
                              const Sequence& sequence);
// One value for each step, in the order in which they are read; and back.
Result<std::vector<std::string>> StepsOf(OpContext& c, const std::string& sums, const Sequence& sequence);
Result<std::string> JoinedSteps(OpContext& c, std::vector<std::string> steps, const Sequence& sequence);
// [b,a] of a constant matrix [a,b].
std::string TurnedMatrix(OpContext& c, const std::string& matrix);
Result<std::string> WithAxis(OpContext& c, const char* type, const std::string& value, int64_t axis);

// Of int8 activations, whose cells have 16 bits. integer_lstm.cc
Status WriteIntegerLstm(OpContext& c, const LstmOptions& options);

}  // namespace plumb::tflite

#endif  // PLUMB_FORMAT_TFLITE_MAP_LSTM_H_
