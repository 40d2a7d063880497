-- Tallies of an update of one instance, which is the most frequent one: without grouping.
--   - A plain turn adds events. An end, a pause or a block moves the instance from one line to another.
--   - The function names the schema of its table instead of setting search_path at every call.
DO $do$
BEGIN
  EXECUTE format($create$
CREATE OR REPLACE FUNCTION tally() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  one record;
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
    IF FOUND THEN
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
    ELSE
      SELECT r.status AS old_status, r.name AS old_name, (r.paused IS NOT NULL)::int AS old_paused,
        (r.blocked IS NOT NULL)::int AS old_blocked, 1 + r.past_executions AS old_executions,
        r.last_event + r.past_events AS old_events,
        a.status, a.name, (a.paused IS NOT NULL)::int AS paused,
        (a.blocked IS NOT NULL)::int AS blocked, 1 + a.past_executions AS executions,
        a.last_event + a.past_events AS events
      INTO one FROM added AS a CROSS JOIN removed AS r;
      IF one.status IS DISTINCT FROM one.old_status OR one.name <> one.old_name
        OR one.paused <> one.old_paused OR one.blocked <> one.old_blocked
        OR one.executions <> one.old_executions THEN
        INSERT INTO %1$I.tallies (status, name, instances, paused, blocked, executions, events)
        VALUES (one.status, one.name, 1, one.paused, one.blocked, one.executions, one.events),
          (one.old_status, one.old_name, -1, -one.old_paused, -one.old_blocked,
            -one.old_executions, -one.old_events);
      ELSIF one.events <> one.old_events THEN
        INSERT INTO %1$I.tallies (status, name, instances, paused, blocked, executions, events)
        VALUES (one.status, one.name, 0, 0, 0, 0, one.events - one.old_events);
      END IF;
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
