#include "backends/postgresql/sql.h"

namespace lockset::postgresql::sql {

// The functions of a space run with the rights of its owner, often a superuser. So whoever else can
// put something into the schema, or hang a trigger on a table of it, could have his own code run
// with these rights: by a function that fits a call of ours better than ours, a view in a table's
// place, a trigger. docs/adr/0044 says what is done against that, and
// tests/postgresql/attack_test.cpp tries it.
//
// Names of the catalogue are looked for there alone, from the first statement on: somebody may have
// chosen the search path of the one who runs this.
const std::string_view guard = R"(
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
)";

// Nothing of what it finds is used, and it uses nothing of the schema.
const std::string_view look = R"(
DO $look$
DECLARE
  _me oid := (SELECT r.oid FROM pg_roles r WHERE r.rolname = current_user);
  _schema oid;
  _owner oid;
  _stranger text;
BEGIN
  SELECT n.oid, n.nspowner INTO _schema, _owner FROM pg_namespace n WHERE n.nspname = '@space@';
  IF NOT FOUND THEN
    RETURN;
  END IF;
  IF _owner <> _me THEN
    RAISE EXCEPTION USING ERRCODE = 'LS001', MESSAGE = format(
      'the schema @space@ belongs to %1$s and not to %2$s, who runs this: whoever owns it decides '
      'what its functions do; name another with space=, drop it, or run lockset init as %1$s',
      pg_get_userbyid(_owner), current_user);
  END IF;
  SELECT pg_describe_object(s.class, s.object, 0) INTO _stranger FROM (
    -- What is in the schema, of whatever kind
    SELECT d.classid AS class, d.objid AS object FROM pg_depend d
     WHERE d.refclassid = 'pg_namespace'::regclass AND d.refobjid = _schema
       AND NOT EXISTS (SELECT FROM pg_class c
                        WHERE d.classid = 'pg_class'::regclass AND c.oid = d.objid
                          AND c.relowner = _me
                          AND (c.relkind = 'r' AND c.relname ~ '^(@tables@)$' OR
                               c.relkind = 'S' AND c.relname ~ '^(@sequences@)$'))
       AND NOT EXISTS (SELECT FROM pg_proc p
                        WHERE d.classid = 'pg_proc'::regclass AND p.oid = d.objid
                          AND p.proowner = _me AND p.prokind = 'f'
                          AND (p.proname = 'about' OR p.proname ~ '^(@functions@)_v[0-9]+$'))
    UNION ALL  -- of an extension: that belongs to a superuser, whoever made it
    SELECT d.classid, d.objid FROM pg_depend d JOIN pg_depend e
        ON e.classid = d.classid AND e.objid = d.objid AND e.deptype = 'e'
     WHERE d.refclassid = 'pg_namespace'::regclass AND d.refobjid = _schema
    UNION ALL  -- what hangs on a table of it
    SELECT 'pg_trigger'::regclass, t.oid FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
     WHERE c.relnamespace = _schema AND NOT t.tgisinternal
    UNION ALL
    SELECT 'pg_rewrite'::regclass, r.oid FROM pg_rewrite r JOIN pg_class c ON c.oid = r.ev_class
     WHERE c.relnamespace = _schema
    UNION ALL
    SELECT 'pg_policy'::regclass, p.oid FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid
     WHERE c.relnamespace = _schema
    UNION ALL
    SELECT 'pg_constraint'::regclass, f.oid FROM pg_constraint f JOIN pg_class c
        ON c.oid = f.conrelid OR c.oid = f.confrelid
     WHERE f.contype = 'f' AND c.relnamespace = _schema
    UNION ALL
    SELECT 'pg_class'::regclass, i.inhrelid FROM pg_inherits i JOIN pg_class c
        ON c.oid = i.inhparent OR c.oid = i.inhrelid
     WHERE c.relnamespace = _schema
    UNION ALL  -- types, functions, operators, ... that a table's columns, defaults, indexes use
    SELECT d.refclassid, d.refobjid FROM pg_depend d
     WHERE d.refobjid >= 16384  -- made after the server was
       AND d.refclassid IN ('pg_proc'::regclass, 'pg_type'::regclass, 'pg_operator'::regclass,
                            'pg_opclass'::regclass, 'pg_opfamily'::regclass,
                            'pg_collation'::regclass, 'pg_language'::regclass)
       AND (d.classid = 'pg_class'::regclass AND d.objid IN (
              SELECT c.oid FROM pg_class c WHERE c.relnamespace = _schema)
         OR d.classid = 'pg_attrdef'::regclass AND d.objid IN (
              SELECT a.oid FROM pg_attrdef a JOIN pg_class c ON c.oid = a.adrelid
               WHERE c.relnamespace = _schema)
         OR d.classid = 'pg_constraint'::regclass AND d.objid IN (
              SELECT k.oid FROM pg_constraint k WHERE k.connamespace = _schema))
    UNION ALL  -- a second function of a name: one of the two is not what is called
    SELECT 'pg_proc'::regclass, max(p.oid) FROM pg_proc p
     WHERE p.pronamespace = _schema GROUP BY p.proname HAVING count(*) > 1
    ) s LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'LS001', MESSAGE = format(
      'the schema @space@ holds something that Lockset did not make there: %s; drop it, or name '
      'another schema with space=', _stranger);
  END IF;
END $look$;
)";

// Grants are the owner's to give and to take; those that others passed on go with what they had.
const std::string_view seal = R"(
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

  -- Nobody but the owner makes anything in the schema.
  FOR _one IN SELECT DISTINCT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(r.rolname) END AS who
                FROM pg_namespace n CROSS JOIN aclexplode(n.nspacl) a
                LEFT JOIN pg_roles r ON r.oid = a.grantee
               WHERE n.oid = _schema AND a.privilege_type = 'CREATE' AND a.grantee <> _me
  LOOP
    EXECUTE format('REVOKE CREATE ON SCHEMA "@space@" FROM %s CASCADE', _one.who);
  END LOOP;

  -- Others may read the tables, if somebody let them, and no more.
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
END $seal$;
@look@
)";

}  // namespace lockset::postgresql::sql
