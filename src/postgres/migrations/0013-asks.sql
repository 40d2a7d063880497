-- Asks: a request id of kind "ask" holds the answer and, while an instance waits for it, the asker
-- (core/provider/asks.ts).
--   - Its outcome is "asked", "answered", or "finished" if its instance was restarted before it answered.
ALTER TABLE requests
  ADD COLUMN answer text,                -- JSON text of Answer
  ADD COLUMN answer_checksum bigint,     -- of the answer; NULL until the ask is answered
  ADD COLUMN asker text COLLATE "C";     -- JSON text of Asker; NULL unless an instance waits for the answer

-- The instances that wait for an answer of one instance. The index is empty while no instance waits.
CREATE INDEX requests_asker ON requests (instance) WHERE asker IS NOT NULL;

-- A server that is built without lz4 keeps its default (0012-payload-compression.sql).
DO $$
BEGIN
  ALTER TABLE requests ALTER COLUMN answer SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN
  NULL;
END
$$;
