-- # A part of acquire.sql where it converts a hold: what happens if that hold is not live, or
-- # another application's. If this request was granted before, it gets the same grant again.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures

    IF v_replaces = 0 THEN
      SELECT stamp, expires INTO v_twin, v_end FROM {space}_locks
        WHERE name = p_name AND item = 0 AND token = p_token LIMIT 1;
      IF v_twin IS NOT NULL THEN
        SET v_blocked = NULL;
        LEAVE judge;
      END IF;
      IF @lockset_freed <> '' AND v_waits IS NOT NULL THEN
        CALL {space}_wake_freed();
      END IF;
      COMMIT;
      SELECT 'gone', @lockset_wake;
      LEAVE main;
    END IF;
