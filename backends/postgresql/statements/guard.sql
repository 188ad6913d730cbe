-- # Comes before anything else: the script uses nothing of the schema unless the schema is
-- # the caller's own and contains only what Lockset made.
-- #
-- # The functions of a space run with the rights of its owner, often a superuser. Users who
-- # can put something into the schema, or create a trigger on one of its tables, could have
-- # their own code run with these rights: by a function that fits a call of ours better
-- # than ours, a view in a table's place, a trigger. docs/adr/0044 says what is done
-- # against that, and tests/postgresql/attack_test.cpp tries it.
-- #
-- # Names of the catalogue are looked up only there, from the first statement on: another
-- # user may have chosen the search path of the user that runs this.
-- #
-- # Filled in:
-- #   @space@: the schema
-- #   @class@: the class of the space's advisory locks
-- #   @look@: look.sql
-- #   @tables@: the tables' names, as alternatives of a regular expression

SET LOCAL search_path = pg_catalog, pg_temp;
SET LOCAL client_min_messages = warning;
SET LOCAL check_function_bodies = off;
-- One after the other, and not beside a step that is under way.
SELECT pg_advisory_xact_lock(@class@, 0);

DO $guard$
DECLARE
  _one record;
  _known text;
BEGIN
  -- Whoever is just hanging something on a table of ours is waited for, and nobody can begin to
  -- until this is committed. Hinders no program.
  FOR _one IN SELECT c.oid::regclass AS what
                FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
               WHERE n.nspname = '@space@' AND c.relkind = 'r' AND c.relname ~ '^(@tables@)$'
                 AND pg_get_userbyid(c.relowner) = current_user
               ORDER BY c.relname
  LOOP
    EXECUTE format('LOCK TABLE %s IN SHARE UPDATE EXCLUSIVE MODE', _one.what);
  END LOOP;
  -- Which functions are there already: all others have the rights that somebody's default
  -- privileges gave them, and lose them below.
  SELECT string_agg(p.oid::text, ' ') INTO _known
    FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = '@space@';
  PERFORM set_config('lockset.known', coalesce(_known, ''), true);
END $guard$;
@look@
