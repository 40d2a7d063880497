-- Asks: rows of `requests` with the kind "ask" (sql/write/asks.ts). Rows of other kinds have NULL here.
ALTER TABLE requests ADD COLUMN answer TEXT; -- JSON object; NULL: not answered
ALTER TABLE requests ADD COLUMN answer_checksum INTEGER;
ALTER TABLE requests ADD COLUMN asker TEXT; -- JSON object; NULL: no instance waits for the answer

-- The asks of an instance whose asker waits, in order, when the instance ends. The second column makes SQLite
-- choose this index over the primary key, through which it would read all requests of the instance.
CREATE INDEX requests_askers ON requests (instance, created_at) WHERE asker IS NOT NULL;
