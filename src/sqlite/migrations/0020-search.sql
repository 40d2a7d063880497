-- Search: attributes in rows of their own, and the indexes of lists (docs/decisions/0047-search.md).

-- Attributes: one row per attribute, written by triggers from the column `attributes` of the instance.
--   - 0020-search.1: `text` holds the first 200 characters of a text, `rest` the others. A comparison with a
--     shorter text is decided by `text` alone.
--   - An instance with unreadable attributes has none here.
--   - 0020-search.2: `number` holds a number, the milliseconds of a date, or 0 and 1 for false and true.
CREATE TABLE attributes (
  instance   INTEGER NOT NULL,
  name       TEXT NOT NULL,
  type       TEXT NOT NULL, -- "text", "number", "boolean" or "date"
  text       TEXT,
  rest       TEXT,
  number     REAL,
  created_at INTEGER NOT NULL, -- of the instance: the order of a list
  PRIMARY KEY (instance, name)
) STRICT, WITHOUT ROWID;

-- Instances by the value of an attribute; of one value, in the order of a list.
CREATE INDEX attributes_texts ON attributes (name, text, created_at, instance) WHERE text IS NOT NULL;
CREATE INDEX attributes_numbers ON attributes (name, type, number, created_at, instance)
  WHERE number IS NOT NULL;

INSERT OR IGNORE INTO attributes (instance, name, type, text, rest, created_at)
SELECT i.key, a.key, 'text', substr(a.value, 1, 200),
  CASE WHEN length(a.value) > 200 THEN substr(a.value, 201) END, i.created_at
FROM instances AS i, json_each(iif(json_valid(i.attributes), i.attributes, '{}')) AS a
WHERE i.attributes <> '{}' AND a.type = 'text' AND typeof(a.key) = 'text';

CREATE TRIGGER attributes_insert AFTER INSERT ON instances WHEN NEW.attributes <> '{}' BEGIN
  INSERT INTO attributes (instance, name, type, text, rest, number, created_at)
  SELECT NEW.key, a.key,
    CASE a.type WHEN 'text' THEN 'text' WHEN 'object' THEN 'date'
      WHEN 'true' THEN 'boolean' WHEN 'false' THEN 'boolean' ELSE 'number' END,
    CASE WHEN a.type = 'text' THEN substr(a.value, 1, 200) END,
    CASE WHEN a.type = 'text' AND length(a.value) > 200 THEN substr(a.value, 201) END,
    CASE a.type WHEN 'text' THEN NULL WHEN 'object' THEN CAST(json_extract(a.value, '$.date') AS REAL)
      ELSE CAST(a.value AS REAL) END,
    NEW.created_at
  FROM json_each(iif(json_valid(NEW.attributes), NEW.attributes, '{}')) AS a;
END;

CREATE TRIGGER attributes_update AFTER UPDATE OF attributes ON instances
WHEN NEW.attributes <> OLD.attributes BEGIN
  DELETE FROM attributes WHERE instance = OLD.key;
  INSERT INTO attributes (instance, name, type, text, rest, number, created_at)
  SELECT NEW.key, a.key,
    CASE a.type WHEN 'text' THEN 'text' WHEN 'object' THEN 'date'
      WHEN 'true' THEN 'boolean' WHEN 'false' THEN 'boolean' ELSE 'number' END,
    CASE WHEN a.type = 'text' THEN substr(a.value, 1, 200) END,
    CASE WHEN a.type = 'text' AND length(a.value) > 200 THEN substr(a.value, 201) END,
    CASE a.type WHEN 'text' THEN NULL WHEN 'object' THEN CAST(json_extract(a.value, '$.date') AS REAL)
      ELSE CAST(a.value AS REAL) END,
    NEW.created_at
  FROM json_each(iif(json_valid(NEW.attributes), NEW.attributes, '{}')) AS a;
END;

CREATE TRIGGER attributes_delete AFTER DELETE ON instances WHEN OLD.attributes <> '{}' BEGIN
  DELETE FROM attributes WHERE instance = OLD.key;
END;

-- Lists in the order of creation. Neither the status nor a flag is in this index, so the end of an instance does
-- not change it.
DROP INDEX instances_created;
CREATE INDEX instances_created ON instances (created_at, key, name, id);
-- Lists of live, failed, paused or blocked instances, in the order of creation. The columns of a condition are in
-- its index, because SQLite would otherwise read them from the table; and the name, for lists by status and name.
CREATE INDEX instances_live ON instances (created_at, key, completed_at, name) WHERE completed_at IS NULL;
CREATE INDEX instances_failed ON instances (created_at, key, status, completed_at, name)
  WHERE completed_at IS NOT NULL AND status <> 'completed';
