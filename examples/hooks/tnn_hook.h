// SPDX-License-Identifier: Apache-2.0
// TNN: its callback behind every layer hands out the layer's blobs, which plumb_dump.h writes from where they lie.
// Written from TNN's headers (core/instance.h, core/blob.h, core/layer_type.h); not compiled or tried here.
//
//   plumb_dumper* dump = plumb_dump_open("TNN 0.3", "net.tnnproto");  // NULL unless DUMP_OUTPUT_BLOB=1
//   plumb_dump_forward(dump);
//   instance->ForwardWithCallback(nullptr, PlumbTnnHook(dump));       // in place of Forward()
//   plumb_dump_close(dump);
//
// For devices whose blobs the CPU can read: NAIVE and X86 (NCHW), ARM (channels in blocks of four).
#pragma once
#include <vector>

#include "plumb_dump.h"
#include "tnn/core/blob.h"
#include "tnn/core/instance.h"
#include "tnn/interpreter/layer_param.h"

// The dtype of plumb_dump.h; false for one that it has not.
inline bool PlumbTnnDtype(TNN_NS::DataType type, plumb_dtype* dtype) {
  switch (type) {
    case TNN_NS::DATA_TYPE_FLOAT: *dtype = PLUMB_F32; return true;
    case TNN_NS::DATA_TYPE_HALF: *dtype = PLUMB_F16; return true;
    case TNN_NS::DATA_TYPE_BFP16: *dtype = PLUMB_BF16; return true;
    case TNN_NS::DATA_TYPE_INT8: *dtype = PLUMB_I8; return true;
    case TNN_NS::DATA_TYPE_INT32: *dtype = PLUMB_I32; return true;
    default: return false;
  }
}

inline TNN_NS::BlobStatisticCallback PlumbTnnHook(plumb_dumper* dump) {
  return [dump](std::vector<TNN_NS::Blob*>& blobs, TNN_NS::LayerInfo* layer) {
    int slot = 0;
    for (TNN_NS::Blob* blob : blobs) {
      const TNN_NS::BlobDesc& about = blob->GetBlobDesc();
      plumb_dump_place place = PLUMB_DUMP_PLACE_INIT;
      plumb_dtype dtype;
      place.layer = layer->name.c_str();
      place.type = layer->type_str.c_str();
      place.slot = slot++;
      switch (about.data_format) {
        case TNN_NS::DATA_FORMAT_NC4HW4:
          place.pack = 4;
          place.layout = "NC4HW4";
          break;
        case TNN_NS::DATA_FORMAT_NC8HW8:
          place.pack = 8;
          place.layout = "NC8HW8";
          break;
        case TNN_NS::DATA_FORMAT_NCHW: place.layout = "NCHW"; break;
        default: continue;  // of a GPU, or one that is not known: fetch it with TNN_NS::BlobConverter first
      }
      if (!PlumbTnnDtype(about.data_type, &dtype)) continue;
      const char* data = static_cast<const char*>(blob->GetHandle().base) + blob->GetHandle().bytes_offset;
      const std::vector<int64_t> dims(about.dims.begin(), about.dims.end());
      plumb_dump_write(dump, &place, about.name.c_str(), data, dtype, static_cast<int>(dims.size()), dims.data(),
                       nullptr);
    }
  };
}
