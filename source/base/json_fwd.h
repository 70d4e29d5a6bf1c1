// SPDX-License-Identifier: Apache-2.0
// The type of base/json.h, for headers.
#ifndef PLUMB_BASE_JSON_FWD_H_
#define PLUMB_BASE_JSON_FWD_H_

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <utility>

namespace plumb {

template <class Key, class T, class Less = std::less<Key>, class Allocator = std::allocator<std::pair<const Key, T>>>
class IndexedMap;
using FileJson = nlohmann::basic_json<IndexedMap>;

}  // namespace plumb

#endif  // PLUMB_BASE_JSON_FWD_H_
