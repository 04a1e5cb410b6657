// cnuas-endpoint: one GPU at a port of a switch, for labs, tests and benchmarks.
#include "live/endpoint/main/options.h"
#include "live/endpoint/main/session.h"

#include <cstdio>
#include <exception>
#include <optional>

namespace {

using namespace cnuas::live::endpoint;

// Room for one message, and no other is read until it has been given back.
cnuaslink_options one_slot_options(cnuaslink_options link) {
  link.receive_batch = 1;
  link.receive_bytes = 1;
  return link;
}

void run(Session& session) {
  switch (session.options().mode) {
    case Mode::echo:
      return run_echo(session);
    case Mode::blast:
      return run_blast(session);
    case Mode::sink:
      return run_sink(session);
    case Mode::pattern:
      return session.options().verify ? run_pattern_checker(session) : run_pattern_sender(session);
    case Mode::one_slot:
      return run_one_slot(session);
    case Mode::ping:
      return run_ping(session);
  }
}

int run_command_line(int argc, char** argv) {
  int status = kSuccess;
  const std::optional<Options> options = parse_options(argc, argv, status);
  if (!options) return status;
  end_at_signals();
  cnuaslink_options link = Session::link_options(*options);
  if (options->mode == Mode::one_slot) link = one_slot_options(link);
  Session session(*options);
  if (!session.open(link)) return kInputOutput;
  session.await_receiver();
  run(session);
  return session.finish();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run_command_line(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "internal error: %s\n", error.what());
    return kInternal;
  }
}
