-- The id of the store, which the tokens of callbacks contain. It moves with the store. One row.
CREATE TABLE store (id TEXT NOT NULL) STRICT;
INSERT INTO store VALUES (lower(hex(randomblob(16))));

-- Deferred tasks wait for their completion from outside (core/provider/callbacks.ts): when the timeout of the attempt is
-- over. NULL: the task is not deferred. `available_at` is the earlier one of this time and the heartbeat's.
ALTER TABLE tasks ADD COLUMN deferred_until INTEGER;
