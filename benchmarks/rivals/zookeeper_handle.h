// A session of ZooKeeper's C client with its simplest calls, which wait for their answers: the
// basis of the floor and the natives.
#pragma once

#include <sys/socket.h>
#include <zookeeper/zookeeper.h>

#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include "lockset/url.h"

namespace lockset::bench {

// Used by one thread at a time. Calls throw std::runtime_error with one line.
class ZookeeperHandle {
 public:
  // Returns when it is connected.
  explicit ZookeeperHandle(const Url& url);
  ZookeeperHandle(const ZookeeperHandle&) = delete;
  ZookeeperHandle& operator=(const ZookeeperHandle&) = delete;
  // Ends the session, and its ephemeral nodes with it.
  ~ZookeeperHandle();

  // The path of the space: "" or "/path".
  [[nodiscard]] const std::string& chroot() const noexcept { return chroot_; }

  // Returns the whole path of the new node, with the server's number if it is sequential; "" if its
  // parent does not exist.
  std::string create(const std::string& path, int mode);
  void remove(const std::string& path);
  // Makes the node and its parents where they are missing.
  void make_path(const std::string& path);
  // Removes the node and everything below it, if it exists.
  void remove_tree(const std::string& path);
  // Empty if the node does not exist.
  std::vector<std::string> children(const std::string& path);
  // Returns when this node is gone, or has changed.
  void await_end_of(const std::string& path);

  // The timeout of the session, as the server granted it.
  [[nodiscard]] int timeout_ms() const { return zoo_recv_timeout(handle_); }
  // The answer to a word for administrators ("srvr"); "" if the server does not allow it.
  std::string tell(const std::string& word);

 private:
  static void on_event(zhandle_t* handle, int type, int state, const char* path, void* context);
  template <class Done>
  void await(Done done);
  [[nodiscard]] int remove_if_there(const std::string& path);

  std::string chroot_;
  const ACL_vector* acl_ = &ZOO_OPEN_ACL_UNSAFE;
  zhandle_t* handle_ = nullptr;
  std::mutex mutex_;
  std::condition_variable changed_;
  int state_ = 0;
  bool fired_ = false;  // set by the watch of await_end_of()
};

}  // namespace lockset::bench
