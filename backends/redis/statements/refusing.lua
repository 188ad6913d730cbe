-- # A part of other scripts: only operators may write the configuration. `answer` is the
-- # server's answer to a first change of it.

local function may_not(answer)
  local said = type(answer) == 'table' and answer.err or ''
  for _, refusal in ipairs({'NOPERM', 'The user executing the script', 'ACL failure in script'}) do
    if string.find(said, refusal, 1, true) then return true end
  end
  return false
end
