-- # With strategy=session: from the commit on nobody may begin to rely on the present token. What
-- # is settled next has room for so many readers, and stamps above p_least.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures

CREATE PROCEDURE {space}_session_retire(p_least BIGINT, p_readers INT)
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  UPDATE {space}_session SET token = '', stamp_floor = GREATEST(stamp_floor, p_least),
    readers = GREATEST(readers, p_readers) WHERE id = 1;
END
