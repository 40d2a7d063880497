-- Search: attributes in rows of their own, and the indexes of lists (docs/decisions/0047-search.md).

-- Attributes: one row per attribute, written by triggers from the column `attributes` of the instance.
--   - 0020-search.1: `text` holds the first 200 characters of a text, `rest` the others, because an entry of an
--     index has a limited size. A comparison with a shorter text is decided by `text` alone.
--   - 0020-search.2: `number` holds a number, the milliseconds of a date, or 0 and 1 for false and true.
CREATE TABLE attributes (
  instance bigint NOT NULL,
  number   double precision,
  name     text COLLATE "C" NOT NULL,
  type     text COLLATE "C" NOT NULL, -- "text", "number", "boolean" or "date"
  text     text COLLATE "C",
  rest     text COLLATE "C",
  PRIMARY KEY (instance, name)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
        autovacuum_vacuum_insert_scale_factor = 0.1);

-- Instances by the value of an attribute; of one value, in the order of a list.
CREATE INDEX attributes_texts ON attributes (name, text, instance) WHERE text IS NOT NULL;
CREATE INDEX attributes_numbers ON attributes (name, type, number, instance) WHERE number IS NOT NULL;

-- Inserts the rows of one instance.
CREATE FUNCTION put_attributes(of_instance bigint, stored text) RETURNS void LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
BEGIN
  INSERT INTO attributes (instance, name, type, text, rest, number)
  SELECT of_instance, a.key,
    CASE a.type WHEN 'string' THEN 'text' WHEN 'object' THEN 'date' ELSE a.type END,
    CASE WHEN a.type = 'string' THEN left(a.content, 200) END,
    CASE WHEN a.type = 'string' AND length(a.content) > 200 THEN substr(a.content, 201) END,
    CASE a.type WHEN 'number' THEN a.content::double precision
      WHEN 'boolean' THEN a.content::boolean::int
      WHEN 'object' THEN (a.value ->> 'date')::double precision END
  FROM (
    SELECT key, value, json_typeof(value) AS type, value #>> '{}' AS content
    FROM json_each(stored::json)
  ) AS a;
END
$$;

CREATE FUNCTION index_attributes() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  IF TG_OP <> 'INSERT' THEN
    DELETE FROM attributes WHERE instance = OLD.key;
  END IF;
  IF TG_OP <> 'DELETE' THEN
    PERFORM put_attributes(NEW.key, NEW.attributes);
  END IF;
  RETURN NULL;
END
$$;

-- Instances with unreadable attributes get no rows. They are tried one by one only if there are any.
DO $$
DECLARE
  i record;
BEGIN
  PERFORM put_attributes(key, attributes) FROM instances WHERE attributes <> '{}';
EXCEPTION WHEN OTHERS THEN
  FOR i IN SELECT key, attributes FROM instances WHERE attributes <> '{}' LOOP
    BEGIN
      PERFORM put_attributes(i.key, i.attributes);
    EXCEPTION WHEN OTHERS THEN
      NULL;
    END;
  END LOOP;
END
$$;

-- The conditions are evaluated per row, and an instance without attributes costs nothing more.
CREATE TRIGGER attributes_insert AFTER INSERT ON instances
  FOR EACH ROW WHEN (NEW.attributes <> '{}') EXECUTE FUNCTION index_attributes();
CREATE TRIGGER attributes_update AFTER UPDATE OF attributes ON instances
  FOR EACH ROW WHEN (NEW.attributes <> OLD.attributes) EXECUTE FUNCTION index_attributes();
CREATE TRIGGER attributes_delete AFTER DELETE ON instances
  FOR EACH ROW WHEN (OLD.attributes <> '{}') EXECUTE FUNCTION index_attributes();

-- Lists by name, in the order of keys. An instance is in one of these three indexes: a start adds one entry, and so does
-- an end. A name and a status are found together. Lists of live or failed instances of all names read each name's
-- part, with the names of `tallies` (list-sources.2).
DROP INDEX instances_live;
DROP INDEX instances_failed;
CREATE INDEX instances_live ON instances (name, key) WHERE completed_at IS NULL;
CREATE INDEX instances_failed ON instances (name, key) WHERE failed;
CREATE INDEX instances_completed ON instances (name, key) WHERE completed_at IS NOT NULL AND NOT failed;
-- With instances_ended: lists by the time of the end. An instance is in one of the two.
CREATE INDEX instances_ended_others ON instances (completed_at, key)
  WHERE completed_at IS NOT NULL AND (parent_id IS NOT NULL OR delete_after IS NOT NULL);

-- Tallies by status and name, for counts (sql/read/counts.ts).
TRUNCATE tallies;
ALTER TABLE tallies ADD COLUMN name text COLLATE "C" NOT NULL;
INSERT INTO tallies (status, name, instances, paused, blocked, executions, events)
SELECT status, name, count(*), count(paused), count(blocked), sum(1 + past_executions),
  sum(last_event + past_events)
FROM instances GROUP BY status, name;

CREATE OR REPLACE FUNCTION tally() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO tallies (status, name, instances, paused, blocked, executions, events)
    SELECT status, name, count(*), count(paused), count(blocked), sum(1 + past_executions),
      sum(last_event + past_events)
    FROM added GROUP BY status, name;
  ELSIF TG_OP = 'DELETE' THEN
    INSERT INTO tallies (status, name, instances, paused, blocked, executions, events)
    SELECT status, name, -count(*), -count(paused), -count(blocked), -sum(1 + past_executions),
      -sum(last_event + past_events)
    FROM removed GROUP BY status, name;
  ELSE
    INSERT INTO tallies (status, name, instances, paused, blocked, executions, events)
    SELECT status, name, sum(n), sum(n * is_paused::int), sum(n * is_blocked::int),
      sum(n * executions), sum(n * events)
    FROM (
      SELECT status, name, 1 AS n, paused IS NOT NULL AS is_paused, blocked IS NOT NULL AS is_blocked,
        1 + past_executions AS executions, last_event + past_events AS events FROM added
      UNION ALL
      SELECT status, name, -1, paused IS NOT NULL, blocked IS NOT NULL,
        1 + past_executions, last_event + past_events FROM removed
    ) AS changes
    GROUP BY status, name
    HAVING sum(n) <> 0 OR sum(n * is_paused::int) <> 0 OR sum(n * is_blocked::int) <> 0
      OR sum(n * executions) <> 0 OR sum(n * events) <> 0;
  END IF;
  IF random() < 0.004 AND current_setting('transaction_isolation') = 'read committed' THEN
    WITH folded AS (
      DELETE FROM tallies WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM tallies LIMIT 10000 FOR UPDATE SKIP LOCKED))
      RETURNING *
    )
    INSERT INTO tallies (status, name, instances, paused, blocked, executions, events)
    SELECT status, name, sum(instances), sum(paused), sum(blocked), sum(executions), sum(events)
    FROM folded GROUP BY status, name
    HAVING sum(instances) <> 0 OR sum(paused) <> 0 OR sum(blocked) <> 0 OR sum(executions) <> 0
      OR sum(events) <> 0;
  END IF;
  RETURN NULL;
END
$$;
