-- Streams: values that instances show to readers while they run (write/streams.ts).
CREATE TABLE streams (
  instance   INTEGER NOT NULL,
  name       TEXT NOT NULL,
  first      INTEGER NOT NULL, -- the offset of the first entry that is not trimmed
  next       INTEGER NOT NULL, -- the offset of the next entry
  closed     INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (instance, name)
) STRICT, WITHOUT ROWID;

-- What the runs of an activity call have written to one stream. The key begins with the call: its outcome
-- settles the rows of all streams.
CREATE TABLE stream_calls (
  instance    INTEGER NOT NULL,
  execution   INTEGER NOT NULL,
  call        INTEGER NOT NULL, -- the sequence of the task
  name        TEXT NOT NULL,
  lease_token INTEGER DEFAULT 0, -- the claim of the current run; 0: from another store; NULL: superseded
  run         TEXT NOT NULL, -- the last run that wrote
  since       INTEGER NOT NULL, -- the offset of the first item of the call
  run_since   INTEGER NOT NULL, -- the offset of the first item of that run
  written     INTEGER NOT NULL, -- the number of values of that run
  last        INTEGER NOT NULL, -- the offset of the last item
  settled     INTEGER NOT NULL, -- 1: that run was successful
  PRIMARY KEY (instance, execution, call, name)
) STRICT, WITHOUT ROWID;

-- With row ids for the reason that 0011 gives: a chunk may have many pages.
CREATE TABLE stream_chunks (
  instance  INTEGER NOT NULL,
  name      TEXT NOT NULL,
  first     INTEGER NOT NULL, -- the offset of the first entry
  count     INTEGER NOT NULL,
  execution INTEGER NOT NULL,
  call      INTEGER NOT NULL, -- 0: the orchestration
  kind      TEXT NOT NULL, -- "items" or "reset"
  data      TEXT NOT NULL, -- JSON array of texts; for a reset the offset from which items are void
  checksum  INTEGER,
  PRIMARY KEY (instance, name, first)
) STRICT;
