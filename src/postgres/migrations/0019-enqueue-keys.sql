-- Keys of jobs: which instance a further start under a key meets (sql/write/keyed-starts.ts).
CREATE TABLE enqueue_keys (
  instance   bigint NOT NULL, -- the instance of the key; 0: none yet
  next       bigint, -- unique: waits for the end of `instance`; throttle: the trailing instance
  next_due   bigint, -- unique: when `next` may begin at the earliest
  opened_at  bigint NOT NULL, -- debounce: the first call; throttle: the begin of the window
  until      bigint, -- throttle: the end of the window
  next_until bigint, -- throttle: the end of the window that `next` opens
  name       text COLLATE "C" NOT NULL, -- of the job
  kind       text COLLATE "C" NOT NULL, -- "unique", "debounce" or "throttle"
  key        text COLLATE "C" NOT NULL,
  id         text COLLATE "C" NOT NULL, -- of `instance`, which may be deleted before its throttle window is over
  next_id    text COLLATE "C",
  PRIMARY KEY (name, kind, key)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

-- The keys of an instance, when it is deleted.
CREATE INDEX enqueue_keys_instance ON enqueue_keys (instance);
-- Whether an instance waits for the end of another one.
CREATE INDEX enqueue_keys_waiting ON enqueue_keys (instance) WHERE kind = 'unique' AND next IS NOT NULL;
-- Windows that are over.
CREATE INDEX enqueue_keys_windows ON enqueue_keys (coalesce(next_until, until)) WHERE until IS NOT NULL;
