-- Tallies of a plain turn, the most frequent update of one instance: the number of events, without grouping.
--   - The function names the schema of its table instead of setting search_path at every call.
DO $do$
BEGIN
  EXECUTE format($create$
CREATE OR REPLACE FUNCTION tally() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  is_one boolean;
  turn record;
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO %1$I.tallies (status, name, instances, paused, blocked, executions, events)
    SELECT status, name, count(*), count(paused), count(blocked), sum(1 + past_executions),
      sum(last_event + past_events)
    FROM added GROUP BY status, name;
  ELSIF TG_OP = 'DELETE' THEN
    INSERT INTO %1$I.tallies (status, name, instances, paused, blocked, executions, events)
    SELECT status, name, -count(*), -count(paused), -count(blocked), -sum(1 + past_executions),
      -sum(last_event + past_events)
    FROM removed GROUP BY status, name;
  ELSE
    PERFORM 1 FROM added LIMIT 1 OFFSET 1;
    is_one := NOT FOUND;
    IF is_one THEN
      SELECT a.status, a.name, a.last_event + a.past_events - r.last_event - r.past_events AS events
      INTO turn FROM added AS a CROSS JOIN removed AS r
      WHERE a.status = r.status AND (a.paused IS NULL) = (r.paused IS NULL)
        AND (a.blocked IS NULL) = (r.blocked IS NULL) AND a.past_executions = r.past_executions;
    END IF;
    IF is_one AND FOUND THEN
      IF turn.events <> 0 THEN
        INSERT INTO %1$I.tallies (status, name, instances, paused, blocked, executions, events)
        VALUES (turn.status, turn.name, 0, 0, 0, 0, turn.events);
      END IF;
    ELSE
      INSERT INTO %1$I.tallies (status, name, instances, paused, blocked, executions, events)
      SELECT status, name, sum(n), sum(n * is_paused::int), sum(n * is_blocked::int),
        sum(n * executions), sum(n * events)
      FROM (
        SELECT status, name, 1 AS n, paused IS NOT NULL AS is_paused,
          blocked IS NOT NULL AS is_blocked, 1 + past_executions AS executions,
          last_event + past_events AS events
        FROM added
        UNION ALL
        SELECT status, name, -1, paused IS NOT NULL, blocked IS NOT NULL,
          1 + past_executions, last_event + past_events
        FROM removed
      ) AS changes
      GROUP BY status, name
      HAVING sum(n) <> 0 OR sum(n * is_paused::int) <> 0 OR sum(n * is_blocked::int) <> 0
        OR sum(n * executions) <> 0 OR sum(n * events) <> 0;
    END IF;
  END IF;
  IF random() < 0.004 AND current_setting('transaction_isolation') = 'read committed' THEN
    WITH folded AS (
      DELETE FROM %1$I.tallies WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM %1$I.tallies LIMIT 10000 FOR UPDATE SKIP LOCKED))
      RETURNING *
    )
    INSERT INTO %1$I.tallies (status, name, instances, paused, blocked, executions, events)
    SELECT status, name, sum(instances), sum(paused), sum(blocked), sum(executions), sum(events)
    FROM folded GROUP BY status, name
    HAVING sum(instances) <> 0 OR sum(paused) <> 0 OR sum(blocked) <> 0 OR sum(executions) <> 0
      OR sum(events) <> 0;
  END IF;
  RETURN NULL;
END
$$
  $create$, current_schema());
END
$do$;
