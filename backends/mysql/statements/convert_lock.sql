-- # A part of acquire.sql where it converts a hold: locks the hold that is replaced, at its
-- # place among the expired ones. One that is live is not removed there (no hold has stamp 0).
-- # COUNT, because no row would end the loop.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures
-- #   {now}: the server's clock, in microseconds since 1970

        IF v_expired = p_replaced THEN
          SELECT COUNT(*), MAX(expires) INTO v_replaces, v_old_end FROM {space}_locks
            WHERE name = v_name AND stamp = p_replaced AND item = 0 AND app = p_app
              AND (expires IS NULL OR expires > {now}) FOR UPDATE;
          IF v_replaces = 1 THEN
            SET v_expired = 0;
          END IF;
        END IF;
