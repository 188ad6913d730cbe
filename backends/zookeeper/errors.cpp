#include "backends/zookeeper/errors.h"

#include <zookeeper/zookeeper.h>

#include "lockset/lock_set.h"

namespace lockset::zookeeper {

bool leaves_doubt(int code) noexcept {
  switch (code) {
    // The server says so, or the request was never sent.
    case ZOK:
    case ZMARSHALLINGERROR:
    case ZUNIMPLEMENTED:
    case ZBADARGUMENTS:
    case ZINVALIDSTATE:
    case ZNONODE:
    case ZNOAUTH:
    case ZBADVERSION:
    case ZNOCHILDRENFOREPHEMERALS:
    case ZNODEEXISTS:
    case ZNOTEMPTY:
    case ZSESSIONEXPIRED:
    case ZINVALIDCALLBACK:
    case ZINVALIDACL:
    case ZAUTHFAILED:
    case ZNOTREADONLY:
    case ZTHROTTLEDOP:
      return false;
    // Lost connections, and unknown codes. ZSESSIONMOVED may belong to an earlier connection that
    // the request took. ZRUNTIMEINCONSISTENCY for a whole request is a lost connection too: the
    // client library ends a connection whose answers are out of order. (For a part of a multi it is
    // the server's word for "after the one that failed"; the library never reports it for the
    // whole.)
    default:
      return true;
  }
}

bool ends_session(int code) noexcept {
  return code == ZSESSIONEXPIRED || code == ZINVALIDSTATE || code == ZAUTHFAILED;
}

Error not_an_operator(const std::string& user, const std::string& where) {
  return takes_an_operator(where,
                           user.empty() ? "a program without a user" : "user " + in_quotes(user),
                           (user.empty() ? "USER" : user) + ":DIGEST");
}

Error error_from(int code, const std::string& where, Sent sent) {
  const std::string quote = " (" + std::string(zerror(code)) + ", " + std::to_string(code) + ")";
  const auto make = [&](Errc errc, const std::string& text) {
    return Error{errc, where + ": " + text + quote};
  };
  switch (code) {
    case ZNOAUTH:
    case ZINVALIDACL:
      return make(Errc::misconfigured,
                  "the nodes of the space are not for this user: check user and password, which "
                  "must be those of lockset init");
    case ZAUTHFAILED:
      return make(Errc::misconfigured, "the server refuses this user or password: check both");
    case ZNONODE:
      return make(Errc::misconfigured,
                  "there is no lock space here: run lockset init, and check the path and the "
                  "parameter space");
    case ZNOTREADONLY:
      return make(Errc::unavailable,
                  "this server is cut off from the others and read-only; nothing was applied");
    case ZTHROTTLEDOP:
      return make(Errc::unavailable, "the server is overloaded; nothing was applied");
    case ZMARSHALLINGERROR:
    case ZBADARGUMENTS:
      return make(Errc::internal, "the server could not read the request");
    case ZSESSIONEXPIRED:
    case ZINVALIDSTATE:
      return make(Errc::unavailable, "the session has expired, and what was asked in it with it");
    default:
      break;
  }
  // A code that leaves no doubt is an answer: the change was not made.
  if (!leaves_doubt(code)) return unknown_answer(Sent::reading, where, quote);
  return no_answer(sent, where, quote);
}

}  // namespace lockset::zookeeper
