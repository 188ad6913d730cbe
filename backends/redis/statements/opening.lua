-- # The beginning of every script but init.lua and restore.lua, before its early part.

local M, L, W = KEYS[1], KEYS[2], KEYS[3]
local call, format = redis.call, string.format
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
