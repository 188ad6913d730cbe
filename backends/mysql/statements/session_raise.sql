-- # With strategy=session: notes that stamps go up to this one and a little more. Answers how far
-- # they may go, or nothing if another token is the present one.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures
-- #   {check_keeps}: refuses where the server is not the one that is written to, or a crash
-- #     may lose something

CREATE PROCEDURE {space}_session_raise(p_token VARBINARY(40), p_stamp BIGINT)
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  {check_keeps}
  UPDATE {space}_session SET stamp_floor = GREATEST(stamp_floor, p_stamp)
    WHERE id = 1 AND token = p_token;
  SELECT stamp_floor FROM {space}_session WHERE id = 1 AND token = p_token;
END
