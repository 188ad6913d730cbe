-- # Those who wait, for people, in the order in which they came: a row for each name.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures
-- #   {now}: the server's clock, in microseconds since 1970

CREATE PROCEDURE {space}_waiting()
READS SQL DATA SQL SECURITY DEFINER
BEGIN
  SELECT w.id, w.app, w.instance, w.epoch, w.label, w.since, n.name, n.mode
    FROM {space}_waiters w JOIN {space}_waiter_names n FORCE INDEX (by_id) ON n.id = w.id
   WHERE w.expires > {now} ORDER BY w.id, n.name;
END
