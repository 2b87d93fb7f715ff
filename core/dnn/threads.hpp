#pragma once

namespace headlab::dnn {

/// One thread a trial: what oneDNN plans or runs in the calling thread uses no other. Denormals count as zero
/// there from now on. Call it at the start of every thread that trains.
void single_threaded();

}  // namespace headlab::dnn
