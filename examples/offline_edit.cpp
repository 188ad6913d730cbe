// A person edits a record in a browser: the form is opened by one request and saved by another one,
// minutes later, in another process. Nobody else edits it meanwhile, and others see who does.
//
//   offline_edit [URL]        each request below opens the space anew, as another process would
//
// URL is a store that clients share, not memory:, of which each client has its own.
#include <lockset/lockset.h>

#include <chrono>
#include <exception>
#include <iostream>
#include <string>
#include <variant>

namespace {

using namespace std::chrono_literals;
using lockset::EditConflict, lockset::Stamp, lockset::UserSession, lockset::UserSessions;

std::string url;

// One request of the web application.
template <class Work>
auto request(Work work) {
  // All processes have one application id: it may release what others of them took.
  lockset::Locks locks = lockset::open(url, {.app = "invoices"}).value();
  UserSessions sessions(locks, {.timeout = 5min, .prefix = "invoice/"});
  return work(sessions);
}

// Opens the form. The stamp goes into it, as a hidden field.
Stamp open_form(const UserSession& session, const std::string& invoice) {
  return request([&](UserSessions& sessions) {
    const auto outcome = sessions.take(session, {lockset::write(invoice)}).value();
    if (const auto* conflict = std::get_if<EditConflict>(&outcome)) {
      std::cout << session.user << " can't edit: " << conflict->text() << "\n";
      return Stamp{};
    }
    return std::get<Stamp>(outcome);
  });
}

}  // namespace

int main(int argc, char** argv) try {
  url = argc > 1 ? argv[1] : "sqlite:offline_edit.db";
  const UserSession alice{"alice", "8f3a"};
  const UserSession bob{"bob", "c021"};

  const Stamp form = open_form(alice, "invoice/7");
  const bool refused = !open_form(bob, "invoice/7");
  const bool same = open_form(alice, "invoice/7") == form;  // she reloads the page

  // She saves: check that the time-out did not come first, write, release. The invoice keeps the
  // stamp as well, so that a save that comes too late is refused (docs/fencing.md).
  const bool saved = request([&](UserSessions& sessions) { return sessions.release(form).ok(); });
  const bool bobs_turn = static_cast<bool>(open_form(bob, "invoice/7"));

  // Bob closes his browser: his session ends, and with it all that it holds.
  const auto released =
      request([&](UserSessions& sessions) { return sessions.release_all(bob).value(); });
  std::cout << "released at the end of bob's session: " << released << "\n";
  return form && refused && same && saved && bobs_turn && released == 1 ? 0 : 1;
} catch (const std::exception& error) {  // of .value(), for example if the store is away
  std::cerr << error.what() << "\n";
  return 2;
}
