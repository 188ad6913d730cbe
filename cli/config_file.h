// lockset.conf: lines "key = value", comments after #, and sections [name], which put "name."
// before the keys that follow.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace lockset::cli {

struct ConfigEntry {
  std::string key;
  std::string value;
  std::string place;  // "/etc/lockset.conf:3"
};

struct ConfigFile {
  std::string path;
  bool others_may_read = false;
  std::vector<ConfigEntry> entries;
};

// The file to read: `named` (--config or LOCKSET_CONFIG) if set, else the first that exists of
// $XDG_CONFIG_HOME/lockset/lockset.conf and /etc/lockset.conf. The working directory is not
// searched: write access to it must not allow anybody to choose the store. Failure 78 if a named
// file is missing, or if a file can't be read or has a bad line.
std::optional<ConfigFile> read_config_file(const std::optional<std::string>& named);

}  // namespace lockset::cli
