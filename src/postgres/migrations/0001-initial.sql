-- Initial schema: the tables of the store. migrations.ts applies this file once, in the store's schema.
--   - Columns that a turn writes come first; texts that are written once come last.
--   - 0001-initial.1: Each index has a comment that names its query. No index contains a column that a
--     plain turn changes, so the update stays on the row's page (HOT). No index contains the status, so the
--     update of a first turn stays there too.
--   - Texts are compared by their bytes ("C"): the order is the same in every locale.
--   - Rows that are updated have free space on their pages; queues are vacuumed often
--     (docs/decisions/0008).

-- The store's clock in milliseconds: the only source of time (I3). A transaction can set another time; tests
-- use that to run a store on virtual time.
CREATE FUNCTION clock() RETURNS bigint LANGUAGE sql VOLATILE PARALLEL SAFE AS $$
  SELECT coalesce(
    nullif(current_setting('perdure.now', true), '')::bigint,
    floor(date_part('epoch', clock_timestamp()) * 1000)::bigint)
$$;

-- Aborts the transaction: the caller must handle the request in another way.
CREATE FUNCTION refuse(why text) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RAISE EXCEPTION '%', why USING ERRCODE = 'PD001';
END
$$;

-- The value of an attribute; NULL if the attribute is missing or the JSON text is damaged.
CREATE FUNCTION attribute(attributes text, name text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN attributes::json ->> name;
EXCEPTION WHEN OTHERS THEN
  RETURN NULL;
END
$$;

-- Instance keys, which are never reused (provider.instances.1), and message ids, which order messages (P7).
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
  status_version   bigint NOT NULL, -- of the custom status (provider.state.2)
  copied_until     bigint NOT NULL, -- the last event that a fork copied; 0: none
  past_executions  bigint NOT NULL, -- earlier executions that are still stored
  past_events      bigint NOT NULL, -- events of those executions
  created_at       bigint NOT NULL,
  completed_at     bigint,
  parent_execution bigint,
  parent_sequence  bigint,
  priority         double precision NOT NULL,
  replay_version   integer, -- the version of the replay rules that wrote the history; NULL: no history yet
  steps_open       boolean NOT NULL,
  failed           boolean NOT NULL, -- ended with another status than completed
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
  blocked_by       text, -- JSON array of runtime ids, and of code entries for quarantines
  cancel_requested text,
  attributes       text NOT NULL,
  custom_status    text,
  output           text,
  error            text
) WITH (fillfactor = 45, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

-- The instances that a runtime holds, when it is declared dead or deregisters; those that one request leased.
CREATE INDEX instances_owner ON instances (lease_owner, lease_token) WHERE lease_owner IS NOT NULL;
-- Expired leases of instances with open steps: no message makes such an instance due.
CREATE INDEX instances_steps ON instances (lease_until) WHERE steps_open AND lease_until IS NOT NULL;
-- Lists of live, failed, paused or blocked instances in the order of keys, which is the order of creation.
CREATE INDEX instances_live ON instances (key) WHERE completed_at IS NULL;
CREATE INDEX instances_failed ON instances (key) WHERE failed;
CREATE INDEX instances_paused ON instances (key) WHERE paused IS NOT NULL;
CREATE INDEX instances_blocked ON instances (key) WHERE blocked IS NOT NULL;
-- The children of one parent, when the parent is cancelled, terminated or deleted.
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
  priority   double precision NOT NULL,       -- of the instance
  parked     boolean NOT NULL,                -- does not make its instance due (read/inbox.ts)
  target     text COLLATE "C" NOT NULL,       -- of the instance: what a runtime must register to lease it
  kind       text COLLATE "C" NOT NULL,
  name       text COLLATE "C",
  key        text COLLATE "C",
  data       text NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 2000,
        autovacuum_vacuum_cost_delay = 0);

-- The due messages of one instance, in order; and all its messages.
CREATE INDEX inbox_instance ON inbox (instance, visible_at, id);
-- Due instances. Within one target and one priority, the order of semantics 16 is the order of visible_at.
CREATE INDEX inbox_due ON inbox (target, priority, visible_at, instance) WHERE NOT parked;
-- The last event sent to an instance.
CREATE INDEX inbox_events ON inbox (instance, id) WHERE kind = 'event';
-- messages.3, per kind: a sender's request id must not block a message of the engine.
CREATE UNIQUE INDEX inbox_key ON inbox (instance, kind, key) WHERE key IS NOT NULL;
-- Timers to withdraw.
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
  tag_set      text COLLATE "C" NOT NULL, -- a short text that is equal for equal sets of tags; empty: no tags
  tags         text[] COLLATE "C" NOT NULL, -- sorted
  options      text,                      -- JSON object
  last_failure text,
  avoid        text COLLATE "C",          -- the runtime of the last failed attempt
  heartbeat    text,                      -- details of the last heartbeat, for the next attempt
  progress     text,                      -- the last reported progress, for watchers
  input        text NOT NULL,
  PRIMARY KEY (instance, execution, sequence)
) WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 2000,
        autovacuum_vacuum_cost_delay = 0);

-- The queue of tasks without a session. Within one name, set of tags and priority, the order is that of
-- available_at.
CREATE INDEX tasks_queue ON tasks (suspect, name, tag_set, priority, available_at)
  WHERE lease_owner IS NULL AND session IS NULL;
-- Tasks with a session: of all sessions, for a runtime that may claim new ones; and of one session.
CREATE INDEX tasks_sessions ON tasks (suspect, name, tag_set, priority, available_at)
  WHERE lease_owner IS NULL AND session IS NOT NULL;
CREATE INDEX tasks_session ON tasks (session, suspect, name, tag_set, priority, available_at)
  WHERE lease_owner IS NULL AND session IS NOT NULL;
-- Expired leases.
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
  batch      bigint NOT NULL,           -- the pipeline that wrote the row
  kind       text COLLATE "C" NOT NULL, -- "start" or "send"
  id         text COLLATE "C" NOT NULL,
  outcome    text COLLATE "C" NOT NULL,
  PRIMARY KEY (instance, kind, id)
);

-- Early messages: events for ids that do not exist yet (semantics 18a).
CREATE TABLE kept (
  number     bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, -- the order in which they were sent
  created_at bigint NOT NULL,
  id         text COLLATE "C" NOT NULL,
  key        text COLLATE "C" NOT NULL, -- the sender's request id
  name       text COLLATE "C" NOT NULL,
  data       text NOT NULL,
  UNIQUE (id, key)
);

-- Messages that are too old.
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

-- Fenced writers: their calls from before this epoch must not be written any more (write-fence.ts).
CREATE TABLE barred (
  writer text COLLATE "C" PRIMARY KEY,
  epoch  bigint NOT NULL,
  at     bigint NOT NULL
);
