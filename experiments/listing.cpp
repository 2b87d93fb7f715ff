#include "experiments/listing.hpp"

namespace headlab {

void show(const Listing& listing, const CommandLine& line) {
  if (!line.has("json")) return console::write(console::table(listing.rows, console::width()));
  const nlohmann::ordered_json all{{"version", 1}, {listing.name, listing.json}};
  console::print("{}\n", all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace headlab
