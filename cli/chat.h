// What lockset says: on standard error, unless --log syslog.
//
// A stopped terminal (^S), or a pipe that nobody reads, can block a write for ever. The threads
// that renew a lease, or end a command whose lock was lost, must not wait for that, so a separate
// thread does the writing.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "cli/signals.h"

namespace lockset::cli {

class ChatWriter;

// While it exists, say() and write_chat() queue and return. Only one may exist at a time.
//
// Its destructor waits until everything was written, or until a signal that asks to end.
class Chat {
 public:
  explicit Chat(Signals& signals);
  Chat(const Chat&) = delete;
  Chat& operator=(const Chat&) = delete;
  ~Chat();

 private:
  Signals& signals_;
  std::shared_ptr<ChatWriter> writer_;
};

// Says the line in the form of the log: as text, "lockset: ..." on standard error, as write_chat
// does. An address in it is shown without its password: somebody may have typed it in any wrong
// place.
void say(std::string_view line);
void warn(std::string_view line);       // as text: "lockset: warning: ..."
void say_error(std::string_view line);  // as text: as say()
// Somebody changed what all programs share. `fields` are more keys for JSON: "audit".
void say_deed(std::string_view line, const nlohmann::ordered_json& fields);

// How everything is said from now on: "text", "json" or "syslog"; another word changes nothing. If
// nobody listens to syslog it stays as it is, with a warning.
void set_log_form(std::string_view name);
// Whether standard error is for people.
bool log_is_text();

// Writes to standard error without a change, in one write, so that lines of several processes never
// mix.
void write_chat(std::string text);
// As write_chat, for a text that matters only now. False: the text is dropped, because something
// else is still being written.
bool write_fleeting(std::string text);

}  // namespace lockset::cli
