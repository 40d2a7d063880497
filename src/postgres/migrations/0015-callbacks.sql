-- The id of the store, which the tokens of callbacks contain. It moves with the store. One row.
CREATE TABLE store (id text COLLATE "C" NOT NULL);
INSERT INTO store VALUES (replace(gen_random_uuid()::text, '-', ''));

-- Deferred tasks wait for their completion from outside (core/provider/callbacks.ts): when the timeout of the attempt is
-- over. NULL: the task is not deferred. `available_at` is the earlier one of this time and the heartbeat's.
ALTER TABLE tasks ADD COLUMN deferred_until bigint;

-- Rows of callbacks are not written by a pipeline of sends.
ALTER TABLE requests ALTER COLUMN batch SET DEFAULT 0;
