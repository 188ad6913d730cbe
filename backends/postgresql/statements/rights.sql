-- # Gives an account the role of a program or of an operator. No two functions have the
-- # same name, so the script need not name their parameters.
-- #
-- # Filled in:
-- #   @space@: the schema
-- #   @version@: the schema's version
-- #   @give@: GRANT or REVOKE
-- #   @to@: TO or FROM
-- #   @operator@: whether it is an operator
-- #   @account@: the account, as in an identifier
-- #   @literal@: the account, as in a literal

SET LOCAL search_path = pg_catalog, pg_temp;
GRANT USAGE ON SCHEMA "@space@" TO "@account@";
GRANT EXECUTE ON FUNCTION
  "@space@".inspect_v@version@, "@space@".load_config_v@version@ TO "@account@";
@give@ EXECUTE ON FUNCTION
  "@space@".break_v@version@, "@space@".change_config_v@version@,
  "@space@".change_config_at_v@version@
  @to@ "@account@";
-- Taken apart from the statement below, whatever is in the name.
SELECT set_config('lockset.account', E'@literal@', true);
DO $rights$
DECLARE
  _account text := current_setting('lockset.account');
  _one record;
BEGIN
  -- Whoever passes rights on that are not his to give gets no more than a warning.
  IF NOT (SELECT pg_has_role(n.nspowner, 'USAGE') FROM pg_namespace n
           WHERE n.nspname = '@space@') THEN
    RAISE EXCEPTION USING ERRCODE = 'LS004', MESSAGE = 'only the owner of the schema @space@ gives '
      'rights on the space: run this as that';
  END IF;
  -- Functions that only some strategies have.
  FOR _one IN SELECT p.oid::regprocedure AS what FROM pg_proc p
                JOIN pg_namespace n ON n.oid = p.pronamespace
               WHERE n.nspname = '@space@' AND p.proname ~ '^(@programs@)_v@version@$'
  LOOP
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I', _one.what, _account);
  END LOOP;
  IF to_regproc('"@space@".session_force_v@version@') IS NOT NULL THEN
    EXECUTE format('@give@ EXECUTE ON FUNCTION "@space@".session_force_v@version@ @to@ %I', _account);
  END IF;
  -- What comes another way can't be taken away here.
  IF NOT @operator@ AND (
       has_function_privilege(_account, to_regproc('"@space@".break_v@version@'), 'EXECUTE') OR
       has_function_privilege(_account, to_regproc('"@space@".change_config_v@version@'), 'EXECUTE') OR
       has_function_privilege(_account, to_regproc('"@space@".change_config_at_v@version@'),
                              'EXECUTE')) THEN
    RAISE EXCEPTION USING ERRCODE = 'LS004', MESSAGE = format(
      '%s keeps an operator''s rights, which can''t be taken away here: it owns the space, is a '
      'superuser, or has them by another role or as everybody', _account);
  END IF;
END $rights$;
