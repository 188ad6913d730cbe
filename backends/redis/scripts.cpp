#include "backends/redis/scripts.h"

namespace lockset::redis {
namespace {

constexpr std::string_view opening = R"(
local M, L, W = KEYS[1], KEYS[2], KEYS[3]
local call, format = redis.call, string.format
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
)";

// Whether the state is the one that this server has had all the time. ADR 0045.
//
// here: a string that was changed in place, and so is "raw" in the server's memory. What is loaded,
// by RESTORE, from a file or as a replica, is not. Its text stands in the space too, so that one of
// them alone can't be put back. line: the history that this process followed before it was promoted
// last, '' if it never was, or if nobody can tell any more. A primary that was none for a while may
// lack what another one granted.
constexpr std::string_view state = R"(
local about = call('INFO', 'replication')
if string.find(about, 'role:slave', 1, true) then
  return redis.error_reply('READONLY the server is a replica by now')
end
local line, line_at = string.match(about, 'master_replid2:(%x+).-second_repl_offset:(%-?%d+)')
line = line and string.find(line, '[^0]') and line .. ':' .. line_at or ''
local function loaded(mark)
  return call('OBJECT', 'ENCODING', KEYS[#KEYS]) ~= 'raw' or call('GET', KEYS[#KEYS]) ~= mark
end
local function followed(before) return line ~= '' and line ~= before end
local function keep_state(run)
  local mark = format('%.0f', now)
  call('SET', KEYS[#KEYS], 'since ')
  call('SETRANGE', KEYS[#KEYS], 6, mark)
  call('HSET', M, 'run', run, 'line', line, 'mark', 'since ' .. mark)
end
)";

// m: schema, run, version, last, quarantine, and the script's own fields.
//
// The server process is told by the connection, which can't outlive it. Another one than
// wrote the state: that one may have granted what is lost here.
constexpr std::string_view beginning = R"(
local run, born = string.match(ARGV[1], '^(%S+) (%S+)')
local m = call('HMGET', M, 'schema', 'run', 'version', 'last', 'quarantine'@more@,
               'line', 'mark', 'born')
@state@
local changed = m[2] ~= run or followed(m[#m - 2]) or loaded(m[#m - 1])
if changed or m[1] ~= '@schema@'
   or (m[3] ~= ARGV[2] and tonumber(m[3]) < tonumber(ARGV[2]))
   or (m[4] ~= ARGV[3] and tonumber(m[4]) < tonumber(ARGV[3]))
   or (born ~= '0' and born ~= m[#m]) then
  if not m[1] then return {'L'} end
  if m[1] ~= '@schema@' then return {'V', m[1]} end
  if tonumber(m[3]) < tonumber(ARGV[2]) or tonumber(m[4]) < tonumber(ARGV[3])
     or (born ~= '0' and born ~= m[#m]) then
    return {'L'}
  end
  @may_grow@
  @disturb@
  local was = call('HMGET', M, 'max_lease', 'longest')
  local lease = call('HGET', M .. ':config', 'max_lease') or was[1]
  m[5] = format('%.0f', math.max(m[5] or 0, now + lease, was[2] or 0))
  call('HSET', M, 'quarantine', m[5], 'lost', format('%.0f', now))
  keep_state(run)
end
local quarantine = tonumber(m[5] or 0)
)";

// `calm` stands in the space while all of the beginning's looks would find nothing: it is
// ARGV 1 of the client that wrote it, under this schema, with no quarantine (ADR 0019). Whoever
// changes the schema, the process, the version, the base of stamps or the quarantine takes it
// away in the same step. The last stamp is looked at besides, and whether the state was loaded.
// To ask whether the server was a replica meanwhile costs too much for each, so `seen` says when
// that was asked last. Ten milliseconds later it is asked again: what another primary grants, it
// grants after a quarantine, of a second at least.
constexpr std::string_view disturb = "call('HDEL', M, 'calm')";

// A server that has reached maxmemory refuses a script's first change if it could take memory,
// and lets all pass that come behind a first one. This is one that takes none and changes
// nothing: what keeps the locks that there are must go on.
constexpr std::string_view may_grow = "call('HDEL', M, '')";

// Wakes the next in line: the first whose score is `after` ('-inf', or '(' and a score), of
// one mode if one is given. Passes over those who were woken a while ago and did not come;
// nobody hears for a dead one, so it goes.
constexpr std::string_view waking = R"(
local function wake(line, after, mode)
  local from = 0
  while true do
    local members = call('ZRANGEBYSCORE', line, after, '+inf', 'LIMIT', from, 16)
    if #members == 0 then return end
    for _, member in ipairs(members) do
      local id = string.sub(member, 2)
      local waiter = (not mode or string.sub(member, 1, 1) == mode) and call('HGET', W, id)
      local gone = waiter == false and (not mode or string.sub(member, 1, 1) == mode)
      if waiter then
        local woken = tonumber(string.sub(waiter, 17, 32))
        if tonumber(string.sub(waiter, 1, 16)) <= now then
          gone = true
        elseif woken == 0 or (woken > now - 100000 and woken <= now) then
          local heard = redis.pcall('PUBLISH', M .. ':c:' .. string.sub(id, 1, 32),
                                    string.sub(id, 34))
          -- An error: this user may not publish. Then the waiters poll.
          if type(heard) ~= 'number' or heard > 0 then
            if woken == 0 then
              call('HSET', W, id, string.sub(waiter, 1, 16) .. format('%016.0f', now)
                                  .. string.sub(waiter, 33))
            end
            return
          end
          gone = true
          -- Its record says where else it stands: the sweep needs it.
          if call('HLEN', W) <= 1000 then
            call('HSET', W, id, format('%016.0f', now) .. string.sub(waiter, 17))
          else
            call('HDEL', W, id)
          end
        end
      end
      if gone then
        call('ZREM', line, member)
      else
        from = from + 1
      end
    end
  end
end
)";

// Ends a hold for good, also if the clock is set back later: a lease that ended in the year
// 1970 is never renewed. What it holds besides its record is tidied up by whoever meets it,
// and by the sweep, which declares those keys; only a hold of one name needs none of that.
//
// In quarantine its holder could register it again as lost, if it has not heard of its end. So
// it is entombed: in its place stands, as minus the score, how long that holder may believe in
// it. Those whose time is over are taken out here too, for where only commands run nobody sweeps.
constexpr std::string_view end_of_hold = R"(
local function entomb(one, till)
  @may_grow@
  local old = call('ZRANGEBYSCORE', L, '(' .. format('%.0f', -now), '(0', 'LIMIT', 0, 100)
  if #old > 0 then call('ZREM', L, unpack(old)) end
  -- Its holder's clock may be slower.
  call('ZADD', L, format('%.0f', -math.ceil(till + (till - now) / 10)), one)
end
local function entomb_lost(one)
  local most = call('HMGET', M, 'max_lease', 'longest')
  entomb(one, math.max(now + most[1], most[2] or 0, call('ZSCORE', L, one) or 0))
end
local function bury(one)
  local record = call('HGET', M, 'h:' .. one)
  local at = record and string.find(record, ';', 1, true)
  if not record or string.match(record, '^(%d+),', at + 33) == '1' then
    if quarantine > now then
      entomb_lost(one)
    else
      call('ZREM', L, one)
    end
    call('HDEL', M, 'h:' .. one, record and 't:' .. string.sub(record, at + 1, at + 32) or '')
  else
    call('ZADD', L, 'XX', 0, one)
  end
end
)";

// Everybody who waits looks again.
constexpr std::string_view wake_all = R"(
local told = {}
for _, id in ipairs(call('HKEYS', W)) do
  local client = string.sub(id, 1, 32)
  if not told[client] then
    told[client] = true
    redis.pcall('PUBLISH', M .. ':c:' .. client, '*')
  end
end
)";

// KEYS 4 and 5: epochs, kept.
// {'C', version, max_lease, phase, base, longest, last, microseconds of quarantine left,
//  fields and values of the configuration, birth of the space, epochs}. The fields count before
// what stands in front of them: that anybody may write.
constexpr std::string_view answer_config = R"(
local c = call('HMGET', M, 'version', 'max_lease', 'phase', 'base', 'longest', 'last')
return {'C', c[1], c[2], c[3], c[4], c[5] or 0, c[6],
        format('%.0f', math.max(0, quarantine - now)),
        call('HGETALL', M .. (call('EXISTS', M .. ':config') == 1 and ':config' or ':kept')),
        m[#m], call('HGETALL', KEYS[4])}
)";

// Only operators may write the configuration. `answer` is that of a first change of it.
constexpr std::string_view refusing = R"(
local function may_not(answer)
  local said = type(answer) == 'table' and answer.err or ''
  for _, refusal in ipairs({'NOPERM', 'The user executing the script', 'ACL failure in script'}) do
    if string.find(said, refusal, 1, true) then return true end
  end
  return false
end
)";

// The configuration is gone, and a program may have put it back beside it. KEYS 5: kept.
constexpr std::string_view adopting = R"(
local function adopt()
  local was = call('HMGET', M, 'version', 'max_lease', 'phase', 'base')
  call('HSET', M .. ':config', 'version', was[1], 'max_lease', was[2], 'phase', was[3],
       'base', was[4])
  local kept = call('HGETALL', KEYS[5])
  for i = 1, #kept, 2 do call('HSET', M .. ':config', kept[i], kept[i + 1]) end
  call('DEL', KEYS[5])
end
)";

void replace(std::string& text, std::string_view what, std::string_view with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size()) {
    text.replace(at, what.size(), with);
  }
}

}  // namespace

std::string Script::text() const {
  const bool bare = number == scripts::init.number || number == scripts::restore.number;
  std::string text(bare ? std::string_view() : opening);
  text += early;
  if (!bare) text += beginning;
  replace(text, "@more@", more);
  if (ends) text += end_of_hold;
  if (wakes) text += waking;
  text += body;
  replace(text, "@ending@", end_of_hold);
  replace(text, "@state@", state);
  replace(text, "@refusing@", refusing);
  replace(text, "@adopting@", adopting);
  replace(text, "@wake@", waking);
  replace(text, "@wake_all@", wake_all);
  replace(text, "@answer_config@", answer_config);
  replace(text, "@may_grow@", may_grow);
  replace(text, "@disturb@", disturb);
  replace(text, "@schema@", schema_version);
  return text;
}

}  // namespace lockset::redis
