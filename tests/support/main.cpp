// Tests run as the program's trials do: pinned, in one thread, without denormals. Workers, and sweeps in
// processes of their own, are this program, too.
#include <gtest/gtest.h>

#include <csignal>

#include "core/dnn/pins.hpp"
#include "core/dnn/threads.hpp"
#include "tests/support/scenarios.hpp"
#include "tests/support/supervisor.hpp"

int main(int argc, char** argv) {
  headlab::dnn::pin(headlab::instruction_set());
  if (argc > 2 && std::string(argv[1]) == "worker")
    return headlab::test::run_scenario({argv + 2, argv + argc});
  if (argc > 5 && std::string(argv[1]) == "supervisor")
    return headlab::test::run_supervisor({argv + 2, argv + argc});
  testing::InitGoogleTest(&argc, argv);
  headlab::dnn::single_threaded();
  return RUN_ALL_TESTS();
}
