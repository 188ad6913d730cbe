-- # Tries the user's rights. Each command comes in a form that changes nothing: on a key
-- # that does not exist, or with an argument that the command rejects. The server checks
-- # rights first, so any other error will do.
-- #
-- # KEYS 1: a key of the space that nothing uses. ARGV 1: one that the user may perhaps
-- # only read. {} or {the command, the server's answer}.

local key = KEYS[1]
for _, one in ipairs({
    {'TIME'}, {'INFO', 'replication'}, {'OBJECT', 'ENCODING', key, name = 'OBJECT|ENCODING'},
    {'EXISTS', key}, {'GET', key}, {'MGET', key}, {'DEL', key},
    {'SET', key, 'x', 'no such option'}, {'SETRANGE', key, 0, ''}, {'PEXPIRE', key, 'no number'},
    {'HGETALL', ARGV[1]}, {'HGET', key, 'x'}, {'HMGET', key, 'x'}, {'HGETALL', key}, {'HKEYS', key}, {'HLEN', key},
    {'HSET', key, 'x', 'y', 'no value'}, {'HDEL', key, 'x'},
    {'ZSCORE', key, 'x'}, {'ZCOUNT', key, 0, 1}, {'ZRANGE', key, 0, 1},
    {'ZREVRANGE', key, 0, 1}, {'ZRANGEBYSCORE', key, 0, 1}, {'ZREVRANGEBYSCORE', key, 1, 0},
    {'ZADD', key, 'no number', 'x'}, {'ZREM', key, 'x'}}) do
  local answer = redis.pcall(unpack(one))
  local said = type(answer) == 'table' and answer.err
  -- As Redis 6, 7.0 and 7.2 have it; the last is a command that was renamed.
  for _, refusal in ipairs({'NOPERM', 'The user executing the script', 'ACL failure in script',
                            'nknown Redis command', 'nknown command'}) do
    if said and string.find(said, refusal, 1, true) then
      return {one.name or one[1], said}
    end
  end
end
return {}
