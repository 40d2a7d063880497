-- The tables of architecture §5, as far as the contract needs them. Applied once, by migrations.ts, in their schema.
--   M1. Columns that a turn writes come first; texts that are written once come last.
--   M2. Every index says which query it serves. None holds a column that a plain turn changes, so that its update
--       stays on the row's page (HOT); status is in none, so that a first turn's does too.
--   M3. Texts are compared by their bytes ("C"): the same order everywhere, whatever the database's language.
--   M4. Room is left on the pages of rows that are updated; queues are vacuumed often (docs/decisions/0008).

-- The store's clock, in whole milliseconds: the one place where time is asked for (I3). A transaction may be given
-- another time; that is how a store is run on virtual time.
CREATE FUNCTION clock() RETURNS bigint LANGUAGE sql VOLATILE PARALLEL SAFE AS $$
  SELECT coalesce(
    nullif(current_setting('perdure.now', true), '')::bigint,
    floor(date_part('epoch', clock_timestamp()) * 1000)::bigint)
$$;

-- Ends the transaction: what was asked for has to be done in another way.
CREATE FUNCTION refuse(why text) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RAISE EXCEPTION '%', why USING ERRCODE = 'PD001';
END
$$;

-- An attribute's value; NULL if it has none, or cannot be read.
CREATE FUNCTION attribute(attributes text, name text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN attributes::json ->> name;
EXCEPTION WHEN OTHERS THEN
  RETURN NULL;
END
$$;

-- Numbers that are never used again (N1), and the order of what is sent (P7).
CREATE SEQUENCE instance_keys;
CREATE SEQUENCE message_ids;

CREATE TABLE instances (
  key              bigint PRIMARY KEY,
  last_event       bigint NOT NULL,
  last_commit      bigint,
  updated_at       bigint NOT NULL,
  suspicion        integer NOT NULL,
  execution        bigint NOT NULL,
  lease_token      bigint,
  lease_until      bigint,
  status_version   bigint NOT NULL, -- of the custom status (ST2)
  copied_until     bigint NOT NULL, -- the last event that a fork copied; 0: none
  past_executions  bigint NOT NULL, -- ended ones that are still stored
  past_events      bigint NOT NULL, -- theirs
  created_at       bigint NOT NULL,
  completed_at     bigint,
  parent_execution bigint,
  parent_sequence  bigint,
  priority         double precision NOT NULL,
  replay_version   integer, -- which rules of replay wrote the history; NULL: there is none yet
  steps_open       boolean NOT NULL,
  failed           boolean NOT NULL, -- ended, but not as completed
  status           text COLLATE "C" NOT NULL,
  lease_owner      text COLLATE "C",
  id               text COLLATE "C" NOT NULL UNIQUE,
  run_id           text COLLATE "C" NOT NULL,
  name             text COLLATE "C" NOT NULL,
  version          text COLLATE "C",
  parent_id        text COLLATE "C",
  parent_run_id    text COLLATE "C",
  on_parent_close  text COLLATE "C" NOT NULL,
  paused           text,
  blocked          text,
  blocked_by       text, -- JSON array of runtime ids
  cancel_requested text,
  attributes       text NOT NULL,
  custom_status    text,
  output           text,
  error            text
) WITH (fillfactor = 45, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

-- What a runtime holds, when it dies or leaves; what one request took.
CREATE INDEX instances_owner ON instances (lease_owner, lease_token) WHERE lease_owner IS NOT NULL;
-- Leases that ended by themselves over open steps, of which no message tells.
CREATE INDEX instances_steps ON instances (lease_until) WHERE steps_open AND lease_until IS NOT NULL;
-- Lists, in order of keys, which is that of creation: of the few that live, failed or wait, among the many.
CREATE INDEX instances_live ON instances (key) WHERE completed_at IS NULL;
CREATE INDEX instances_failed ON instances (key) WHERE failed;
CREATE INDEX instances_paused ON instances (key) WHERE paused IS NOT NULL;
CREATE INDEX instances_blocked ON instances (key) WHERE blocked IS NOT NULL;
-- Children: of one parent; when it is ended from outside, or deleted.
CREATE INDEX instances_parent ON instances (parent_id) WHERE parent_id IS NOT NULL;

CREATE TABLE history (
  instance  bigint NOT NULL,
  execution bigint NOT NULL,
  first     bigint NOT NULL,
  last      bigint NOT NULL,
  data      text NOT NULL,
  PRIMARY KEY (instance, execution, first)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.1);

CREATE TABLE kv (
  instance   bigint NOT NULL,
  updated_at bigint NOT NULL,
  key        text COLLATE "C" NOT NULL,
  value      text NOT NULL,
  PRIMARY KEY (instance, key)
) WITH (fillfactor = 80);

CREATE TABLE inbox (
  id         bigint PRIMARY KEY DEFAULT nextval('message_ids'),
  instance   bigint NOT NULL,
  visible_at bigint NOT NULL,
  execution  bigint,
  sequence   bigint,
  priority   double precision NOT NULL,       -- its instance's
  parked     boolean NOT NULL,                -- unread when its instance ended; makes nobody due
  target     text COLLATE "C" NOT NULL,       -- its instance's: what a runtime registers that can take it
  kind       text COLLATE "C" NOT NULL,
  name       text COLLATE "C",
  key        text COLLATE "C",
  data       text NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 2000,
        autovacuum_vacuum_cost_delay = 0);

-- One instance's due messages, in order; and all that it has.
CREATE INDEX inbox_instance ON inbox (instance, visible_at, id);
-- Who is due. Within one target and one priority, the order of semantics 16 is the order of visible_at.
CREATE INDEX inbox_due ON inbox (target, priority, visible_at, instance) WHERE NOT parked;
-- The event sent last.
CREATE INDEX inbox_events ON inbox (instance, id) WHERE kind = 'event';
-- B3, kind by kind: a sender's request id must not keep out a message of the engine's.
CREATE UNIQUE INDEX inbox_key ON inbox (instance, kind, key) WHERE key IS NOT NULL;
-- Timers that are taken back.
CREATE INDEX inbox_timer ON inbox (instance, sequence) WHERE key IS NULL AND sequence IS NOT NULL;

CREATE TABLE tasks (
  instance     bigint NOT NULL,
  execution    bigint NOT NULL,
  sequence     bigint NOT NULL,
  lease_token  bigint,
  lease_until  bigint,
  available_at bigint NOT NULL,
  priority     double precision NOT NULL,
  attempt      integer NOT NULL,
  deaths       integer NOT NULL,
  suspect      boolean NOT NULL,
  lease_owner  text COLLATE "C",
  name         text COLLATE "C" NOT NULL,
  session      text COLLATE "C",
  tag_set      text COLLATE "C" NOT NULL, -- short, and alike for equal sets of tags; empty: none
  tags         text[] COLLATE "C" NOT NULL, -- sorted
  options      text,                      -- JSON object
  last_failure text,
  avoid        text COLLATE "C",          -- the runtime that failed with it last
  heartbeat    text,                      -- details of the last one, for the next attempt
  progress     text,                      -- what was told last, for watchers
  input        text NOT NULL,
  PRIMARY KEY (instance, execution, sequence)
) WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 2000,
        autovacuum_vacuum_cost_delay = 0);

-- The queue of tasks without a session. Within one name, set of tags and priority, K2's order is that of available_at.
CREATE INDEX tasks_queue ON tasks (suspect, name, tag_set, priority, available_at)
  WHERE lease_owner IS NULL AND session IS NULL;
-- The queues of sessions: of all of them, for who may claim new ones; and of one.
CREATE INDEX tasks_sessions ON tasks (suspect, name, tag_set, priority, available_at)
  WHERE lease_owner IS NULL AND session IS NOT NULL;
CREATE INDEX tasks_session ON tasks (session, suspect, name, tag_set, priority, available_at)
  WHERE lease_owner IS NULL AND session IS NOT NULL;
-- Leases that ended by themselves.
CREATE INDEX tasks_until ON tasks (lease_until) WHERE lease_until IS NOT NULL;

CREATE TABLE sessions (
  id               text COLLATE "C" PRIMARY KEY,
  token            bigint NOT NULL,
  until            bigint NOT NULL,
  last_activity_at bigint NOT NULL,
  owner            text COLLATE "C" NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE requests (
  instance   bigint NOT NULL,
  execution  bigint NOT NULL,
  created_at bigint NOT NULL,
  batch      bigint NOT NULL,           -- the pipeline that wrote it: what follows in it knows its own by this
  kind       text COLLATE "C" NOT NULL, -- "start" or "send"
  id         text COLLATE "C" NOT NULL,
  outcome    text COLLATE "C" NOT NULL,
  PRIMARY KEY (instance, kind, id)
);

-- Messages for ids that do not exist yet (semantics 18a).
CREATE TABLE kept (
  number     bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, -- the order in which they came
  created_at bigint NOT NULL,
  id         text COLLATE "C" NOT NULL,
  key        text COLLATE "C" NOT NULL, -- the sender's request id
  name       text COLLATE "C" NOT NULL,
  data       text NOT NULL,
  UNIQUE (id, key)
);

-- Those that are too old.
CREATE INDEX kept_age ON kept (created_at);

CREATE TABLE runtimes (
  id         text COLLATE "C" PRIMARY KEY,
  beat_at    bigint NOT NULL,
  started_at bigint NOT NULL,
  node_id    text NOT NULL,
  hostname   text NOT NULL,
  process    text, -- JSON object
  note       text,
  registered text NOT NULL
) WITH (fillfactor = 50);

-- Writers whose calls under way, from before this epoch, must not be written any more (bar.ts).
CREATE TABLE barred (
  writer text COLLATE "C" PRIMARY KEY,
  epoch  bigint NOT NULL,
  at     bigint NOT NULL
);
