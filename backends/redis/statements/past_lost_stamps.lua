-- # A part of other scripts: the last stamp, after a loss. What was lost may have had later ones.
-- # The clock is past them by the end of the quarantine, unless stamps are ahead of it: then each is
-- # one more than the one before.

local function past_lost_stamps(last)
  return tonumber(last) > now and format('%.0f', last + 1000000000) or last
end
