-- # Says whose rights all procedures run with, and what that account may do on the whole
-- # server.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures

CREATE PROCEDURE {space}_definer()
READS SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE v_account VARCHAR(512) CHARACTER SET utf8mb4 DEFAULT CURRENT_USER();
  DECLARE v_host VARCHAR(255) CHARACTER SET utf8mb4
    DEFAULT SUBSTRING_INDEX(CURRENT_USER(), '@', -1);
  SET v_account = CONCAT('''', LEFT(v_account, CHAR_LENGTH(v_account) - CHAR_LENGTH(v_host) - 1),
                         '''@''', v_host, '''');
  SELECT v_account, GROUP_CONCAT(privilege_type ORDER BY privilege_type SEPARATOR ', ')
    FROM information_schema.user_privileges
    WHERE CONVERT(grantee USING utf8mb4) = v_account AND privilege_type <> 'USAGE';
END
