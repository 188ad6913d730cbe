-- # With strategy=session: the hold whose client has listed this user-level lock, as far as it is
-- # held by the connection that it says.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures

CREATE PROCEDURE {space}_session_holder(p_lock VARBINARY(64))
READS SQL DATA SQL SECURITY DEFINER
BEGIN
  SELECT stamp, mode, label FROM {space}_session_holds
   WHERE (lock_name = p_lock OR lock_name LIKE CONCAT(p_lock, ':%'))
     AND IS_USED_LOCK(lock_name) = session
   LIMIT 1;
END
