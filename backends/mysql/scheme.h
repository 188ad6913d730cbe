// The registry entry of the MySQL and MariaDB backend.
#pragma once

#include "lockset/registry.h"

namespace lockset {

extern const Scheme mysql_scheme;

}  // namespace lockset
