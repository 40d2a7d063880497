-- Compression of payloads: PostgreSQL compresses the texts of a row of more than 2 kB, by default with pglz. lz4
-- takes half of the server's time for the same size (docs/decisions/0038).
--   - A server that is built without lz4 keeps its default.
--   - This concerns new values only: no row is rewritten, and all values stay readable.
DO $$
DECLARE
  payload text[];
BEGIN
  FOREACH payload SLICE 1 IN ARRAY ARRAY[
    ['history', 'data'], ['inbox', 'data'], ['tasks', 'input'], ['tasks', 'heartbeat'],
    ['tasks', 'progress'], ['instances', 'output'], ['instances', 'error'],
    ['instances', 'custom_status'], ['kv', 'value'], ['kept', 'data'], ['arrivals', 'data']]
  LOOP
    EXECUTE format('ALTER TABLE %I ALTER COLUMN %I SET COMPRESSION lz4', payload[1], payload[2]);
  END LOOP;
EXCEPTION WHEN feature_not_supported THEN
  NULL;
END
$$;
