-- Tallies: the figures of read/metrics.ts as a sum of changes (docs/decisions/0026-metrics-from-tallies.md).
--   - 0008-tallies.1: A statement that changes instances inserts the difference, one row per status. It
--     updates no row, so two transactions never wait for each other here.
--   - 0008-tallies.2: About one statement in 250 folds the rows into one per status, so the table stays
--     short. It skips rows that another transaction is folding. It does not fold in a transaction with a
--     snapshot (REPEATABLE READ): a row that another transaction has folded meanwhile would be an error.

CREATE TABLE tallies (
  instances  bigint NOT NULL,
  paused     bigint NOT NULL,
  blocked    bigint NOT NULL,
  executions bigint NOT NULL,
  events     bigint NOT NULL,
  status     text COLLATE "C" NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 2000,
        autovacuum_vacuum_cost_delay = 0);

INSERT INTO tallies (status, instances, paused, blocked, executions, events)
SELECT status, count(*), count(paused), count(blocked), sum(1 + past_executions),
  sum(last_event + past_events)
FROM instances GROUP BY status;

CREATE FUNCTION tally() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO tallies (status, instances, paused, blocked, executions, events)
    SELECT status, count(*), count(paused), count(blocked), sum(1 + past_executions),
      sum(last_event + past_events)
    FROM added GROUP BY status;
  ELSIF TG_OP = 'DELETE' THEN
    INSERT INTO tallies (status, instances, paused, blocked, executions, events)
    SELECT status, -count(*), -count(paused), -count(blocked), -sum(1 + past_executions),
      -sum(last_event + past_events)
    FROM removed GROUP BY status;
  ELSE
    INSERT INTO tallies (status, instances, paused, blocked, executions, events)
    SELECT status, sum(n), sum(n * is_paused::int), sum(n * is_blocked::int),
      sum(n * executions), sum(n * events)
    FROM (
      SELECT status, 1 AS n, paused IS NOT NULL AS is_paused, blocked IS NOT NULL AS is_blocked,
        1 + past_executions AS executions, last_event + past_events AS events FROM added
      UNION ALL
      SELECT status, -1, paused IS NOT NULL, blocked IS NOT NULL,
        1 + past_executions, last_event + past_events FROM removed
    ) AS changes
    GROUP BY status
    HAVING sum(n) <> 0 OR sum(n * is_paused::int) <> 0 OR sum(n * is_blocked::int) <> 0
      OR sum(n * executions) <> 0 OR sum(n * events) <> 0;
  END IF;
  IF random() < 0.004 AND current_setting('transaction_isolation') = 'read committed' THEN
    WITH folded AS (
      DELETE FROM tallies WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM tallies LIMIT 10000 FOR UPDATE SKIP LOCKED))
      RETURNING *
    )
    INSERT INTO tallies (status, instances, paused, blocked, executions, events)
    SELECT status, sum(instances), sum(paused), sum(blocked), sum(executions), sum(events)
    FROM folded GROUP BY status
    HAVING sum(instances) <> 0 OR sum(paused) <> 0 OR sum(blocked) <> 0 OR sum(executions) <> 0
      OR sum(events) <> 0;
  END IF;
  RETURN NULL;
END
$$;

CREATE TRIGGER tallies_insert AFTER INSERT ON instances
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tally();
CREATE TRIGGER tallies_delete AFTER DELETE ON instances
  REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION tally();
CREATE TRIGGER tallies_update AFTER UPDATE ON instances
  REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tally();
