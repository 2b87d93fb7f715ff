// Tests run as the program's trials do: pinned, in one thread, without denormals.
#include <gtest/gtest.h>

#include "core/dnn/pins.hpp"
#include "core/dnn/threads.hpp"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  headlab::dnn::pin(headlab::instruction_set());
  headlab::dnn::single_threaded();
  return RUN_ALL_TESTS();
}
