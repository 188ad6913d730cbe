// What lockset says on standard error while it holds locks.
//
// A stopped terminal (^S), or a pipe that nobody reads, can block a write for ever. The threads
// that renew a lease, or end a command whose lock was lost, must not wait for that, so a separate
// thread does the writing.
#pragma once

#include <memory>
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

// Writes the line "lockset: ..." to standard error, as write_chat does. An address in it is shown
// without its password: somebody may have typed it in any wrong place.
void say(std::string_view line);
// Writes to standard error without a change, in one write, so that lines of several processes never
// mix.
void write_chat(std::string text);
// As write_chat, for a text that matters only now. False: the text is dropped, because something
// else is still being written.
bool write_fleeting(std::string text);

}  // namespace lockset::cli
