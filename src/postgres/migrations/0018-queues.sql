-- Queues: limits and fair order of the tasks of one activity (core/provider/queues.ts). The indexes hold only tasks of
-- queues that use them.
ALTER TABLE tasks
  ADD COLUMN queue_key text COLLATE "C", -- '': a weight, but no key
  ADD COLUMN weight double precision,
  ADD COLUMN holds_slot boolean NOT NULL DEFAULT false; -- leased or deferred, in a queue with a rule

-- The running tasks of a queue, by key.
CREATE INDEX tasks_slots ON tasks (name, queue_key) WHERE holds_slot;
-- Deferred tasks that hold their slots, by the time at which their attempts time out.
CREATE INDEX tasks_deferred ON tasks (name, available_at) WHERE holds_slot AND lease_owner IS NULL;
-- The waiting tasks of one key.
CREATE INDEX tasks_keys ON tasks (name, suspect, tag_set, priority, queue_key, available_at)
  WHERE lease_owner IS NULL AND queue_key IS NOT NULL;

CREATE TABLE queues (
  limits_slots boolean NOT NULL, -- the rule has concurrency or perKey
  limits_keys  boolean NOT NULL, -- the rule has perKey
  rate_ms      bigint, -- the window of the rule's rate
  declared_at  bigint,
  name         text COLLATE "C" PRIMARY KEY,
  rule         text, -- JSON object
  declared_by  text COLLATE "C", -- a runtime
  paused       text -- JSON object
);

-- Tasks admitted under a rate. They count for rate_ms after `until`.
CREATE TABLE admissions (
  until  bigint NOT NULL,
  number bigint NOT NULL,
  name   text COLLATE "C" NOT NULL,
  PRIMARY KEY (name, until)
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 2000);

-- Fair order: the virtual time of each part of a queue (tags and priority), and the keys that are ahead of it.
CREATE TABLE queue_clocks (
  virtual_time double precision NOT NULL,
  name         text COLLATE "C" NOT NULL,
  part         text COLLATE "C" NOT NULL,
  PRIMARY KEY (name, part)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 2000);
CREATE TABLE queue_lanes (
  next_start double precision NOT NULL, -- the virtual time at which the next task of the key starts
  name       text COLLATE "C" NOT NULL,
  part       text COLLATE "C" NOT NULL,
  queue_key  text COLLATE "C" NOT NULL,
  PRIMARY KEY (name, part, queue_key)
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 2000);
CREATE INDEX queue_lanes_start ON queue_lanes (name, part, next_start);

-- The outcomes of the attempts of the last minute, by second.
CREATE TABLE queue_outcomes (
  at        bigint NOT NULL,
  completed bigint NOT NULL,
  failed    bigint NOT NULL,
  retried   bigint NOT NULL,
  name      text COLLATE "C" NOT NULL,
  PRIMARY KEY (name, at)
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 2000);
