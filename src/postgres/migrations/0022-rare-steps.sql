-- Rare steps of frequent statements, as functions (docs/decisions/0058-rare-steps-as-functions.md).
--   - PostgreSQL prepares every part of a plan each time it runs, also parts that then find nothing to do. A
--     function costs nothing until it is called, and its statements are planned once per connection.
--   - They are VOLATILE, so they see what earlier statements of the transaction wrote.
--   - They name their schema instead of setting search_path at every call.
--   - 0022-rare-steps.1: `hand_over` may be planned in a transaction of the user, where nothing asks for index plans
--     (settings.1). So it sets what it needs itself.
DO $do$
BEGIN
  EXECUTE format($create$

-- At most `most` due messages of an instance: the ready ones and, if the start or an event is among them, the
-- events that are parked behind it (read/inbox.ts, postgres.inbox.1).
CREATE FUNCTION due_messages(of_instance bigint, most bigint) RETURNS SETOF inbox LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY
    SELECT m.* FROM (
      SELECT c.* FROM %1$I.inbox AS c
      WHERE c.instance = of_instance AND c.visible_at <= (SELECT %1$I.clock())
        AND c.kind = 'cancel' AND c.key = 'cancel'
      UNION ALL (
        SELECT d.* FROM %1$I.inbox AS d
        WHERE d.instance = of_instance AND d.visible_at <= (SELECT %1$I.clock())
          AND NOT d.parked AND d.kind <> 'cancel'
        ORDER BY d.visible_at, d.id LIMIT most
      )
      UNION ALL (
        SELECT e.* FROM %1$I.inbox AS e
        WHERE e.instance = of_instance AND e.visible_at <= (SELECT %1$I.clock())
          AND e.parked AND e.kind = 'event'
          AND EXISTS (
            SELECT 1 FROM %1$I.inbox AS r
            WHERE r.instance = of_instance AND r.visible_at <= (SELECT %1$I.clock())
              AND NOT r.parked AND r.kind IN ('start', 'event'))
        ORDER BY e.id LIMIT most
      )
    ) AS m
    ORDER BY m.kind = 'start' DESC, m.kind = 'cancel' DESC, m.visible_at, m.id LIMIT most;
END
$$;

-- Deletes the tasks of an instance that has ended, and all its messages but the events, which are parked.
CREATE FUNCTION clear_ended(of_instance bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM %1$I.inbox AS m WHERE m.instance = of_instance AND m.kind <> 'event';
  UPDATE %1$I.inbox AS m SET parked = true
  WHERE m.instance = of_instance AND m.kind = 'event' AND NOT m.parked;
  DELETE FROM %1$I.tasks AS t WHERE t.instance = of_instance;
END
$$;

-- Moves the early messages for instances that were just inserted into their inboxes (write/early-messages.ts).
-- Returns the key of the receiver of each message. `batch`: the number of the insert.
CREATE FUNCTION hand_over(
  batch bigint, ids text[], run_ids text[], delays bigint[], due_times bigint[], commits bigint[]
) RETURNS SETOF bigint LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  RETURN QUERY
    WITH taken AS (
      DELETE FROM %1$I.kept AS k
      USING unnest(ids, run_ids, delays, due_times, commits) AS t (id, run_id, delay, due_at, commit)
        JOIN %1$I.instances AS i
          ON i.id = ANY (ARRAY[t.id]) AND i.run_id = t.run_id AND i.last_commit = t.commit
      WHERE k.id = ANY (ARRAY[t.id])
        AND CASE WHEN k.expired_at IS NULL THEN k.expires_at > i.created_at ELSE false END
      RETURNING k.number, k.key, k.name, k.data, k.checksum, k.digest, i.key AS instance, i.priority,
        CASE WHEN i.version IS NULL THEN i.name ELSE i.name || '@' || i.version
          || CASE WHEN i.replay_version > 1 THEN '#' || i.replay_version ELSE '' END END AS target,
        i.execution, i.created_at AS now,
        greatest(i.created_at,
          least(coalesce(t.due_at, i.created_at + coalesce(t.delay, 0)), 9007199254740991)) AS visible_at
    ), recorded AS (
      INSERT INTO %1$I.requests (instance, execution, created_at, batch, kind, id, outcome, digest)
      SELECT instance, execution, now, $1, 'send', key, 'done', digest FROM taken
    )
    INSERT INTO %1$I.inbox (instance, priority, target, parked, visible_at, execution, sequence, kind, name,
      key, data, checksum)
    SELECT instance, priority, target, false, visible_at, NULL, NULL, 'event', name, key, data, checksum
    FROM taken ORDER BY number
    ON CONFLICT (instance, kind, key) WHERE key IS NOT NULL DO NOTHING RETURNING instance;
END
$$;

  $create$, current_schema());
END
$do$;
