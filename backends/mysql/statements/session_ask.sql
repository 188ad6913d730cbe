-- # With strategy=session: asks every client to list its holds (p_stamp 0), or also to end that hold
-- # of application p_app. Answers the request's number.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures

CREATE PROCEDURE {space}_session_ask(p_stamp BIGINT, p_app VARBINARY(255))
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  CALL {space}_session_put(p_stamp, COALESCE(p_app, ''));
END
