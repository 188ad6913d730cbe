-- # With strategy=session, for operators: as session_ask.sql, whosever hold it is. There is no
-- # stamp 0: nobody is asked for it.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures

CREATE PROCEDURE {space}_break(p_stamp BIGINT)
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  IF p_stamp > 0 THEN
    CALL {space}_session_put(p_stamp, NULL);
  END IF;
END
