-- # A part of other scripts: whether the state is the one that this server has had all the
-- # time (ADR 0045).
-- #
-- # here: a string that was changed in place, and so is "raw" in the server's memory. A
-- # string that was loaded, by RESTORE, from a file or as a replica, is not. Its text is
-- # also in the space, so that one of them alone can't be put back. line: the history that
-- # this process followed before its last promotion, '' if it was never promoted, or if
-- # nobody can tell any more. A primary that was a replica for a while may lack what
-- # another primary granted.

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
