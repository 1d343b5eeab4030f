// Functions of the addon other than kernels.
#pragma once

#include <node_api.h>

namespace skein {

napi_value set_threads_js(napi_env env, napi_callback_info info);
napi_value get_threads_js(napi_env env, napi_callback_info info);
napi_value prepare_block_js(napi_env env, napi_callback_info info);
napi_value release_block_js(napi_env env, napi_callback_info info);
napi_value lock_file_js(napi_env env, napi_callback_info info);

}  // namespace skein
