#include "core/dnn/threads.hpp"

#include <omp.h>
#include <pmmintrin.h>
#include <xmmintrin.h>

namespace headlab::dnn {

void single_threaded() {
  omp_set_num_threads(1);
  _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_ON);
  _MM_SET_DENORMALS_ZERO_MODE(_MM_DENORMALS_ZERO_ON);
}

}  // namespace headlab::dnn
