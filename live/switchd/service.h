// What a service manager is told, and what it hands over (sd_notify(3), sd_listen_fds(3)). All of it does
// nothing where the daemon was not started by one.
#pragma once

#include "core/engine/error.h"
#include "core/engine/time.h"
#include "live/posix/unique_fd.h"

#include <map>
#include <string>

namespace cnuas::live {

// Sockets that listen already, by name: "port_0" ... "port_8", "mgmt". A name is what the manager calls the
// socket (FileDescriptorName=), or its file's name without ".sock". Errors: one that no port goes by, twice
// the same, or that is not a listening UNIX socket of the kind its name needs.
Result<std::map<std::string, UniqueFd>> take_passed_sockets();

void notify_ready(const std::string& status);
void notify_status(const std::string& status);
void notify_reloading();
void notify_stopping(const std::string& status);
void notify_alive();

// How often notify_alive() is expected; 0: never.
Picoseconds alive_period();

}  // namespace cnuas::live
