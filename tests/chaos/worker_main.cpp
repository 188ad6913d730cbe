// lockset_chaos_worker: one process of a chaos run. The address of the space comes from the
// environment, as LOCKSET_URL, because it may contain a password. Ends with 0 when the stop file
// exists, and with 1 and a line if something unexpected happened.
#include <boost/program_options.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>

#include "tests/chaos/worker.h"

namespace {

namespace po = boost::program_options;
using lockset::chaos::WorkerOptions;
using std::chrono::milliseconds;

int run(int argc, char** argv) {
  WorkerOptions options;
  std::int64_t life = 0;
  std::int64_t lease = 0;
  std::int64_t io_timeout = 0;
  po::options_description all("lockset_chaos_worker");
  all.add_options()                                                                           //
      ("log", po::value(&options.log)->required(), "the history to write: a new file")        //
      ("process", po::value(&options.process)->required(), "its name in the history")         //
      ("seed", po::value(&options.seed)->default_value(1), "of all choices")                  //
      ("names", po::value(&options.names)->default_value(4), "how many hot names")            //
      ("resource", po::value(&options.resource)->required(), "folder of fenced resources")    //
      ("lease", po::value(&lease)->default_value(1000), "in milliseconds")                    //
      ("io-timeout", po::value(&io_timeout)->default_value(1000), "in milliseconds")          //
      ("threads", po::value(&options.threads)->default_value(2), "how many")                  //
      ("stop", po::value(&options.stop)->required(), "ends when this file is there")          //
      ("lost-state", po::bool_switch(&options.lost_state), "the store may lose its state")    //
      ("unfit", po::bool_switch(&options.unfit), "for a while it may not be fit")             //
      ("forks", po::bool_switch(&options.forks), "forks now and then")                        //
      ("keeps", po::bool_switch(&options.keeps), "keeps what it takes for long")              //
      ("closes", po::bool_switch(&options.closes), "forks once, and closes")                  //
      ("for", po::value(&life)->default_value(0), "ends after so many milliseconds, if any")  //
      ("tell-failures", po::bool_switch(&options.tell_failures), "a line for each")           //
      ("help", "this");
  po::variables_map given;
  po::store(po::parse_command_line(argc, argv, all), given);
  if (given.count("help") > 0) {
    std::cout << all;
    return 0;
  }
  po::notify(given);
  const char* const url = std::getenv("LOCKSET_URL");
  if (url == nullptr) throw po::error("LOCKSET_URL is not set");
  options.url = url;
  options.lease = milliseconds(lease);
  options.io_timeout = milliseconds(io_timeout);
  const lockset::TimePoint end = lockset::BootClock::now() + milliseconds(life);
  lockset::chaos::work(
      options, std::make_shared<lockset::test::Recorder>(options.process, options.log), [&] {
        return std::filesystem::exists(options.stop) ||
               (life > 0 && lockset::BootClock::now() > end);
      });
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "lockset_chaos_worker: %s\n", error.what());
    return 1;
  }
}
