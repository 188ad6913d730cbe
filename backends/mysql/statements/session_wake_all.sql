-- # With strategy=session, in place of wake_all.sql: called where the configuration changes. From
-- # the commit on nobody may begin to rely on the present token; its keeper gives it up.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures

CREATE PROCEDURE {space}_wake_all()
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  SET @lockset_wake = (SELECT token FROM {space}_session WHERE id = 1 FOR UPDATE);
  UPDATE {space}_session SET token = '' WHERE id = 1;
END
