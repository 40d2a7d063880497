-- Queues: limits and fair order of the tasks of one activity (core/provider/queues.ts). The indexes hold only tasks of
-- queues that use them.
ALTER TABLE tasks ADD COLUMN queue_key TEXT; -- '': a weight, but no key
ALTER TABLE tasks ADD COLUMN weight REAL;
ALTER TABLE tasks ADD COLUMN holds_slot INTEGER NOT NULL DEFAULT 0; -- leased or deferred, in a queue with a rule

-- The running tasks of a queue, by key.
CREATE INDEX tasks_slots ON tasks (name, queue_key) WHERE holds_slot;
-- Deferred tasks that hold their slots, by the time at which their attempts time out.
CREATE INDEX tasks_deferred ON tasks (name, available_at) WHERE holds_slot AND lease_owner IS NULL;
-- The waiting tasks of one key.
CREATE INDEX tasks_keys ON tasks (name, suspect, tags, priority, queue_key, available_at)
  WHERE lease_owner IS NULL AND queue_key IS NOT NULL;

CREATE TABLE queues (
  name         TEXT PRIMARY KEY,
  rule         TEXT, -- JSON object
  limits_slots INTEGER NOT NULL, -- the rule has concurrency or perKey
  limits_keys  INTEGER NOT NULL, -- the rule has perKey
  rate_ms      INTEGER, -- the window of the rule's rate
  declared_by  TEXT, -- a runtime
  declared_at  INTEGER,
  paused       TEXT -- JSON object
) STRICT, WITHOUT ROWID;

-- Tasks admitted under a rate. They count for rate_ms after `until`.
CREATE TABLE admissions (
  name   TEXT NOT NULL,
  until  INTEGER NOT NULL,
  number INTEGER NOT NULL,
  PRIMARY KEY (name, until)
) STRICT, WITHOUT ROWID;

-- Fair order: the virtual time of each part of a queue (tags and priority), and the keys that are ahead of it.
CREATE TABLE queue_clocks (
  name         TEXT NOT NULL,
  part         TEXT NOT NULL,
  virtual_time REAL NOT NULL,
  PRIMARY KEY (name, part)
) STRICT, WITHOUT ROWID;
CREATE TABLE queue_lanes (
  name       TEXT NOT NULL,
  part       TEXT NOT NULL,
  queue_key  TEXT NOT NULL,
  next_start REAL NOT NULL, -- the virtual time at which the next task of the key starts
  PRIMARY KEY (name, part, queue_key)
) STRICT, WITHOUT ROWID;
CREATE INDEX queue_lanes_start ON queue_lanes (name, part, next_start);

-- The outcomes of the attempts of the last minute, by second.
CREATE TABLE queue_outcomes (
  name      TEXT NOT NULL,
  at        INTEGER NOT NULL,
  completed INTEGER NOT NULL,
  failed    INTEGER NOT NULL,
  retried   INTEGER NOT NULL,
  PRIMARY KEY (name, at)
) STRICT, WITHOUT ROWID;
