-- Tallies: the figures of read/metrics.ts, one row per status, updated by triggers
-- (docs/decisions/0026-metrics-from-tallies.md).
-- SQLite has one writer at a time, so these rows cannot become a point of contention.

CREATE TABLE tallies (
  status     TEXT PRIMARY KEY,
  instances  INTEGER NOT NULL,
  paused     INTEGER NOT NULL,
  blocked    INTEGER NOT NULL,
  executions INTEGER NOT NULL,
  events     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO tallies
SELECT s.value, count(i.key), count(i.paused), count(i.blocked),
  coalesce(sum(1 + i.past_executions), 0), coalesce(sum(i.last_event + i.past_events), 0)
FROM json_each('["pending","running","completed","failed","cancelled","terminated"]') AS s
LEFT JOIN instances AS i ON i.status = s.value
GROUP BY s.value;

CREATE TRIGGER tallies_insert AFTER INSERT ON instances BEGIN
  UPDATE tallies SET
    instances = instances + 1,
    paused = paused + (NEW.paused IS NOT NULL),
    blocked = blocked + (NEW.blocked IS NOT NULL),
    executions = executions + 1 + NEW.past_executions,
    events = events + NEW.last_event + NEW.past_events
  WHERE status = NEW.status;
END;

CREATE TRIGGER tallies_delete AFTER DELETE ON instances BEGIN
  UPDATE tallies SET
    instances = instances - 1,
    paused = paused - (OLD.paused IS NOT NULL),
    blocked = blocked - (OLD.blocked IS NOT NULL),
    executions = executions - 1 - OLD.past_executions,
    events = events - OLD.last_event - OLD.past_events
  WHERE status = OLD.status;
END;

CREATE TRIGGER tallies_update
AFTER UPDATE OF status, paused, blocked, last_event, past_executions, past_events ON instances
WHEN OLD.status = NEW.status BEGIN
  UPDATE tallies SET
    paused = paused + (NEW.paused IS NOT NULL) - (OLD.paused IS NOT NULL),
    blocked = blocked + (NEW.blocked IS NOT NULL) - (OLD.blocked IS NOT NULL),
    executions = executions + NEW.past_executions - OLD.past_executions,
    events = events + NEW.last_event + NEW.past_events - OLD.last_event - OLD.past_events
  WHERE status = NEW.status;
END;

CREATE TRIGGER tallies_status AFTER UPDATE OF status ON instances
WHEN OLD.status <> NEW.status BEGIN
  UPDATE tallies SET
    instances = instances - 1,
    paused = paused - (OLD.paused IS NOT NULL),
    blocked = blocked - (OLD.blocked IS NOT NULL),
    executions = executions - 1 - OLD.past_executions,
    events = events - OLD.last_event - OLD.past_events
  WHERE status = OLD.status;
  UPDATE tallies SET
    instances = instances + 1,
    paused = paused + (NEW.paused IS NOT NULL),
    blocked = blocked + (NEW.blocked IS NOT NULL),
    executions = executions + 1 + NEW.past_executions,
    events = events + NEW.last_event + NEW.past_events
  WHERE status = NEW.status;
END;
