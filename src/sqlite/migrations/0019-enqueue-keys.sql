-- Keys of jobs: which instance a further start under a key meets (sql/write/keyed-starts.ts).
CREATE TABLE enqueue_keys (
  name       TEXT NOT NULL, -- of the job
  kind       TEXT NOT NULL, -- "unique", "debounce" or "throttle"
  key        TEXT NOT NULL,
  instance   INTEGER NOT NULL, -- the instance of the key; 0: none yet
  id         TEXT NOT NULL, -- of that instance; it may be deleted before its throttle window is over
  next       INTEGER, -- unique: waits for the end of `instance`; throttle: the trailing instance
  next_id    TEXT,
  next_due   INTEGER, -- unique: when `next` may begin at the earliest
  opened_at  INTEGER NOT NULL, -- debounce: the first call; throttle: the begin of the window
  until      INTEGER, -- throttle: the end of the window
  next_until INTEGER, -- throttle: the end of the window that `next` opens
  PRIMARY KEY (name, kind, key)
) STRICT, WITHOUT ROWID;

-- The keys of an instance, when it is deleted.
CREATE INDEX enqueue_keys_instance ON enqueue_keys (instance);
-- Whether an instance waits for the end of another one.
CREATE INDEX enqueue_keys_waiting ON enqueue_keys (instance) WHERE kind = 'unique' AND next IS NOT NULL;
-- Windows that are over.
CREATE INDEX enqueue_keys_windows ON enqueue_keys (coalesce(next_until, until)) WHERE until IS NOT NULL;
