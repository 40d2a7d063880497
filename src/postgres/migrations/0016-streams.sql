-- Streams: values that instances show to readers while they run (write/streams.ts).
--   - An append changes only columns that no index contains, so its updates stay on the row's page (HOT).
CREATE TABLE streams (
  instance   bigint NOT NULL,
  first      bigint NOT NULL, -- the offset of the first entry that is not trimmed
  next       bigint NOT NULL, -- the offset of the next entry
  updated_at bigint NOT NULL,
  closed     boolean NOT NULL,
  name       text COLLATE "C" NOT NULL,
  PRIMARY KEY (instance, name)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

-- What the runs of an activity call have written to one stream. The key begins with the call: its outcome
-- settles the rows of all streams.
CREATE TABLE stream_calls (
  instance    bigint NOT NULL,
  execution   bigint NOT NULL,
  call        bigint NOT NULL, -- the sequence of the task
  lease_token bigint DEFAULT 0, -- the claim of the last run; 0: from another store; NULL: superseded
  since       bigint NOT NULL, -- the offset of the first item of the call
  run_since   bigint NOT NULL, -- the offset of the first item of the last run
  written     bigint NOT NULL, -- the number of values of that run
  last        bigint NOT NULL, -- the offset of the last item
  settled     boolean NOT NULL, -- that run was successful
  name        text COLLATE "C" NOT NULL,
  run         text COLLATE "C" NOT NULL, -- the last run that wrote
  PRIMARY KEY (instance, execution, call, name)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

CREATE TABLE stream_chunks (
  instance  bigint NOT NULL,
  first     bigint NOT NULL, -- the offset of the first entry
  count     bigint NOT NULL,
  execution bigint NOT NULL,
  call      bigint NOT NULL, -- 0: the orchestration
  checksum  bigint,
  name      text COLLATE "C" NOT NULL,
  kind      text COLLATE "C" NOT NULL, -- "items" or "reset"
  data      text NOT NULL, -- JSON array of texts; for a reset the offset from which items are void
  PRIMARY KEY (instance, name, first)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.1);

-- Adds a number to a checksum, as core/values/checksum.ts does. The offset of a chunk is known only to the
-- statement that inserts it. ODD is multiplied in two halves, because a product of 64 bits does not fit.
CREATE FUNCTION checksum_with(checksum bigint, number bigint) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  odd CONSTANT bigint := 2654435761;
  low CONSTANT bigint := 4294967295;
  sum bigint := (checksum # number) & low;
BEGIN
  sum := ((sum & 65535) * odd + ((((sum >> 16) * odd) & 65535) << 16)) & low;
  sum := (sum # (number >> 32)) & low;
  sum := ((sum & 65535) * odd + ((((sum >> 16) * odd) & 65535) << 16)) & low;
  RETURN (sum # 2147483648) - 2147483648;
END
$$;

-- A server that is built without lz4 keeps its default (0012-payload-compression.sql).
DO $$
BEGIN
  ALTER TABLE stream_chunks ALTER COLUMN data SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN
  NULL;
END
$$;
