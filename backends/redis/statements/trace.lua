-- # A part of acquire.lua and observe.lua: the traces of writes (ADR 0067). m from 6: base, lost.
-- # KEYS from 4: the strings of the n names, then the sorted sets.
-- #
-- # A name has a trace if its sorted set has the mark. As a key of the name exists then, grants
-- # don't take the short way. The mark's score is infinite, so an older program takes it for a
-- # reader that has died: before it grants a write it removes the mark, and the trace with it.
-- #
-- # A trace is two fields of the space. w:NAME: when the state was lost last (it does not count if
-- # that has happened again), the stamp, when it was granted (0: not known), whose it is. o:NAME:
-- # when it was observed.

local mark = '9007199254740992'  -- never a stamp
local era = m[7] or '0'
local function name_of(i) return string.sub(KEYS[3 + i], #M + 7) end
local function marked(i) return call('ZSCORE', KEYS[3 + n + i], mark) end
local function entry(stamp, granted, label)
  return era .. ' ' .. stamp .. ' ' .. granted .. ' ' .. label
end
-- The stamp, microseconds since the grant ('': not known), the label. Nil: it has none.
local function trace_of(i, kept)
  local of, stamp, granted, label = string.match(kept or '', '^(%S+) (%d+) (%d+) (.*)$')
  if of ~= era or not marked(i) then return nil end
  -- The base says that later writes may be missing here.
  if tonumber(stamp) < tonumber(m[6] or 0) then return m[6], '', '' end
  return stamp, granted == '0' and '' or format('%.0f', math.max(0, now - granted)), label
end
