-- # A part of acquire.sql, strategy=select-for-update. A missing row is made in a
-- # transaction of its own, one row at a time, and the acquire begins again: so nobody
-- # waits for a row while holding the lock on another that did not exist.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures
-- #   {check_writable}: refuses where the server is not the one that is written to

    SET v_low = NULL;
    SELECT low INTO v_low FROM {space}_names WHERE name = v_name FOR UPDATE;
    IF v_low IS NULL THEN
      ROLLBACK;
      SET v_at = 1;
      SET v_missing = v_missing + 1;
      IF v_missing > 1000 THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'the rows of the names vanish again and again';
      END IF;
      {check_writable}
      IF p_names IS NULL THEN
        INSERT IGNORE INTO {space}_names VALUES (p_name, 0, 0);
      ELSE
        WHILE v_at < LENGTH(p_names) DO
          SET v_size = ORD(SUBSTR(p_names, v_at, 1));
          INSERT IGNORE INTO {space}_names VALUES (SUBSTR(p_names, v_at + 1, v_size), 0, 0);
          SET v_at = v_at + 1 + v_size;
        END WHILE;
      END IF;
      ITERATE again;
    END IF;
