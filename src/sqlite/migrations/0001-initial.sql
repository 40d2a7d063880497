-- Initial schema: the tables of the store. migrations.ts applies this file once.
--   - Columns that a turn writes come first and are small; texts that are written once come last.
--   - Each index has a comment that names its query. No index contains a column that a plain turn changes.

CREATE TABLE instances (
  key              INTEGER PRIMARY KEY AUTOINCREMENT, -- never reused (provider.instances.1)
  last_event       INTEGER NOT NULL,
  last_commit      INTEGER,
  updated_at       INTEGER NOT NULL,
  execution        INTEGER NOT NULL,
  suspicion        INTEGER NOT NULL,
  steps_open       INTEGER NOT NULL,
  lease_token      INTEGER,
  lease_until      INTEGER,
  lease_owner      TEXT,
  status_version   INTEGER NOT NULL, -- of the custom status (provider.state.2)
  copied_until     INTEGER NOT NULL, -- the last event that a fork copied; 0: none
  past_executions  INTEGER NOT NULL, -- earlier executions that are still stored
  past_events      INTEGER NOT NULL, -- events of those executions
  status           TEXT NOT NULL,
  priority         REAL NOT NULL,
  created_at       INTEGER NOT NULL,
  completed_at     INTEGER,
  id               TEXT NOT NULL UNIQUE,
  run_id           TEXT NOT NULL,
  name             TEXT NOT NULL,
  version          TEXT,
  replay_version   INTEGER, -- the version of the replay rules that wrote the history; NULL: no history yet
  parent_id        TEXT,
  parent_run_id    TEXT,
  parent_execution INTEGER,
  parent_sequence  INTEGER,
  on_parent_close  TEXT NOT NULL,
  paused           TEXT,
  blocked          TEXT,
  blocked_by       TEXT, -- JSON array of runtime ids, and of code entries for quarantines
  cancel_requested TEXT,
  attributes       TEXT NOT NULL,
  custom_status    TEXT,
  output           TEXT,
  error            TEXT
) STRICT;

-- The instances that a runtime holds, when it is declared dead or deregisters.
CREATE INDEX instances_owner ON instances (lease_owner) WHERE lease_owner IS NOT NULL;
-- Expired leases of instances with open steps: no message makes such an instance due.
CREATE INDEX instances_steps ON instances (lease_until)
  WHERE steps_open = 1 AND lease_until IS NOT NULL;
-- Lists in the order of creation. The index contains the usual filter columns, so a list of 50 failed
-- instances among 100,000 reads 50 rows of the table. None of its columns changes between the first turn and
-- the last.
CREATE INDEX instances_created ON instances
  (created_at, key, status, paused, blocked, name, id);
-- The children of one parent, when the parent is cancelled, terminated or deleted.
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
  priority   REAL NOT NULL,    -- of the instance
  target     TEXT NOT NULL,    -- of the instance: what a runtime must register to lease it
  parked     INTEGER NOT NULL, -- 1: does not make its instance due (read/inbox.ts)
  execution  INTEGER,
  sequence   INTEGER,
  kind       TEXT NOT NULL,
  name       TEXT,
  key        TEXT,
  data       TEXT NOT NULL
) STRICT;

-- The due messages of one instance, in order; and all its messages.
CREATE INDEX inbox_instance ON inbox (instance, visible_at);
-- Due instances. Within one target and one priority, the order of semantics 16 is the order of visible_at.
CREATE INDEX inbox_due ON inbox (target, priority, visible_at, instance) WHERE parked = 0;
-- The last event sent to an instance.
CREATE INDEX inbox_events ON inbox (instance) WHERE kind = 'event';
-- messages.3, per kind: a sender's request id must not block a message of the engine.
CREATE UNIQUE INDEX inbox_key ON inbox (instance, kind, key) WHERE key IS NOT NULL;
-- Timers to withdraw.
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
  tags         TEXT NOT NULL, -- sorted JSON array; empty: no tags
  options      TEXT, -- JSON object
  last_failure TEXT,
  avoid        TEXT, -- the runtime of the last failed attempt
  heartbeat    TEXT, -- details of the last heartbeat, for the next attempt
  progress     TEXT, -- the last reported progress, for watchers
  input        TEXT NOT NULL,
  PRIMARY KEY (instance, execution, sequence)
) STRICT, WITHOUT ROWID;

-- The queue of tasks without a session, and of one session. Within one name, set of tags and priority, the
-- order is that of available_at. The owner, always NULL here, is in the index because SQLite would otherwise
-- read it from the table.
CREATE INDEX tasks_queue ON tasks (lease_owner, session, suspect, name, tags, priority, available_at)
  WHERE lease_owner IS NULL;
-- Tasks of all sessions, for a runtime that may claim new ones.
CREATE INDEX tasks_sessions ON tasks
  (lease_owner, suspect, name, tags, priority, available_at, instance, execution, sequence, session)
  WHERE lease_owner IS NULL AND session IS NOT NULL;
-- Expired leases.
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

-- Early messages: events for ids that do not exist yet (semantics 18a).
CREATE TABLE kept (
  number     INTEGER PRIMARY KEY, -- the order in which they were sent
  id         TEXT NOT NULL,
  key        TEXT NOT NULL,       -- the sender's request id
  created_at INTEGER NOT NULL,
  name       TEXT NOT NULL,
  data       TEXT NOT NULL,
  UNIQUE (id, key)
) STRICT;

-- Messages that are too old.
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