CREATE INDEX instances_paused ON instances (created_at, key) WHERE paused IS NOT NULL;
CREATE INDEX instances_blocked ON instances (created_at, key) WHERE blocked IS NOT NULL;
-- Lists by name, in the order of creation.
CREATE INDEX instances_name ON instances (name, created_at, key);
-- Retention, and lists by the time of the end. An instance that has ended is in one of these two.
DROP INDEX instances_ended;
CREATE INDEX instances_ended ON instances (status, completed_at, key, created_at, parent_id, delete_after)
  WHERE completed_at IS NOT NULL AND parent_id IS NULL AND delete_after IS NULL;
CREATE INDEX instances_ended_others ON instances (completed_at, key, created_at, parent_id, delete_after)
  WHERE completed_at IS NOT NULL AND (parent_id IS NOT NULL OR delete_after IS NOT NULL);

-- Tallies by status and name, for counts (sql/read/counts.ts). The row with an empty name takes the events of plain
-- turns (turn.2).
DROP TRIGGER tallies_insert;
DROP TRIGGER tallies_delete;
DROP TRIGGER tallies_update;
DROP TRIGGER tallies_status;
DROP TABLE tallies;
CREATE TABLE tallies (
  status     TEXT NOT NULL,
  name       TEXT NOT NULL,
  instances  INTEGER NOT NULL,
  paused     INTEGER NOT NULL,
  blocked    INTEGER NOT NULL,
  executions INTEGER NOT NULL,
  events     INTEGER NOT NULL,
  PRIMARY KEY (status, name)
) STRICT, WITHOUT ROWID;

INSERT INTO tallies
SELECT status, name, count(*), count(paused), count(blocked), sum(1 + past_executions),
  sum(last_event + past_events)
FROM instances GROUP BY status, name;
INSERT INTO tallies VALUES ('running', '', 0, 0, 0, 0, 0);

CREATE TRIGGER tallies_insert AFTER INSERT ON instances BEGIN
  INSERT INTO tallies VALUES (NEW.status, NEW.name, 1, NEW.paused IS NOT NULL, NEW.blocked IS NOT NULL,
    1 + NEW.past_executions, NEW.last_event + NEW.past_events)
  ON CONFLICT DO UPDATE SET
    instances = instances + 1,
    paused = paused + excluded.paused,
    blocked = blocked + excluded.blocked,
    executions = executions + excluded.executions,
    events = events + excluded.events;
END;

CREATE TRIGGER tallies_delete AFTER DELETE ON instances BEGIN
  UPDATE tallies SET
    instances = instances - 1,
    paused = paused - (OLD.paused IS NOT NULL),
    blocked = blocked - (OLD.blocked IS NOT NULL),
    executions = executions - 1 - OLD.past_executions,
    events = events - OLD.last_event - OLD.past_events
  WHERE status = OLD.status AND name = OLD.name;
END;

CREATE TRIGGER tallies_update
AFTER UPDATE OF status, paused, blocked, past_executions, past_events ON instances
WHEN OLD.status = NEW.status AND OLD.name = NEW.name BEGIN
  UPDATE tallies SET
    paused = paused + (NEW.paused IS NOT NULL) - (OLD.paused IS NOT NULL),
    blocked = blocked + (NEW.blocked IS NOT NULL) - (OLD.blocked IS NOT NULL),
    executions = executions + NEW.past_executions - OLD.past_executions,
    events = events + NEW.last_event + NEW.past_events - OLD.last_event - OLD.past_events
  WHERE status = NEW.status AND name = NEW.name;
END;

CREATE TRIGGER tallies_status AFTER UPDATE OF status, name ON instances
WHEN OLD.status <> NEW.status OR OLD.name <> NEW.name BEGIN
  UPDATE tallies SET
    instances = instances - 1,
    paused = paused - (OLD.paused IS NOT NULL),
    blocked = blocked - (OLD.blocked IS NOT NULL),
    executions = executions - 1 - OLD.past_executions,
    events = events - OLD.last_event - OLD.past_events
  WHERE status = OLD.status AND name = OLD.name;
  INSERT INTO tallies VALUES (NEW.status, NEW.name, 1, NEW.paused IS NOT NULL, NEW.blocked IS NOT NULL,
    1 + NEW.past_executions, NEW.last_event + NEW.past_events)
  ON CONFLICT DO UPDATE SET
    instances = instances + 1,
    paused = paused + excluded.paused,
    blocked = blocked + excluded.blocked,
    executions = executions + excluded.executions,
    events = events + excluded.events;
END;
