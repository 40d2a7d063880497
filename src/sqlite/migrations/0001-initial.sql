-- The tables of architecture §5, as far as the contract needs them. Applied once, by migrations.ts.
--   M1. Columns that a turn writes come first and are small; texts that are written once come last.
--   M2. Every index says which query it serves. None of them holds a column that a plain turn changes.

CREATE TABLE instances (
  key              INTEGER PRIMARY KEY AUTOINCREMENT, -- never used again (N1)
  last_event       INTEGER NOT NULL,
  last_commit      INTEGER,
  updated_at       INTEGER NOT NULL,
  execution        INTEGER NOT NULL,
  suspicion        INTEGER NOT NULL,
  steps_open       INTEGER NOT NULL,
  lease_token      INTEGER,
  lease_until      INTEGER,
  lease_owner      TEXT,
  status_version   INTEGER NOT NULL, -- of the custom status (ST2)
  copied_until     INTEGER NOT NULL, -- the last event that a fork copied; 0: none
  past_executions  INTEGER NOT NULL, -- ended ones that are still stored
  past_events      INTEGER NOT NULL, -- theirs
  status           TEXT NOT NULL,
  priority         REAL NOT NULL,
  created_at       INTEGER NOT NULL,
  completed_at     INTEGER,
  id               TEXT NOT NULL UNIQUE,
  run_id           TEXT NOT NULL,
  name             TEXT NOT NULL,
  version          TEXT,
  replay_version   INTEGER, -- which rules of replay wrote the history; NULL: there is none yet
  parent_id        TEXT,
  parent_run_id    TEXT,
  parent_execution INTEGER,
  parent_sequence  INTEGER,
  on_parent_close  TEXT NOT NULL,
  paused           TEXT,
  blocked          TEXT,
  blocked_by       TEXT, -- JSON array of runtime ids
  cancel_requested TEXT,
  attributes       TEXT NOT NULL,
  custom_status    TEXT,
  output           TEXT,
  error            TEXT
) STRICT;

-- What a runtime holds, when it dies or leaves.
CREATE INDEX instances_owner ON instances (lease_owner) WHERE lease_owner IS NOT NULL;
-- Leases that ended by themselves over open steps, of which no message tells.
CREATE INDEX instances_steps ON instances (lease_until)
  WHERE steps_open = 1 AND lease_until IS NOT NULL;
-- Lists, in order of creation. What they filter by most is in it, so that a list of the few that failed among
-- 100,000 reads 50 rows of the table and not all of them. No column of it changes between a first turn and a last.
CREATE INDEX instances_created ON instances
  (created_at, key, status, paused, blocked, name, id);
-- Children: of one parent; when it is ended from outside, or deleted.
CREATE INDEX instances_parent ON instances (parent_id) WHERE parent_id IS NOT NULL;

CREATE TABLE history (
  instance  INTEGER NOT NULL,
  execution INTEGER NOT NULL,
  first     INTEGER NOT NULL,
  last      INTEGER NOT NULL,
  data      TEXT NOT NULL,
  PRIMARY KEY (instance, execution, first)
) STRICT, WITHOUT ROWID;

CREATE TABLE kv (
  instance   INTEGER NOT NULL,
  key        TEXT NOT NULL,
  value      TEXT NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (instance, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE inbox (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  instance   INTEGER NOT NULL,
  visible_at INTEGER NOT NULL,
  priority   REAL NOT NULL,    -- its instance's
  target     TEXT NOT NULL,    -- its instance's: what a runtime registers that can take it
  parked     INTEGER NOT NULL, -- 1: unread when its instance ended; makes nobody due
  execution  INTEGER,
  sequence   INTEGER,
  kind       TEXT NOT NULL,
  name       TEXT,
  key        TEXT,
  data       TEXT NOT NULL
) STRICT;

-- One instance's due messages, in order; and all that it has.
CREATE INDEX inbox_instance ON inbox (instance, visible_at);
-- Who is due. Within one target and one priority, the order of semantics 16 is the order of visible_at.
CREATE INDEX inbox_due ON inbox (target, priority, visible_at, instance) WHERE parked = 0;
-- The event sent last.
CREATE INDEX inbox_events ON inbox (instance) WHERE kind = 'event';
-- B3, kind by kind: a sender's request id must not keep out a message of the engine's.
CREATE UNIQUE INDEX inbox_key ON inbox (instance, kind, key) WHERE key IS NOT NULL;
-- Timers that are taken back.
CREATE INDEX inbox_timer ON inbox (instance, sequence)
  WHERE key IS NULL AND sequence IS NOT NULL;

CREATE TABLE tasks (
  instance     INTEGER NOT NULL,
  execution    INTEGER NOT NULL,
  sequence     INTEGER NOT NULL,
  lease_token  INTEGER,
  lease_until  INTEGER,
  lease_owner  TEXT,
  available_at INTEGER NOT NULL,
  priority     REAL NOT NULL,
  attempt      INTEGER NOT NULL,
  deaths       INTEGER NOT NULL,
  suspect      INTEGER NOT NULL,
  name         TEXT NOT NULL,
  session      TEXT,
  tags         TEXT NOT NULL, -- sorted JSON array; empty: none
  options      TEXT, -- JSON object
  last_failure TEXT,
  avoid        TEXT, -- the runtime that failed with it last
  heartbeat    TEXT, -- details of the last one, for the next attempt
  progress     TEXT, -- what was told last, for watchers
  input        TEXT NOT NULL,
  PRIMARY KEY (instance, execution, sequence)
) STRICT, WITHOUT ROWID;

-- The queue, of tasks without a session and of one session. Within one name, set of tags and priority, K2's order
-- is the order of available_at. The owner, always NULL here, is in it because SQLite would otherwise look it up in
-- the table.
CREATE INDEX tasks_queue ON tasks (lease_owner, session, suspect, name, tags, priority, available_at)
  WHERE lease_owner IS NULL;
-- The queue of all sessions' tasks, for who may claim new ones.
CREATE INDEX tasks_sessions ON tasks
  (lease_owner, suspect, name, tags, priority, available_at, instance, execution, sequence, session)
  WHERE lease_owner IS NULL AND session IS NOT NULL;
-- Leases that ended by themselves.
CREATE INDEX tasks_until ON tasks (lease_until) WHERE lease_until IS NOT NULL;

CREATE TABLE sessions (
  id               TEXT PRIMARY KEY,
  owner            TEXT NOT NULL,
  token            INTEGER NOT NULL,
  until            INTEGER NOT NULL,
  last_activity_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE requests (
  instance   INTEGER NOT NULL,
  kind       TEXT NOT NULL, -- "start" or "send"
  id         TEXT NOT NULL,
  outcome    TEXT NOT NULL,
  execution  INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (instance, kind, id)
) STRICT, WITHOUT ROWID;

-- Messages for ids that do not exist yet (semantics 18a).
CREATE TABLE kept (
  number     INTEGER PRIMARY KEY, -- the order in which they came
  id         TEXT NOT NULL,
  key        TEXT NOT NULL,       -- the sender's request id
  created_at INTEGER NOT NULL,
  name       TEXT NOT NULL,
  data       TEXT NOT NULL,
  UNIQUE (id, key)
) STRICT;

-- Those that are too old.
CREATE INDEX kept_age ON kept (created_at);

CREATE TABLE runtimes (
  id         TEXT PRIMARY KEY,
  beat_at    INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  node_id    TEXT NOT NULL,
  hostname   TEXT NOT NULL,
  process    TEXT, -- JSON object
  note       TEXT,
  registered TEXT NOT NULL
) STRICT, WITHOUT ROWID;
