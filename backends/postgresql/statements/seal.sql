-- # Comes at the end: removes old versions' functions, revokes rights that nobody needs,
-- # and checks again what is there. The owner grants and revokes all rights; those that
-- # others passed on are revoked together with their own.
-- #
-- # Filled in:
-- #   @space@: the schema
-- #   @version@: the schema's version
-- #   @look@: look.sql
-- #   @functions@: all functions' names without the version, as alternatives of a regular
-- #     expression
-- #   @programs@: the functions for programs, as alternatives of a regular expression
-- #   @operators@: the functions for operators, as alternatives of a regular expression

DO $seal$
DECLARE
  _me oid := (SELECT r.oid FROM pg_roles r WHERE r.rolname = current_user);
  _schema oid := (SELECT n.oid FROM pg_namespace n WHERE n.nspname = '@space@');
  _known oid[] := string_to_array(current_setting('lockset.known'), ' ')::oid[];
  _one record;
BEGIN
  -- Functions of other versions: programs that know no others must not call them any more.
  FOR _one IN SELECT p.oid::regprocedure AS what FROM pg_proc p
               WHERE p.pronamespace = _schema AND p.proowner = _me
                 AND p.proname ~ '^(@functions@)_v[0-9]+$' AND p.proname !~ '_v@version@$'
  LOOP
    EXECUTE format('DROP FUNCTION %s', _one.what);
  END LOOP;

  -- Only the owner creates objects in the schema.
  FOR _one IN SELECT DISTINCT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(r.rolname) END AS who
                FROM pg_namespace n CROSS JOIN aclexplode(n.nspacl) a
                LEFT JOIN pg_roles r ON r.oid = a.grantee
               WHERE n.oid = _schema AND a.privilege_type = 'CREATE' AND a.grantee <> _me
  LOOP
    EXECUTE format('REVOKE CREATE ON SCHEMA "@space@" FROM %s CASCADE', _one.who);
  END LOOP;

  -- Others may read the tables if they were granted that, and no more.
  FOR _one IN SELECT h.what, h.who, bool_or(h.kind = 'SELECT' AND h.whole) AS reads
                FROM (SELECT c.oid::regclass AS what, a.kind, a.whole,
                             CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(r.rolname) END AS who
                        FROM pg_class c CROSS JOIN LATERAL (
                             SELECT x.grantee, x.privilege_type, true FROM aclexplode(c.relacl) x
                             UNION ALL
                             SELECT x.grantee, x.privilege_type, false
                               FROM pg_attribute t CROSS JOIN aclexplode(t.attacl) x
                              WHERE t.attrelid = c.oid) a(grantee, kind, whole)
                        LEFT JOIN pg_roles r ON r.oid = a.grantee
                       WHERE c.relnamespace = _schema AND c.relkind IN ('r', 'S')
                         AND a.grantee <> _me) h
               GROUP BY h.what, h.who HAVING NOT bool_and(h.kind = 'SELECT')
  LOOP
    EXECUTE format('REVOKE ALL ON %s FROM %s CASCADE', _one.what, _one.who);
    IF _one.reads THEN
      EXECUTE format('GRANT SELECT ON %s TO %s', _one.what, _one.who);
    END IF;
  END LOOP;

  -- Of the functions everybody may call the one that tells the version. Programs and operators
  -- keep what was granted to them; the others serve these functions alone.
  FOR _one IN SELECT DISTINCT p.oid::regprocedure AS what,
                     CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(r.rolname) END AS who
                FROM pg_proc p
                CROSS JOIN aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
                LEFT JOIN pg_roles r ON r.oid = a.grantee
               WHERE p.pronamespace = _schema AND a.grantee <> _me
                 AND (a.grantee = 0 OR p.oid <> ALL(_known)
                      OR p.proname !~ '^(@programs@|@operators@)_v[0-9]+$')
  LOOP
    EXECUTE format('REVOKE ALL ON FUNCTION %s FROM %s CASCADE', _one.what, _one.who);
  END LOOP;
  GRANT EXECUTE ON FUNCTION "@space@".about() TO PUBLIC;
  -- What is new is for those who have the rest.
  FOR _one IN SELECT p.oid::regprocedure AS what, quote_ident(r.rolname) AS who
                FROM pg_proc p, pg_proc o, aclexplode(o.proacl) a, pg_roles r
               WHERE p.pronamespace = _schema AND p.oid <> ALL(_known)
                 AND o.pronamespace = _schema AND o.oid = ANY(_known)
                 AND a.grantee = r.oid AND a.grantee <> _me
                 AND (p.proname ~ '^(@programs@)_v@version@$' AND o.proname = 'acquire_v@version@' OR
                      p.proname ~ '^(@operators@)_v@version@$' AND o.proname = 'change_config_v@version@')
  LOOP
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %s', _one.what, _one.who);
  END LOOP;

  -- Functions with the parameters that an older program made: their rights have been taken over.
  FOR _one IN SELECT o.oid::regprocedure AS what FROM pg_proc o
               WHERE o.pronamespace = _schema AND o.proowner = _me AND o.oid = ANY(_known)
                 AND EXISTS (SELECT FROM pg_proc p
                              WHERE p.pronamespace = _schema AND p.proname = o.proname
                                AND p.oid <> ALL(_known))
  LOOP
    EXECUTE format('DROP FUNCTION %s', _one.what);
  END LOOP;
END $seal$;
@look@
